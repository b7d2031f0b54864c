package proof

import (
	"encoding/hex"
	"slices"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// kept holds the stored hashes of a tree by level and index.
type kept map[[2]int64]tlog.Hash

func (k kept) store(level int, index int64, h tlog.Hash) { k[[2]int64{int64(level), index}] = h }

func (k kept) read(level int, from, n int64) (hashes []tlog.Hash, err error) {
	for i := from; i < from+n; i++ {
		if h, ok := k[[2]int64{int64(level), i}]; ok {
			hashes = append(hashes, h)
		}
	}
	return hashes, nil
}

// oracle is the log in the form of package tlog: every hash.
type oracle []tlog.Hash

func (o *oracle) append(t interface{ Fatal(...any) }, n int64, leaf tlog.Hash) {
	hashes, err := tlog.StoredHashesForRecordHash(n, leaf, o)
	if err != nil {
		t.Fatal(err)
	}
	*o = append(*o, hashes...)
}

func (o *oracle) ReadHashes(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, (*o)[i])
	}
	return hashes, nil
}

func leafNumber(n int64) tlog.Hash {
	return tlog.RecordHash([]byte{byte(n), byte(n >> 8), byte(n >> 16)})
}

// TestTreeIsTlogs: roots, stored hashes and proofs over tiles equal the results of package tlog,
// for every division of the leaves.
func TestTreeIsTlogs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(0, 40), rapid.SampledFrom([]int64{255, 256, 257, 511, 512, 700, 1024, 1500})).Draw(t, "size")
		cuts := rapid.SliceOfN(rapid.Int64Range(0, size), 0, 3).Draw(t, "cuts")
		var tree Tree
		var all oracle
		stored := make(kept)
		for n := range size {
			if slices.Contains(cuts, n) {
				again, err := TreeOf(tree.Size, tree.FrontierBytes())
				if err != nil {
					t.Fatal(err)
				}
				tree = again
			}
			leaf := leafNumber(n)
			tree.Append(leaf, stored.store)
			all.append(t, n, leaf)
		}
		want, err := tlog.TreeHash(size, &all)
		if err != nil || tree.Root() != want {
			t.Fatalf("the root of %d leaves is %v, not %v; %v", size, tree.Root(), want, err)
		}
		for at, h := range stored {
			if all[tlog.StoredHashIndex(int(at[0]), at[1])] != h {
				t.Fatalf("hash %d of level %d is another", at[1], at[0])
			}
		}
		if want := size + size>>8; int64(len(stored)) != want {
			t.Fatalf("%d hashes are kept, not %d", len(stored), want)
		}
		if size == 0 {
			return
		}
		reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: want}, Tiles(stored.read))
		n := rapid.Int64Range(0, size-1).Draw(t, "leaf")
		record, err := tlog.ProveRecord(size, n, reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(record, size, want, n, leafNumber(n)); err != nil {
			t.Fatal(err)
		}
		older := rapid.Int64Range(1, size).Draw(t, "older")
		grown, err := tlog.ProveTree(size, older, reader)
		if err != nil {
			t.Fatal(err)
		}
		old, _ := tlog.TreeHash(older, &all)
		if err := tlog.CheckTree(grown, size, want, older, old); err != nil {
			t.Fatal(err)
		}
	})
}

// TestRFC6962 compares the tree with test inputs and roots of Certificate Transparency.
func TestRFC6962(t *testing.T) {
	t.Parallel()
	inputs := []string{"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"}
	roots := []string{
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	}
	var tree Tree
	for n, want := range roots {
		if got := tree.Root(); hex.EncodeToString(got[:]) != want {
			t.Errorf("the root of %d leaves is %x, not %s", n, got[:], want)
		}
		if n < len(inputs) {
			record, err := hex.DecodeString(inputs[n])
			if err != nil {
				t.Fatal(err)
			}
			tree.Append(tlog.RecordHash(record), nil)
		}
	}
}

func TestTreeOfRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size  int64
		bytes int
	}{{-1, 32}, {0, 32}, {3, 32}, {3, 63}, {4, 64}} {
		if _, err := TreeOf(c.size, make([]byte, c.bytes)); err == nil {
			t.Errorf("%d bytes are a frontier of %d leaves", c.bytes, c.size)
		}
	}
}

// TestCloneIsApart: appending to a tree does not change its clone.
func TestCloneIsApart(t *testing.T) {
	t.Parallel()
	var tree Tree
	for n := range int64(3) {
		tree.Append(leafNumber(n), nil)
	}
	clone := tree.Clone()
	want := clone.Root()
	tree.Append(leafNumber(3), nil)
	tree.Append(leafNumber(4), nil)
	if clone.Root() != want {
		t.Error("the clone went on with its tree")
	}
}

// TestTilesThatLack: a missing hash is an error instead of a shorter tile.
func TestTilesThatLack(t *testing.T) {
	t.Parallel()
	var tree Tree
	stored := make(kept)
	for n := range int64(300) {
		tree.Append(leafNumber(n), stored.store)
	}
	delete(stored, [2]int64{0, 17})
	reader := tlog.TileHashReader(tlog.Tree{N: 300, Hash: tree.Root()}, Tiles(stored.read))
	if _, err := tlog.ProveRecord(300, 16, reader); err == nil {
		t.Error("proved with a hash that is not there")
	}
	stored[[2]int64{0, 17}] = leafNumber(1)
	if _, err := tlog.ProveRecord(300, 16, reader); err == nil {
		t.Error("proved with a hash that is another")
	}
}
