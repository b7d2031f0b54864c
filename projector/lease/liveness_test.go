package lease

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// neverExpires is a timing in which only a lost connection frees a lease.
var neverExpires = Timing{Heartbeat: 100 * time.Millisecond, Expiry: time.Hour, Poll: 50 * time.Millisecond}

// TestTheLeaseOfALostConnection: a holder that answers keeps its lease, and loses it when its connection is
// gone. A holder that does not say where it answers keeps it, too.
func TestTheLeaseOfALostConnection(t *testing.T) {
	t.Parallel()
	server := embeddedtest.NATS(t)
	quiet := slog.New(slog.NewTextHandler(t.Output(), nil))
	claim := func(owner string) Claim {
		t.Helper()
		js := server.JetStream(t)
		if _, err := js.CreateOrUpdateKeyValue(t.Context(), BucketConfig()); err != nil {
			t.Fatal(err)
		}
		kv, err := OpenBucket(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		return Claim{KV: kv, Conn: js.Conn(), Key: testKey, Owner: owner, Timing: neverExpires, Log: quiet, Failed: func(step string, err error) { t.Log(step, err) }}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder, waiting := claim("holder"), claim("waiting")
	first, _, err := holder.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, entry, err := ReadEntry(ctx, holder.KV, testKey)
	if err != nil || entry.Answers == "" {
		t.Fatalf("the entry is %+v, %v", entry, err)
	}
	asked := newObserver(waiting)
	asked.connected = time.Time{}
	for range 3 * mostSilent {
		if asked.gone(ctx, entry) {
			t.Fatal("a holder that answers is gone")
		}
	}
	silent := entry
	silent.Answers = ""
	for range 2 * mostSilent {
		if asked.gone(ctx, silent) {
			t.Fatal("a holder that names no subject is gone")
		}
	}
	taken := make(chan error, 1)
	var second *Lease
	go func() {
		var err error
		second, _, err = waiting.Acquire(ctx)
		taken <- err
	}()
	holder.Conn.Close()
	if err := <-taken; err != nil {
		t.Fatal(err)
	}
	if second.Epoch() != first.Epoch()+1 {
		t.Errorf("the epoch is %d after %d", second.Epoch(), first.Epoch())
	}
	first.cancel(nil)
	if err := second.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if _, entry, err = ReadEntry(ctx, waiting.KV, testKey); err != nil || entry.Owner != "" || entry.Answers != "" {
		t.Errorf("the released entry is %+v, %v", entry, err)
	}
}

// TestAnObserverThatWasAway: an observer that has just connected does not believe that a holder is gone, because
// the holder connects again, too.
func TestAnObserverThatWasAway(t *testing.T) {
	t.Parallel()
	js := embeddedtest.NATS(t).JetStream(t)
	entry := Entry{Owner: "holder", Holder: "1", Answers: js.Conn().NewInbox()} // nobody subscribes
	o := newObserver(Claim{Conn: js.Conn(), Timing: neverExpires})
	o.claim.Timing.Heartbeat = time.Hour
	for range 3 * mostSilent {
		if o.gone(t.Context(), entry) {
			t.Fatal("a new observer believes that the holder is gone")
		}
	}
	o.connected = time.Now().Add(-2 * time.Hour)
	asked := 1
	for !o.gone(t.Context(), entry) {
		if asked++; asked > mostSilent {
			t.Fatalf("the holder is not gone after %d questions", asked)
		}
	}
	if asked != mostSilent {
		t.Errorf("the holder is gone after %d questions, want %d", asked, mostSilent)
	}
	entry.Holder = "2"
	if o.gone(t.Context(), entry) {
		t.Error("the next holder is gone after one question")
	}
}
