package proof

import (
	"errors"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// grownLog returns the heads of every size of a log, and its tiles.
func grownLog(size int64, leaf func(int64) tlog.Hash) (heads []Checkpoint, stored kept) {
	var tree Tree
	stored = make(kept)
	head := func() { heads = append(heads, Checkpoint{"log", tree.Size, tree.Root()}) }
	head()
	for n := range size {
		tree.Append(leaf(n), stored.store)
		head()
	}
	return heads, stored
}

// TestGrown: any two heads of one log are consistent, but only in their order. No head is
// consistent with a head of a log with another leaf.
func TestGrown(t *testing.T) {
	t.Parallel()
	const size = 600
	heads, stored := grownLog(size, leafNumber)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, size).Draw(t, "a"), rapid.Int64Range(0, size).Draw(t, "b")
		proved, err := Grown(heads[a], heads[b], Tiles(stored.read))
		if ok := a <= b; ok != (err == nil) || !ok && !errors.Is(err, ErrFork) {
			t.Fatalf("from %d to %d: %v", a, b, err)
		}
		if 0 < a && a < b && tlog.CheckTree(proved, b, heads[b].Root, a, heads[a].Root) != nil {
			t.Fatalf("the proof from %d to %d does not hold", a, b)
		}
		changed := rapid.Int64Range(0, size-1).Draw(t, "changed")
		others, otherStored := grownLog(size, func(n int64) tlog.Hash {
			if n == changed {
				return tlog.Hash{1}
			}
			return leafNumber(n)
		})
		if a <= b {
			want := a <= changed // the older head lacks the changed leaf
			if _, err := Grown(heads[a], others[b], Tiles(otherStored.read)); want != (err == nil) || !want && !errors.Is(err, ErrFork) {
				t.Fatalf("leaf %d was changed, and from %d to %d: %v", changed, a, b, err)
			}
		}
		if b > a && a > 0 && changed < b {
			if _, err := Grown(heads[a], others[b], Tiles(stored.read)); !errors.Is(err, ErrFork) {
				t.Fatalf("the tiles are of another log than the head: %v", err)
			}
		}
	})
}

// TestGrownTellsReadingApart: a read error is not a fork.
func TestGrownTellsReadingApart(t *testing.T) {
	t.Parallel()
	heads, _ := grownLog(9, leafNumber)
	away := errors.New("away")
	_, err := Grown(heads[3], heads[9], Tiles(func(int, int64, int64) ([]tlog.Hash, error) { return nil, away }))
	if !errors.Is(err, away) || errors.Is(err, ErrFork) {
		t.Errorf("got %v", err)
	}
	other := heads[9]
	other.Origin = "another"
	if _, err := Grown(heads[3], other, nil); !errors.Is(err, ErrFork) {
		t.Errorf("heads of two logs: %v", err)
	}
}
