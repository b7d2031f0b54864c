package lease

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Roster computes this process's share of the leases of several streams. Every process writes
// one entry into the lease bucket every heartbeat. An entry that is unchanged for the expiry of
// a lease, by the observer's clock, is dead and gets removed. Processes that see the same
// entries compute shares with the number of streams as their sum:
//
//	streams 8, processes a b c      a 3, b 3, c 2
//
// If two processes see different entries for a moment, both may ask for one lease, or one lease
// waits a little longer. Only the lease decides which process writes. Safe for concurrent use.
type Roster struct {
	kv      jetstream.KeyValue
	me      string // key of this process's entry
	streams int
	timing  Timing

	mu    sync.Mutex // guards the fields below
	quota int
	taken int
	seen  map[string]sighting // entries of the other processes
}

// sighting is an entry as last seen by an observer.
type sighting struct {
	revision uint64
	since    time.Time // when this observer first saw the revision
}

// rosterPrefix is the prefix of the keys of the entries. A hexadecimal name follows.
const rosterPrefix = "projectors."

func NewRoster(kv jetstream.KeyValue, owner string, streams int, t Timing) *Roster {
	return &Roster{kv: kv, me: keyOf(owner), streams: streams, timing: t, seen: make(map[string]sighting)}
}

func keyOf(owner string) string { return rosterPrefix + hex.EncodeToString([]byte(owner)) }

// take reports whether this process may take one more lease, and counts the lease until Give. A
// nil roster allows every lease.
func (r *Roster) take() bool {
	if r == nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.taken >= r.quota {
		return false
	}
	r.taken++
	return true
}

// Give undoes a take.
func (r *Roster) Give() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken--
}

// Surplus returns the number of leases above this process's share.
func (r *Roster) Surplus() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.taken-r.quota)
}

// sign writes this process's entry.
func (r *Roster) sign(ctx context.Context) error {
	if _, err := r.kv.Put(ctx, r.me, nil); err != nil {
		return fmt.Errorf("sign the roster of projectors: %w", err)
	}
	return nil
}

// Leave removes this process's entry, so that other processes need not wait for its expiry.
func (r *Roster) Leave(ctx context.Context) error { return r.kv.Purge(ctx, r.me) }

// dismiss removes the entry of a process whose connection is gone, and computes the share anew. A process that
// signs again is back. A failure is left to the expiry.
func (r *Roster) dismiss(ctx context.Context, owner string) {
	if r == nil {
		return
	}
	key := keyOf(owner)
	r.mu.Lock()
	last, ok := r.seen[key]
	r.mu.Unlock()
	if ok && r.kv.Purge(ctx, key, jetstream.LastRevision(last.revision)) == nil {
		_ = r.look(ctx)
	}
}

// look reads the entries of the other processes and computes this process's share.
func (r *Roster) look(ctx context.Context) error {
	entries, err := r.entries(ctx)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		clear(r.seen) // processes that cannot be seen may be disconnected as well
		return fmt.Errorf("read the roster of projectors: %w", err)
	}
	for key, revision := range r.count(entries) {
		_ = r.kv.Purge(ctx, key, jetstream.LastRevision(revision)) // fails if another process removed the entry, or if its process is back
	}
	return nil
}

// count computes the share from the entries of the other processes, and returns the dead
// entries.
func (r *Roster) count(entries map[string]uint64) (dead map[string]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	dead = make(map[string]uint64)
	now := time.Now()
	var others []string
	for key, revision := range entries {
		last, ok := r.seen[key]
		switch {
		case !ok || last.revision != revision:
			r.seen[key] = sighting{revision, now}
		case now.Sub(last.since) >= r.timing.Expiry:
			dead[key] = revision
			continue
		}
		others = append(others, key)
	}
	for key := range r.seen {
		if _, ok := entries[key]; !ok {
			delete(r.seen, key)
		}
	}
	r.quota = quotaOf(r.streams, r.me, others)
	return dead
}

// entries returns the entries of the other processes with their revisions.
func (r *Roster) entries(ctx context.Context) (map[string]uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Expiry/2)
	defer cancel()
	watch, err := r.kv.Watch(ctx, rosterPrefix+"*", jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	found := make(map[string]uint64)
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case entry, open := <-watch.Updates():
			switch {
			case !open:
				return nil, errors.New("the watch ended early")
			case entry == nil: // the end of the existing entries
				return found, nil
			case entry.Key() != r.me:
				found[entry.Key()] = entry.Revision()
			}
		}
	}
}

// quotaOf splits streams evenly. If a remainder is left, the processes that are first by name
// get one more.
func quotaOf(streams int, me string, others []string) int {
	before := 0
	for _, other := range others {
		if strings.Compare(other, me) < 0 {
			before++
		}
	}
	processes := len(others) + 1
	share := streams / processes
	if before < streams%processes {
		share++
	}
	return share
}

// Follow signs every heartbeat and looks at every poll, until ctx ends. Follow calls changed after
// each look.
func (r *Roster) Follow(ctx context.Context, failed func(step string, err error), changed func()) {
	var signed time.Time
	for {
		if time.Since(signed) >= r.timing.Heartbeat {
			if err := r.sign(ctx); err == nil {
				signed = time.Now()
			} else if ctx.Err() == nil {
				failed("sign the roster", err)
			}
		}
		if err := r.look(ctx); err == nil {
			changed()
		} else if ctx.Err() == nil {
			failed("read the roster", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(r.timing.Poll):
		}
	}
}
