package lease

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
)

// testTiming is short enough for tests and long enough for a busy machine.
var testTiming = Timing{Heartbeat: 100 * time.Millisecond, Expiry: 2 * time.Second, Poll: 20 * time.Millisecond}

const testKey = "CTX.projection"

func leaseBucket(t *testing.T) jetstream.KeyValue {
	t.Helper()
	s := embeddedtest.NATS(t)
	js := s.JetStream(t)
	if _, err := js.CreateKeyValue(t.Context(), BucketConfig()); err != nil {
		t.Fatal(err)
	}
	kv, err := OpenBucket(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func acquire(t *testing.T, kv jetstream.KeyValue, owner string) (*Lease, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 60*time.Second)
	t.Cleanup(cancel)
	l, held, err := Claim{KV: kv, Key: testKey, Owner: owner, Timing: testTiming, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Failed: func(step string, err error) { t.Log(step, err) }}.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cancel(nil) })
	return l, held
}

func TestLeaseExcludesAndIsTakenOver(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	first, held := acquire(t, kv, "first")
	pending := ledger.Range{First: 1, Last: 9, Messages: 9, Digest: [32]byte{1}}
	if err := first.Journal(held, pending); err != nil {
		t.Fatal(err)
	}
	// a full disk must refuse an entry, and not take it into the last page of a file
	if value, err := kv.Get(t.Context(), testKey); err != nil || len(value.Value()) != room {
		t.Errorf("the stored entry does not fill a page: %v", err)
	}
	second := make(chan *Lease, 1)
	go func() {
		l, _ := acquire(t, kv, "second")
		second <- l
	}()
	select {
	case <-second:
		t.Fatal("the second took a lease that the first renews")
	case <-time.After(testTiming.Expiry + testTiming.Expiry/2):
	}
	first.cancel(nil) // no more heartbeats: the holder is dead, or stopped
	var l *Lease
	select {
	case l = <-second:
	case <-time.After(time.Minute):
		t.Fatal("the second did not get the lease")
	}
	if l.Epoch() != 2 || l.Pending() == nil || !l.Pending().Same(pending) {
		t.Errorf("epoch %d, pending %v", l.Epoch(), l.Pending())
	}
	if err := first.Journal(t.Context(), pending); !errors.Is(err, ErrLost) {
		t.Errorf("the first journals after the second took over: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Errorf("the loser's release: %v", err)
	}
	if err := l.Journal(t.Context(), pending); err != nil {
		t.Errorf("the loser's release took the winner's lease: %v", err)
	}
}

func TestLeaseOfTheSameOwnerAndAReleasedOneAreFreeAtOnce(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	slow := testTiming
	slow.Expiry = time.Hour
	take := func(owner string) (*Lease, context.Context) {
		l, held, err := Claim{KV: kv, Key: testKey, Owner: owner, Timing: slow, Log: slog.New(slog.DiscardHandler), Failed: func(string, error) {}}.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l, held
	}
	_, held := take("same")
	second, _ := take("same")
	<-held.Done()
	if !errors.Is(context.Cause(held), ErrLost) {
		t.Errorf("the first ended with %v", context.Cause(held))
	}
	if err := second.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	third, _ := take("other")
	if third.Epoch() != 3 {
		t.Errorf("epoch %d, want 3", third.Epoch())
	}
	third.cancel(nil)
}

// lossy performs every request and loses half of the replies at random. A fixed order may lose the reply to each
// change that succeeds, and the holder would never learn that one did.
type lossy struct{ jetstream.KeyValue }

func (l *lossy) reply(revision uint64, err error) (uint64, error) {
	if rand.IntN(2) == 0 {
		return 0, errors.New("the reply was lost")
	}
	return revision, err
}

func (l *lossy) Create(ctx context.Context, key string, value []byte, options ...jetstream.KVCreateOpt) (uint64, error) {
	return l.reply(l.KeyValue.Create(ctx, key, value, options...))
}

func (l *lossy) Update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	return l.reply(l.KeyValue.Update(ctx, key, value, last))
}

