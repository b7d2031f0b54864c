package outbox

import (
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

// TestBitFlips changes one bit anywhere. The outbox then returns the written batches or
// ErrDamaged. The outbox never panics and never returns other batches.
func TestBitFlips(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	want := written(t, whole)
	image, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(4, 7))
	harmless, detected := 0, 0
	for i := range 3000 {
		// Page headers are few bytes and their damage has the most effect: every other flip
		// is there.
		at := random.IntN(len(image))
		if i%2 == 0 {
			at = at/4096*4096 + random.IntN(160)
		}
		bit := byte(1) << random.IntN(8)
		path := filepath.Join(dir, "flipped")
		os.Remove(path) // the old file may stay locked
		image[at] ^= bit
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		image[at] ^= bit
		o, err := Open(path, Options{NoSync: true})
		var got [][]schema.Message
		if err == nil {
			got, err = drain(o)
			o.Close()
		}
		switch {
		case err == nil && reflect.DeepEqual(got, want):
			harmless++
		case errors.Is(err, ErrDamaged):
			detected++
		case err != nil:
			t.Fatalf("bit %d of byte %d: %v", bit, at, err)
		default:
			t.Fatalf("bit %d of byte %d gave %d batches, not %d", bit, at, len(got), len(want))
		}
	}
	t.Logf("%d harmless, %d detected", harmless, detected)
	if detected < 300 {
		t.Errorf("only %d flips were detected", detected)
	}
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
