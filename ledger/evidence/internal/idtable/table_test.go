package idtable

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestTableIsAMap compares a table with a map, also for adjacent hashes.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var table Table
	want := make(map[uint64]uint8)
	for n := range 20_000 {
		hash := Hash(fmt.Sprint(random.IntN(8000)))
		if n%2 == 0 {
			hash = uint64(random.IntN(4000)) << 2
		}
		if got := table.Get(hash); got != want[hash&^3] {
			t.Fatalf("%x is %d, want %d", hash, got, want[hash&^3])
		}
		want[hash&^3] = uint8(1 + random.IntN(3))
		table.Set(hash, want[hash&^3])
	}
	counts := make(map[uint8]uint64)
	for hash, n := range want {
		if got := table.Get(hash); got != n {
			t.Fatalf("%x is %d at the end, want %d", hash, got, n)
		}
		counts[n]++
	}
	for n := range uint8(4) {
		if got := table.Count(n); got != counts[n] {
			t.Errorf("%d have the number %d, want %d", got, n, counts[n])
		}
	}
}

func TestHashIsOfTheBytes(t *testing.T) {
	t.Parallel()
	if Hash("item:1") != HashBytes([]byte("item:1")) || Hash("item:1") == Hash("item:2") {
		t.Error("hashes are not of what the ids are")
	}
}
