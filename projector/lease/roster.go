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

// Roster says how many of the streams' leases this process is to have, where
// there are several. Every process writes an entry of its own into the lease
// bucket every heartbeat; one whose entry has not changed for as long as a lease
// lasts, on the observer's own clock, counts no more, and its entry is removed.
// All who see the same entries come to shares that add up to all of the streams:
//
//	streams 8, processes a b c      a 3, b 3, c 2
//
// Where they do not see the same for a moment, a lease is taken by two who ask
// for it or waits a little longer: the lease alone decides who writes. Safe for
// concurrent use.
type Roster struct {
	kv      jetstream.KeyValue
	me      string // key of this process's own entry
	streams int
	timing  Timing

	mu    sync.Mutex // guards the fields below
	quota int
	taken int
	seen  map[string]sighting // of the others
}

// sighting is what an observer knows of an entry.
type sighting struct {
	revision uint64
	since    time.Time // when this observer first saw the revision
}

// rosterPrefix begins the keys of the entries; hexadecimal names follow.
const rosterPrefix = "projectors."

func NewRoster(kv jetstream.KeyValue, owner string, streams int, t Timing) *Roster {
	return &Roster{kv: kv, me: rosterPrefix + hex.EncodeToString([]byte(owner)), streams: streams, timing: t, seen: make(map[string]sighting)}
}

// take reports whether this process is to have one more lease, and counts it
// until give. A nil roster lets it have any.
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

// Surplus is how many leases this process has beyond its share.
func (r *Roster) Surplus() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, r.taken-r.quota)
}

// sign writes this process's entry.
func (r *Roster) sign(ctx context.Context) error {
	if _, err := r.kv.Put(ctx, r.me, nil); err != nil {
		return fmt.Errorf("tell other projectors of this one: %w", err)
	}
	return nil
}

// Leave removes this process's entry, so that others need not wait for its end.
func (r *Roster) Leave(ctx context.Context) error { return r.kv.Purge(ctx, r.me) }

// look reads the others' entries and settles this process's share.
func (r *Roster) look(ctx context.Context) error {
	entries, err := r.entries(ctx)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		clear(r.seen) // who cannot be seen may have been cut off as well
		return fmt.Errorf("look for other projectors: %w", err)
	}
	for key, revision := range r.count(entries) {
		_ = r.kv.Purge(ctx, key, jetstream.LastRevision(revision)) // or another has, or it is back
	}
	return nil
}

// count settles the share by the others' entries, and returns those that count no
// more.
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

// entries returns the others' entries with their revisions.
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
			case entry == nil: // that was all
				return found, nil
			case entry.Key() != r.me:
				found[entry.Key()] = entry.Revision()
			}
		}
	}
}

// quotaOf splits streams evenly: who comes first in the order of names has one
// more where they do not divide.
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

// Follow signs every heartbeat and looks at every poll, until ctx ends, and calls
// changed after each look.
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
