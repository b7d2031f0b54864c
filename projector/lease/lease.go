package lease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// Entry is the value of a stream's key in the lease bucket. The entry is also the journal:
// Pending is the range that its owner writes or has written last.
type Entry struct {
	Epoch   uint64        `json:"epoch"`
	Owner   string        `json:"owner"`             // empty when released
	Holder  string        `json:"holder"`            // identifies one acquisition; never repeated
	Answers string        `json:"answers,omitempty"` // the subject on which the holder answers; empty if it does not
	Pending *ledger.Range `json:"pending,omitempty"`
	Level   uint64        `json:"level,omitempty"` // see [Lease.Finish]; only where Owner is empty
}

var (
	// ErrLost means that another projector has taken over. The loser stops immediately, and the
	// new holder finishes its work.
	ErrLost = errors.New("another projector took over")

	ErrEntry = errors.New("the lease entry cannot be read: delete its key from the bucket " + Bucket)
)

// Timing holds three intervals. A holder renews its lease every Heartbeat. An observer takes a
// lease that is unchanged for Expiry, or whose holder has lost its connection. An observer reads the entry
// every Poll, and asks a holder that answers twice as often.
type Timing struct{ Heartbeat, Expiry, Poll time.Duration }

var DefaultTiming = Timing{Heartbeat: 3 * time.Second, Expiry: 10 * time.Second, Poll: time.Second}

// Lease is the right to write one stream's rows. Every change is a compare-and-set on the
// entry's revision, so at most one holder can journal. The holder renews the lease every
// heartbeat. An observer may take a lease whose revision is unchanged for the expiry, measured
// by the observer's monotonic clock, and the lease of a holder whose connection is gone. Safe for
// concurrent use.
type Lease struct {
	Claim
	epoch atomic.Uint64
	beat  atomic.Pointer[time.Time] // the time of the last change to the entry

	mu       slowMutex // guards the fields below; held during a compare-and-set
	entry    Entry
	revision uint64
	lost     bool
	answers  *nats.Subscription // nil if nobody is answered

	level  uint64 // of Finish
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// slowMutex is a mutex that may be held while a server answers. slowMutex is a channel, because
// tests in virtual time recognise a goroutine that waits for a channel. Make it with capacity
// 1.
type slowMutex chan struct{}

func (m slowMutex) Lock()   { m <- struct{}{} }
func (m slowMutex) Unlock() { <-m }

// A Claim names a lease and its claimant, and holds the settings for the wait.
type Claim struct {
	KV     jetstream.KeyValue
	Conn   *nats.Conn // answers observers, and asks holders; with nil, a dead holder loses its lease by the expiry
	Key    string
	Owner  string
	Timing Timing
	Roster *Roster // decides whether to take a free lease; nil takes every lease
	Log    *slog.Logger
	Failed func(step string, err error) // receives failed attempts that will be repeated; nil logs them
	// Finished runs where another process released the lease during this wait, by [Lease.Finish] with this level.
	// Its error ends the wait. Nil takes the lease.
	Finished func(ctx context.Context, level uint64) error
}

// Acquire waits until the lease is released or expired, or its holder's connection is gone, and takes it
// with the next epoch.
// Acquire takes an entry of the same owner immediately, because only one process can hold an
// owner's data folder. Acquire waits for a server that does not answer. The returned context
// ends with [ErrLost] when the lease is lost.
func (c Claim) Acquire(ctx context.Context) (*Lease, context.Context, error) {
	if c.Failed == nil {
		c.Failed = func(step string, err error) {
			c.Log.Warn("a step of the lease failed and will be repeated", "event", "retry", "step", step, "error", err)
		}
	}
	l := &Lease{Claim: c, mu: make(slowMutex, 1), done: make(chan struct{})}
	if err := l.await(ctx); err != nil {
		return nil, nil, err
	}
	l.epoch.Store(l.entry.Epoch)
	held, cancel := context.WithCancelCause(ctx)
	l.cancel = cancel
	go l.renew(held)
	return l, held, nil
}

// AcquireFree is Acquire for a lease that a process holds while it works. It waits until the lease of
// a dead holder has expired, and returns busy if the holder is alive.
func (c Claim) AcquireFree(ctx context.Context, busy error) (*Lease, context.Context, error) {
	waiting, cancel := context.WithCancelCause(ctx)
	limit := time.AfterFunc(2*c.Timing.Expiry, func() { cancel(busy) })
	defer limit.Stop()
	return c.Acquire(waiting)
}

func (l *Lease) await(ctx context.Context) error {
	var seen uint64
	var since time.Time // when this observer first saw the revision
	var told uint64
	held := false // another process held the lease during this wait
	others := newObserver(l.Claim)
	for {
		revision, entry, err := ReadEntry(ctx, l.KV, l.Key)
		if err == nil && held && entry.Level > 0 && l.Finished != nil {
			if err := l.Finished(ctx, entry.Level); err != nil {
				return err
			}
		}
		held = held || entry.Owner != "" && entry.Owner != l.Owner
		gone := err == nil && entry.Owner != l.Owner && others.gone(ctx, entry)
		if gone {
			l.Roster.dismiss(ctx, entry.Owner)
		}
		switch {
		case err != nil && !mayPass(err):
			return err
		case err != nil:
			l.Failed("acquire the lease", err)
			seen = 0 // the holder may be disconnected as well
		case (revision == 0 || entry.Owner == "" || entry.Owner == l.Owner || revision == seen && time.Since(since) >= l.Timing.Expiry || gone) && l.Roster.take():
			if gone {
				l.Log.Info("taking the lease of a process whose connection is gone", "owner", entry.Owner, "epoch", entry.Epoch)
			}
			l.revision = revision
			err := l.swap(ctx, Entry{Epoch: entry.Epoch + 1, Owner: l.Owner, Holder: uuid.NewString(), Answers: l.answer(ctx), Pending: entry.Pending})
			if err == nil {
				return nil
			}
			l.silence()
			l.Roster.Give()
			if errors.Is(err, ErrLost) {
				l.Log.Info("another projector took the lease first")
			} else {
				l.Failed("take the lease", err)
			}
			seen = 0
		case revision != seen:
			seen, since = revision, time.Now()
			if told != entry.Epoch {
				told = entry.Epoch
				l.Log.Info("waiting for the lease", "owner", entry.Owner, "epoch", entry.Epoch)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(others.pause()):
		}
	}
}

// ReadEntry returns the entry of a key and its revision. A missing entry has revision 0.
func ReadEntry(ctx context.Context, kv jetstream.KeyValue, key string) (uint64, Entry, error) {
	var entry Entry
	value, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, entry, nil
	}
	if err != nil {
		return 0, entry, fmt.Errorf("read lease: %w", err)
	}
	if err := json.Unmarshal(value.Value(), &entry); err != nil {
		return 0, entry, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return value.Revision(), entry, nil
}

// mayPass reports whether a retry may read the entry.
func mayPass(err error) bool {
	return !errors.Is(err, ErrEntry) && !errors.Is(err, nats.ErrConnectionClosed) && ledger.Transient(err)
}

// room is the size of a stored entry, a page of most file systems. A full disk still takes what fits into
// the last page of a file, so that small entries would be renewed for a minute while no event is stored.
const room = 4 << 10

// put makes one compare-and-set. A deleted key has revision 0 and needs Create. Spaces behind the entry fill
// its room.
func (l *Lease) put(ctx context.Context, entry Entry) error {
	value, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode lease: %w", err)
	}
	value = append(value, bytes.Repeat([]byte(" "), max(0, room-len(value)))...)
	var revision uint64
	if l.revision == 0 {
		revision, err = l.KV.Create(ctx, l.Key, value)
	} else {
		revision, err = l.KV.Update(ctx, l.Key, value, l.revision)
	}
	if err != nil {
		return fmt.Errorf("change lease: %w", err)
	}
	now := time.Now()
	l.entry, l.revision = entry, revision
	l.beat.Store(&now)
	return nil
}

// swap replaces the entry if it is unchanged, and otherwise returns ErrLost. After an error it
// reads the current entry, because the reply to this change or to an earlier one may have been
// lost.
func (l *Lease) swap(ctx context.Context, entry Entry) error {
	err := l.put(ctx, entry)
	if err == nil {
		return nil
	}
	standing, have, readErr := ReadEntry(ctx, l.KV, l.Key)
	switch {
	case readErr != nil:
		return err
	case have.Holder == entry.Holder && standing > l.revision:
		l.revision = standing
		return l.put(ctx, entry)
	case standing != 0 && standing <= l.revision:
		return err // unchanged, or read from a replica that lags
	}
	return ErrLost
}

func (l *Lease) renew(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(l.Timing.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := l.change(ctx, func(*Entry) {}); errors.Is(err, ErrLost) {
			return
		} else if err != nil && ctx.Err() == nil {
			l.Failed("renew the lease", err)
		}
	}
}

func (l *Lease) change(ctx context.Context, edit func(*Entry)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return ErrLost
	}
	entry := l.entry
	edit(&entry)
	err := l.swap(ctx, entry)
	if errors.Is(err, ErrLost) {
		l.lost = true
		l.silence()
		l.cancel(ErrLost)
	}
	return err
}