func TestLeaseSurvivesLostReplies(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	l, held := acquire(t, &lossy{kv}, "lossy")
	repeat := func(step func() error) {
		t.Helper()
		var err error
		for range 100 {
			if err = step(); err == nil {
				return
			}
			if errors.Is(err, ErrLost) {
				break
			}
		}
		t.Fatal(err)
	}
	for n := range uint64(20) {
		repeat(func() error { return l.Journal(held, ledger.Range{First: n}) })
		if _, entry, err := ReadEntry(t.Context(), l.KV, l.Key); err != nil || entry.Pending.First != n {
			t.Fatalf("journalled %d, the entry has %+v, %v", n, entry, err)
		}
	}
	repeat(func() error { return l.Release(t.Context()) })
	if _, entry, err := ReadEntry(t.Context(), l.KV, l.Key); err != nil || entry.Owner != "" {
		t.Errorf("released, and the entry has %+v, %v", entry, err)
	}
}

// A change with an unknown result is followed by a release. The holder recognises the current
// entry by Holder, not by Owner.
func TestReleaseAfterALostReply(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	l, held := acquire(t, kv, "owner")
	l.mu.Lock()
	revision := l.revision
	l.mu.Unlock()
	if err := l.Journal(held, ledger.Range{First: 5}); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.revision = revision // as if the reply was lost
	l.mu.Unlock()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, entry, err := ReadEntry(t.Context(), l.KV, l.Key); err != nil || entry.Owner != "" {
		t.Errorf("the entry has %+v, %v; want a released one", entry, err)
	}
}

func TestLeaseEntryLost(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	l, held := acquire(t, kv, "first")
	if err := kv.Delete(t.Context(), testKey); err != nil {
		t.Fatal(err)
	}
	<-held.Done()
	if err := l.Journal(t.Context(), ledger.Range{}); !errors.Is(err, ErrLost) {
		t.Errorf("journalled without an entry: %v", err)
	}
	if l, _ := acquire(t, kv, "second"); l.Epoch() != 1 {
		t.Errorf("epoch %d", l.Epoch())
	}
	if _, err := kv.Put(t.Context(), testKey, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (Claim{KV: kv, Key: testKey, Owner: "third", Timing: testTiming, Log: slog.New(slog.DiscardHandler), Failed: func(string, error) {}}).Acquire(t.Context()); err == nil || !strings.Contains(err.Error(), "delete its key") {
		t.Errorf("a broken entry: %v", err)
	}
}

func TestWaitingForALeaseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	_, held := acquire(t, kv, "first")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := (Claim{KV: kv, Key: testKey, Owner: "second", Timing: testTiming, Log: slog.New(slog.DiscardHandler), Failed: func(string, error) {}}).Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if held.Err() != nil {
		t.Error("the first lost its lease")
	}
}

// A holder may end between the request and the release. The requester repeats its request.
func TestLeaseIsAskedForAgain(t *testing.T) {
	t.Parallel()
	kv := leaseBucket(t)
	holder, _ := acquire(t, kv, "holder")
	watch, err := kv.Watch(t.Context(), testKey+RequestSuffix, jetstream.UpdatesOnly(), jetstream.IgnoreDeletes())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	patient := testTiming
	patient.Expiry *= 3 // a holder that waits for the processor is not dead
	go func() {
		lease, _, err := Claim{KV: kv, Key: testKey, Owner: "a rebuild", Timing: patient, Log: slog.New(slog.DiscardHandler)}.Request(t.Context())
		if err == nil {
			err = lease.Release(t.Context())
		}
		got <- err
	}()
	for range 2 {
		select {
		case request := <-watch.Updates():
			if !withdraw(t.Context(), kv, request) {
				t.Fatal("the request is not the one that was heard")
			}
		case err := <-got:
			t.Fatalf("it has the lease of a holder that renews it, %v", err)
		}
	}
	if err := holder.Leave(t.Context(), &HandOver{"a rebuild"}); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(t.Context(), testKey+RequestSuffix); err == nil {
		t.Error("the request stands")
	}
}
