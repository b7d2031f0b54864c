package outbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/ctxledger/ctxledger/schema"
)

// written makes an outbox with waiting batches, after others were stored and dropped. The
// result lists the batches that a reader must find.
func written(t *testing.T, path string) (want [][]schema.Message) {
	t.Helper()
	o := mustOpen(t, path, DefaultOptions())
	for i := range 12 {
		list := messages(fmt.Sprint(i), 1+40*(i%3))
		mustAppend(t, o, list, map[string]int64{fmt.Sprint("session ", i): int64(i)})
		if want = append(want, list); i%3 < 2 {
			continue
		}
		number, _, err := o.Head()
		if err == nil {
			err = o.Drop(number, uint64(i))
		}
		if err != nil {
			t.Fatal(err)
		}
		want = want[1:]
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return want
}

// drain reads all batches of an outbox.
func drain(o *Outbox) (list [][]schema.Message, err error) {
	for {
		number, batch, err := o.Head()
		if err != nil || number == 0 {
			return list, err
		}
		list = append(list, batch)
		if err := o.Drop(number, 1); err != nil {
			return list, err
		}
		if len(list) > 100 {
			return list, errors.New("it never ends")
		}
	}
}

// flip is a change of one bit of a file, or of several bits of one byte.
type flip struct {
	at  int
	bit byte
}

// flips returns changes anywhere. Page headers are few bytes and their damage has the most effect:
// every other change is there.
func flips(image []byte, n int) (list []flip) {
	random := rand.New(rand.NewPCG(4, 7))
	for i := range n {
		at := random.IntN(len(image))
		if i%2 == 0 {
			at = at/pageBytes*pageBytes + random.IntN(160)
		}
		list = append(list, flip{at, 1 << random.IntN(8)})
	}
	return list
}

// firstKeys returns a change of the last bit of the first key of each branch.
func firstKeys(image []byte) (list []flip) {
	for start := 0; start < len(image); start += pageBytes {
		page := image[start : start+pageBytes]
		if binary.NativeEndian.Uint64(page) == uint64(start/pageBytes) && binary.NativeEndian.Uint16(page[8:]) == branchPage {
			position, size := binary.NativeEndian.Uint32(page[pageHeader:]), binary.NativeEndian.Uint32(page[pageHeader+4:])
			list = append(list, flip{start + pageHeader + int(position+size) - 1, 1})
		}
	}
	return list
}

// pageNumbers returns changes of each number that a branch has of a page below it, and that a bucket has of
// its first page: to the number of each other page.
func pageNumbers(image []byte) (list []flip) {
	pages := len(image) / pageBytes
	for id := range pages {
		page := image[id*pageBytes:][:pageBytes]
		flags, count := binary.NativeEndian.Uint16(page[8:]), int(binary.NativeEndian.Uint16(page[10:]))
		if binary.NativeEndian.Uint64(page) != uint64(id) || flags != branchPage && flags != leafPage {
			continue
		}
		for i := range count {
			at := pageHeader + i*elementSize
			if e, ok := parseEntry(flags, page[at:]); flags == branchPage {
				at += 8
			} else if ok && e.bucket {
				at += int(binary.NativeEndian.Uint32(page[at+4:])) + len(e.key)
			} else {
				continue
			}
			number := binary.NativeEndian.Uint64(page[at:])
			for other := range pages {
				if number != 0 && number != uint64(other) {
					list = append(list, flip{id*pageBytes + at, byte(number) ^ byte(other)})
				}
			}
		}
	}
	return list
}

const pageBytes = 4096

// TestBitFlips changes one bit, or one number of a page. The outbox then returns the written batches or
// ErrDamaged. The outbox never panics and never returns other batches.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	n := 3000
	if testing.Short() {
		n /= 10
	}
	if _, detected := flipEach(t, func(image []byte) []flip { return flips(image, n) }); detected < n/10 {
		t.Errorf("only %d of %d changes were detected", detected, n)
	}
	// bbolt reads a page by the number in its branch, and writes it by its first key. With another key
	// in the branch, the first write lost batches, never ended or panicked, depending on the free pages.
	if refused, _ := flipEach(t, firstKeys); refused != 1 {
		t.Errorf("%d files with another first key in a branch were refused, want that of the branch in use", refused)
	}
	// With the number of a page below it, a bucket loses the other pages.
	if refused, _ := flipEach(t, pageNumbers); refused == 0 {
		t.Error("no file with another number of a page was refused")
	}
}

// flipEach writes an outbox with each of the changes and reads it. It counts the files that Open refused,
// and all changes that were detected.
func flipEach(t *testing.T, changes func(image []byte) []flip) (refused, detected int) {
	t.Helper()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	want := written(t, whole)
	image, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range changes(image) {
		path := filepath.Join(dir, "flipped")
		os.Remove(path) // the old file may stay locked
		image[f.at] ^= f.bit
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		image[f.at] ^= f.bit
		o, err := Open(path, Options{NoSync: true})
		var got [][]schema.Message
		if err == nil {
			got, err = drain(o)
			o.Close()
		} else {
			refused++
		}
		switch {
		case err == nil && reflect.DeepEqual(got, want):
		case errors.Is(err, ErrDamaged):
			detected++
		case err != nil:
			t.Fatalf("bits %08b of byte %d: %v", f.bit, f.at, err)
		default:
			t.Fatalf("bits %08b of byte %d gave %d batches, not %d", f.bit, f.at, len(got), len(want))
		}
	}
	return refused, detected
}

func TestTruncation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	want := written(t, whole)
	image, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(image); size >= 0; size -= 1777 {
		path := filepath.Join(dir, "short")
		if err := os.WriteFile(path, image[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := Open(path, Options{NoSync: true})
		if err == nil { // only unused space is gone
			var got [][]schema.Message
			if got, err = drain(o); err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("%d of %d bytes gave %d batches, not %d", size, len(image), len(got), len(want))
			}
			o.Close()
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d of %d bytes: %v", size, len(image), err)
		}
		if err == nil && size < len(image)/4 {
			t.Fatalf("%d of %d bytes were enough", size, len(image))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "short"), []byte("not an outbox, but something of a fair length\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "short"), DefaultOptions()); !errors.Is(err, ErrDamaged) {
		t.Errorf("a text: %v", err)
	}
}

// TestCutWhileOpen truncates the file of an open outbox.
func TestCutWhileOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox")
	written(t, path)
	o := mustOpen(t, path, DefaultOptions())
	if err := os.Truncate(path, 2*4096); err != nil {
		t.Fatal(err)
	}
	if _, _, err := o.Head(); !errors.Is(err, ErrDamaged) {
		t.Errorf("head: %v", err)
	}
	if _, err := o.Append(messages("x", 1), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("append: %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// TestMissingBatches: damage can hide whole batches without touching the others.
func TestMissingBatches(t *testing.T) {
	t.Parallel()
	for _, gone := range []uint64{7, 12} {
		path := filepath.Join(t.TempDir(), "outbox")
		written(t, path)
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket(batchesBucket).Delete(numberKey(gone)) })
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if o, err := Open(path, Options{NoSync: true}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("batch %d is missing", gone)) {
			t.Errorf("without batch %d: %v, %v", gone, o, err)
		}
	}
}