// Epoch is the number of the lease's current term, from 1. One holder may have several epochs.
func (l *Lease) Epoch() uint64 { return l.epoch.Load() }

// Advance gives this holder the next epoch and returns it.
func (l *Lease) Advance(ctx context.Context) (uint64, error) {
	var epoch uint64
	err := l.change(ctx, func(e *Entry) {
		e.Epoch++
		epoch = e.Epoch
	})
	if err != nil {
		return 0, err
	}
	l.epoch.Store(epoch)
	return epoch, nil
}

// Renewed returns the time of this holder's last change to the entry.
func (l *Lease) Renewed() time.Time { return *l.beat.Load() }

// Pending returns the range that an earlier holder journalled last, or nil.
func (l *Lease) Pending() *ledger.Range {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry.Pending
}

// Journal records that r will be written. The record is durable on return, within the limits of
// the server's configuration.
func (l *Lease) Journal(ctx context.Context, r ledger.Range) error {
	return l.change(ctx, func(e *Entry) { e.Pending = &r })
}

// Release releases the lease, so that another process may take it immediately.
func (l *Lease) Release(ctx context.Context) error { return l.leaveTo(ctx, "") }

// Finish makes the end of the lease say that its holder has done all work up to a sequence of the stream.
// Call it before End.
func (l *Lease) Finish(level uint64) { l.level = level }

// endPatience is the time limit of End.
const endPatience = 5 * time.Second

// End leaves the lease as Leave does, also after the end of ctx, and logs a failure.
func (l *Lease) End(ctx context.Context, why error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if err := l.Leave(ctx, why); err != nil {
		l.Log.Warn("the lease was not released: the next holder waits until it expires", "event", "lease_not_released", "error", err)
	}
}

// leaveTo ends the renewals and sets the owner of the entry, unless the lease is lost.
func (l *Lease) leaveTo(ctx context.Context, owner string) error {
	l.cancel(nil)
	<-l.done
	err := l.change(ctx, func(e *Entry) { e.Owner, e.Answers, e.Level = owner, "", l.level })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silence()
	if !errors.Is(err, ErrLost) {
		return err
	}
	return nil
}
