package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// leaseEntry is the value under a stream's key in the lease bucket. It is the
// journal, too: Pending is the range that its owner is about to write or has
// written.
type leaseEntry struct {
	Epoch   uint64        `json:"epoch"`
	Owner   string        `json:"owner"` // empty when released
	Pending *ledger.Range `json:"pending,omitempty"`
}

// ErrLeaseLost means that another projector has taken over. The loser stops at
// once; what it had in hand is the other's to finish.
var ErrLeaseLost = errors.New("another projector took over")

// Lease is the right to write one stream's rows. Every change is a
// compare-and-set on the entry's revision, so at most one holder can journal.
// A holder renews it every heartbeat; an observer that sees the revision
// unchanged for expiry, on its own monotonic clock, may take it. Safe for
// concurrent use.
type Lease struct {
	kv  jetstream.KeyValue
	key string
	log *slog.Logger

	mu       sync.Mutex // guards the fields below; held over a compare-and-set
	entry    leaseEntry
	revision uint64
	lost     bool

	cancel context.CancelCauseFunc
	done   chan struct{}
}

const (
	heartbeat = 3 * time.Second
	expiry    = 10 * time.Second
)

// acquireLease waits until the lease of a stream is free, released or expired,
// and takes it with the next epoch. An entry of the same owner is taken at
// once: an owner name is unique to a data folder that only one process can
// hold. The returned context ends with [ErrLeaseLost] when the lease is lost.
func acquireLease(ctx context.Context, kv jetstream.KeyValue, key, owner string, log *slog.Logger) (*Lease, context.Context, error) {
	l := &Lease{kv: kv, key: key, log: log, done: make(chan struct{})}
	var seen uint64
	var since time.Time
	for {
		revision, entry, err := l.read(ctx)
		if err != nil {
			return nil, nil, err
		}
		if revision != seen || since.IsZero() {
			seen, since = revision, time.Now()
		}
		free := revision == 0 || entry.Owner == "" || entry.Owner == owner || time.Since(since) >= expiry
		if free {
			l.entry = leaseEntry{Epoch: entry.Epoch + 1, Owner: owner, Pending: entry.Pending}
			l.revision = revision
			if err = l.swap(ctx, l.entry); err == nil {
				break
			}
			if !errors.Is(err, ErrLeaseLost) {
				return nil, nil, err
			}
		} else {
			log.Info("waiting for the lease", "owner", entry.Owner, "epoch", entry.Epoch)
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	held, cancel := context.WithCancelCause(ctx)
	l.cancel = cancel
	go l.renew(held)
	return l, held, nil
}

func (l *Lease) read(ctx context.Context) (uint64, leaseEntry, error) {
	var entry leaseEntry
	value, err := l.kv.Get(ctx, l.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, entry, nil
	}
	if err != nil {
		return 0, entry, fmt.Errorf("read lease: %w", err)
	}
	if err := json.Unmarshal(value.Value(), &entry); err != nil {
		return 0, entry, fmt.Errorf("read lease: %w", err)
	}
	return value.Revision(), entry, nil
}

// swap replaces the entry if nobody else has, and returns ErrLeaseLost if
// somebody has. After an error of unknown outcome it looks whose entry stands.
func (l *Lease) swap(ctx context.Context, entry leaseEntry) error {
	value, err := json.Marshal(entry)
	if err != nil {
		return fmt.Errorf("encode lease: %w", err)
	}
	revision, err := l.kv.Update(ctx, l.key, value, l.revision)
	if err == nil {
		l.entry, l.revision = entry, revision
		return nil
	}
	standing, have, readErr := l.read(ctx)
	switch {
	case readErr != nil:
		return fmt.Errorf("renew lease: %w", err)
	case have.Epoch == entry.Epoch && have.Owner == entry.Owner && standing > l.revision:
		l.revision = standing // the lost reply of an earlier swap of ours
		revision, err = l.kv.Update(ctx, l.key, value, l.revision)
		if err != nil {
			return fmt.Errorf("renew lease: %w", err)
		}
		l.entry, l.revision = entry, revision
		return nil
	case standing == l.revision:
		return fmt.Errorf("renew lease: %w", err)
	}
	return ErrLeaseLost
}

func (l *Lease) renew(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := l.change(ctx, func(*leaseEntry) {}); errors.Is(err, ErrLeaseLost) {
			return
		} else if err != nil && ctx.Err() == nil {
			l.log.Warn("lease heartbeat", "error", err)
		}
	}
}

func (l *Lease) change(ctx context.Context, edit func(*leaseEntry)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost {
		return ErrLeaseLost
	}
	entry := l.entry
	edit(&entry)
	err := l.swap(ctx, entry)
	if errors.Is(err, ErrLeaseLost) {
		l.lost = true
		l.cancel(ErrLeaseLost)
	}
	return err
}

// Epoch numbers the holders of the lease, from 1.
func (l *Lease) Epoch() uint64 { return l.entry.Epoch }

// Pending returns the range that an earlier holder journalled last, or nil.
func (l *Lease) Pending() *ledger.Range {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entry.Pending
}

// Journal records that r is about to be written. It is durable when it
// returns, as far as the server's own configuration makes it so.
func (l *Lease) Journal(ctx context.Context, r ledger.Range) error {
	return l.change(ctx, func(e *leaseEntry) { e.Pending = &r })
}

// Release gives the lease up, so that another may take it at once.
func (l *Lease) Release(ctx context.Context) error {
	l.cancel(nil)
	<-l.done
	err := l.change(ctx, func(e *leaseEntry) { e.Owner = "" })
	if errors.Is(err, ErrLeaseLost) {
		return nil
	}
	return err
}
