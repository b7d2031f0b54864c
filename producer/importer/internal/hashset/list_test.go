package hashset

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestList compares a list with a slice.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l List[int]
		var want []int
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			for range rapid.IntRange(0, 3*listChunk).Draw(t, "added") {
				l.Add(len(want))
				want = append(want, len(want))
			}
			if rapid.Bool().Draw(t, "cut") {
				n := rapid.IntRange(0, len(want)).Draw(t, "kept")
				l.Cut(n)
				want = want[:n]
			}
			if n := len(want); n > 0 && rapid.Bool().Draw(t, "forget") {
				var forgetful List[int]
				for _, v := range want {
					forgetful.Add(v)
				}
				from := rapid.IntRange(0, n-1).Draw(t, "from")
				forgetful.Forget(from)
				for i := from; i < n; i++ {
					if *forgetful.At(i) != want[i] {
						t.Fatalf("element %d is %d", i, *forgetful.At(i))
					}
				}
			}
			var got []int
			for i, v := range l.All() {
				if *v != *l.At(i) {
					t.Fatalf("element %d is %d and %d", i, *v, *l.At(i))
				}
				got = append(got, *v)
			}
			if !slices.Equal(got, want) || l.Len() != len(want) {
				t.Fatalf("%d elements of %d", len(got), len(want))
			}
		}
	})
}

// TestListForgetsItsEnd: a list that forgot all elements still has its length.
func TestListForgetsItsEnd(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, listChunk, 2 * listChunk, 2*listChunk + 1} {
		var l List[int]
		for i := range n {
			l.Add(i)
		}
		l.Forget(n)
		if l.Len() != n {
			t.Errorf("%d elements of %d", l.Len(), n)
		}
		if l.Add(n); *l.At(n) != n {
			t.Errorf("the one behind %d is %d", n, *l.At(n))
		}
	}
}

// TestIDSet compares a set with a map.
func TestIDSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s IDSet
		want := make(map[uint64]bool)
		for _, id := range rapid.SliceOf(rapid.OneOf(rapid.Uint64Min(1), rapid.Uint64Range(1, 300), rapid.Uint64Range(Numbered, Numbered+300))).Draw(t, "ids") {
			if s.Has(id) != want[id] || s.Add(id) == want[id] || !s.Has(id) {
				t.Fatalf("%d", id)
			}
			want[id] = true
		}
	})
}

// TestHashSet compares a set with a map, from one table to many.
func TestHashSet(t *testing.T) {
	var s HashSet
	want := make(map[uint64]bool)
	for i := range 4 * fewHashes {
		h := max(uint64(i%(3*fewHashes))*0x9e3779b97f4a7c15>>1, 1)
		if s.Has(h) != want[h] || s.Add(h) == want[h] || !s.Has(h) {
			t.Fatal(i)
		}
		want[h] = true
	}
	slots := 0
	for _, table := range s.tables {
		slots += len(table.slots)
	}
	if bytes := 8 * slots / len(want); bytes > 24 { // limit for tables that have just grown
		t.Errorf("%d bytes a hash", bytes)
	}
}
