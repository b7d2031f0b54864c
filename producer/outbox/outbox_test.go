package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/schema"
)

// messages returns n small messages that name their batch.
func messages(batch string, n int) []schema.Message {
	list := make([]schema.Message, n)
	for i := range list {
		list[i] = schema.Message{
			Subject: "ctx.v1.t.r.p00.item.removed",
			Header:  map[string][]string{"ce-id": {fmt.Sprint(batch, "-", i)}, "ce-source": {"urn:x"}, "Nats-Msg-Id": {"m"}},
			Data:    fmt.Appendf(nil, `{"item_id":"%s-%d"}`, batch, i),
		}
	}
	return list
}

func mustOpen(t testing.TB, path string, options Options) *Outbox {
	t.Helper()
	o, err := Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

func mustAppend(t testing.TB, o *Outbox, list []schema.Message, marks map[string]int64) uint64 {
	t.Helper()
	number, err := o.Append(list, marks)
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// TestQueue compares an outbox, closed and opened at any time, with a slice.
func TestQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(r *rapid.T) {
		files++
		path := filepath.Join(dir, fmt.Sprint(files))
		options := Options{NoSync: true}
		o := mustOpen(t, path, options)
		defer func() { o.Close() }()
		instance, last, acked := o.Instance(), uint64(0), uint64(0)
		type batch struct {
			number uint64
			list   []schema.Message
		}
		var want []batch
		marks := map[string]int64{}
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				list := messages(fmt.Sprint(last), rapid.SampledFrom([]int{1, 2, 30, 300}).Draw(r, "size"))
				name, value := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "mark"), rapid.Int64Range(0, 100).Draw(r, "value")
				number := mustAppend(t, o, list, map[string]int64{name: value})
				if number <= last {
					r.Fatalf("number %d after %d", number, last)
				}
				last = number
				want = append(want, batch{number, list})
				marks[name] = max(marks[name], value)
			},
			"drop": func(r *rapid.T) {
				if len(want) == 0 {
					r.Skip()
				}
				acked++
				if err := o.Drop(want[0].number, acked); err != nil {
					r.Fatal(err)
				}
				want = want[1:]
			},
			"drop nothing": func(r *rapid.T) {
				acked++
				if err := o.Drop(0, acked); err != nil {
					r.Fatal(err)
				}
			},
			"open again": func(r *rapid.T) {
				if err := o.Close(); err != nil {
					r.Fatal(err)
				}
				o = mustOpen(t, path, options)
			},
			"": func(r *rapid.T) {
				number, list, err := o.Head()
				if err != nil {
					r.Fatal(err)
				}
				newest, facts := o.Held()
				all := 0
				for _, b := range want {
					all += len(b.list)
				}
				if facts != all || o.Acked() != acked || o.Instance() != instance || (newest == 0) != (len(want) == 0) {
					r.Fatalf("%d facts, not %d; newest %d; acked %d, not %d; instance %s", facts, all, newest, o.Acked(), acked, o.Instance())
				}
				if got, err := o.Marks(); err != nil || !reflect.DeepEqual(got, marks) {
					r.Fatalf("marks %v, not %v (%v)", got, marks, err)
				}
				if len(want) == 0 {
					if number != 0 || list != nil {
						r.Fatalf("batch %d in an empty outbox", number)
					}
					return
				}
				if number != want[0].number || newest != want[len(want)-1].number || !reflect.DeepEqual(list, want[0].list) {
					r.Fatalf("batch %d, not %d", number, want[0].number)
				}
			},
		})
	})
}

func TestOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox")
	o := mustOpen(t, path, DefaultOptions())
	if _, err := Open(path, DefaultOptions()); !errors.Is(err, ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
	instance := o.Instance()
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := o.Append(messages("a", 1), nil); !errors.Is(err, ErrClosed) || !errors.Is(err, os.ErrClosed) {
		t.Errorf("append to a closed one: %v", err)
	}
	if _, _, err := o.Head(); !errors.Is(err, ErrClosed) {
		t.Errorf("head of a closed one: %v", err)
	}
	if o = mustOpen(t, path, DefaultOptions()); o.Instance() != instance {
		t.Error("another instance")
	}
	if other := mustOpen(t, path+"2", DefaultOptions()); other.Instance() == instance {
		t.Error("two files have one instance")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox")
	o := mustOpen(t, path, Options{MaxBytes: 10_000, NoSync: true})
	first := mustAppend(t, o, messages("large", 200), nil) // the first batch always fits
	if _, err := o.Append(messages("b", 1), map[string]int64{"a": 1}); !errors.Is(err, ErrFull) {
		t.Fatalf("beyond the bound: %v", err)
	}
	if marks, _ := o.Marks(); len(marks) != 0 {
		t.Error("a batch that was refused left a mark")
	}
	if err := o.Drop(first, 1); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, o, messages("b", 1), nil)
	if _, err := Open(path, Options{MaxBytes: -1}); err == nil {
		t.Error("a negative bound was accepted")
	}
	if _, err := Open(filepath.Join(path, "no", "folder"), DefaultOptions()); err == nil {
		t.Error("a folder that is not there was accepted")
	}
}

// TestRoomIsUsedAgain: the file does not grow while batches are appended and dropped.
func TestRoomIsUsedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "outbox")
	o := mustOpen(t, path, Options{NoSync: true})
	for i := range 300 {
		number := mustAppend(t, o, messages(fmt.Sprint(i), 300), map[string]int64{"a": int64(i)})
		if i < 3 {
			continue // three batches wait
		}
		if err := o.Drop(number-3, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() > 2<<20 {
		t.Errorf("%d bytes for three batches of 60 KB (%v)", info.Size(), err)
	}
}
