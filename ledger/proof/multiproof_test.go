package proof

import (
	"errors"
	"io"
	"maps"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// storedHashes are the stored hashes of a log, by index.
type storedHashes []tlog.Hash

func (s storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = s[at]
	}
	return out, nil
}

// growLog returns the leaves and stored hashes of a log of the given size.
func growLog(t *rapid.T, size int) (leaves []tlog.Hash, stored storedHashes) {
	for i := range size {
		leaf := tlog.RecordHash([]byte{byte(i), byte(i >> 8)})
		more, err := tlog.StoredHashesForRecordHash(int64(i), leaf, stored)
		if err != nil {
			t.Fatal(err)
		}
		leaves, stored = append(leaves, leaf), append(stored, more...)
	}
	return leaves, stored
}

// each returns the values one by one and then [io.EOF].
func each[T any](list []T) func() (T, error) {
	return func() (v T, err error) {
		if len(list) == 0 {
			return v, io.EOF
		}
		v, list = list[0], list[1:]
		return v, nil
	}
}

type givenLeaf struct {
	index int64
	hash  tlog.Hash
}

func check(size int64, root tlog.Hash, leaves []givenLeaf, hashes []tlog.Hash) error {
	next := each(leaves)
	return CheckMany(size, root, func() (int64, tlog.Hash, error) {
		l, err := next()
		return l.index, l.hash, err
	}, each(hashes))
}

// TestMultiproof: a proof holds for its set of leaves and its tree, and for no other set, tree or
// proof.
func TestMultiproof(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 600).Draw(t, "size")
		leaves, stored := growLog(t, size)
		root, err := tlog.TreeHash(int64(size), stored)
		if err != nil {
			t.Fatal(err)
		}
		chosen := rapid.MapOfN(rapid.Int64Range(0, int64(size-1)), rapid.Just(true), 0, min(size, 40)).Draw(t, "chosen")
		indexes := slices.Sorted(maps.Keys(chosen))
		var hashes []tlog.Hash
		if err := ProveMany(int64(size), each(indexes), stored, func(h tlog.Hash) error {
			hashes = append(hashes, h)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		given := make([]givenLeaf, len(indexes))
		for i, at := range indexes {
			given[i] = givenLeaf{at, leaves[at]}
		}
		if err := check(int64(size), root, given, hashes); err != nil {
			t.Fatal(err)
		}
		if len(indexes) == 1 {
			single, err := tlog.ProveRecord(int64(size), indexes[0], stored)
			if err != nil || len(single) != len(hashes) {
				t.Fatalf("%d hashes, a proof of one record has %d: %v", len(hashes), len(single), err)
			}
		}
		refuse := func(what string, size int64, root tlog.Hash, given []givenLeaf, hashes []tlog.Hash) {
			if err := check(size, root, given, hashes); !errors.Is(err, ErrMultiproof) {
				t.Fatalf("%s: %v", what, err)
			}
		}
		refuse("another root", int64(size), tlog.RecordHash(nil), given, hashes)
		refuse("one hash more", int64(size), root, given, append(slices.Clone(hashes), root))
		if len(hashes) > 0 {
			at := rapid.IntRange(0, len(hashes)-1).Draw(t, "hash")
			refuse("one hash less", int64(size), root, given, slices.Delete(slices.Clone(hashes), at, at+1))
			changed := slices.Clone(hashes)
			changed[at][3] ^= 1
			refuse("a changed hash", int64(size), root, given, changed)
		}
		if len(given) > 0 {
			at := rapid.IntRange(0, len(given)-1).Draw(t, "leaf")
			changed := slices.Clone(given)
			changed[at].hash[3] ^= 1
			refuse("a changed leaf", int64(size), root, changed, hashes)
			refuse("a leaf less", int64(size), root, slices.Delete(slices.Clone(given), at, at+1), hashes)
			refuse("a leaf twice", int64(size), root, slices.Insert(slices.Clone(given), at, given[at]), hashes)
			outside := slices.Clone(given)
			outside[len(outside)-1].index = int64(size)
			refuse("a leaf outside", int64(size), root, outside, hashes)
		}
	})
}

// TestMultiproofErrors: errors of the callbacks are returned.
func TestMultiproofErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	fails := tlog.HashReaderFunc(func([]int64) ([]tlog.Hash, error) { return nil, broken })
	none := func(tlog.Hash) error { return nil }
	if err := ProveMany(4, each([]int64{1}), fails, none); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := ProveMany(4, func() (int64, error) { return 0, broken }, storedHashes{}, none); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, indexes := range [][]int64{{2, 1}, {4}, {-1}} {
		if err := ProveMany(4, each(indexes), fails, none); !errors.Is(err, ErrMultiproof) {
			t.Error(indexes, err)
		}
	}
	if err := ProveMany(0, each([]int64{}), fails, none); !errors.Is(err, ErrMultiproof) {
		t.Error(err)
	}
}
