package importer

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestList holds a list to a slice.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l list[int]
		var want []int
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			for range rapid.IntRange(0, 3*listChunk).Draw(t, "added") {
				l.add(len(want))
				want = append(want, len(want))
			}
			if rapid.Bool().Draw(t, "cut") {
				n := rapid.IntRange(0, len(want)).Draw(t, "kept")
				l.cut(n)
				want = want[:n]
			}
			if n := len(want); n > 0 && rapid.Bool().Draw(t, "forget") {
				var forgetful list[int]
				for _, v := range want {
					forgetful.add(v)
				}
				from := rapid.IntRange(0, n-1).Draw(t, "from")
				forgetful.forget(from)
				for i := from; i < n; i++ {
					if *forgetful.at(i) != want[i] {
						t.Fatalf("element %d is %d", i, *forgetful.at(i))
					}
				}
			}
			var got []int
			for i, v := range l.all() {
				if *v != *l.at(i) {
					t.Fatalf("element %d is %d and %d", i, *v, *l.at(i))
				}
				got = append(got, *v)
			}
			if !slices.Equal(got, want) || l.len() != len(want) {
				t.Fatalf("%d elements of %d", len(got), len(want))
			}
		}
	})
}

// TestListForgetsItsEnd: who has read a list to its end may ask how long it is.
func TestListForgetsItsEnd(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, listChunk, 2 * listChunk, 2*listChunk + 1} {
		var l list[int]
		for i := range n {
			l.add(i)
		}
		l.forget(n)
		if l.len() != n {
			t.Errorf("%d elements of %d", l.len(), n)
		}
		if l.add(n); *l.at(n) != n {
			t.Errorf("the one behind %d is %d", n, *l.at(n))
		}
	}
}

// TestIDSet holds a set to a map.
func TestIDSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s idSet
		want := make(map[uint64]bool)
		for _, id := range rapid.SliceOf(rapid.OneOf(rapid.Uint64Min(1), rapid.Uint64Range(1, 300), rapid.Uint64Range(numbered, numbered+300))).Draw(t, "ids") {
			if s.has(id) != want[id] || s.add(id) == want[id] || !s.has(id) {
				t.Fatalf("%d", id)
			}
			want[id] = true
		}
	})
}

// TestHashSet holds a set to a map, from its one table to its many.
func TestHashSet(t *testing.T) {
	var s hashSet
	want := make(map[uint64]bool)
	for i := range 4 * fewHashes {
		h := max(uint64(i%(3*fewHashes))*0x9e3779b97f4a7c15>>1, 1)
		if s.has(h) != want[h] || s.add(h) == want[h] || !s.has(h) {
			t.Fatal(i)
		}
		want[h] = true
	}
	slots := 0
	for _, table := range s.tables {
		slots += len(table.slots)
	}
	if bytes := 8 * slots / len(want); bytes > 24 { // of tables that have just grown
		t.Errorf("%d bytes a hash", bytes)
	}
}
