package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Projectors of versions before the rules had a position hold their lease under the
// name of the stream, and know nothing of the rules. The lease has another key since.
// The old key has an entry that they cannot read, at which they stop. A second fence
// stands in the table commits, whose rows must say which rules their writer knows.
//
//	CTX                the old key: the fence
//	CTX.projection     the lease and journal
//	CTX.request        asks an older projector for the old key
const leaseSuffix = ".projection"

// KeyOf is the key of a stream's lease and journal.
func KeyOf(stream string) string { return stream + leaseSuffix }

// Fence is the value of the old key.
const Fence = `"this stream needs a newer ctxledger: its lease has another key"`

// IsFenced reports whether no older projector can take a stream's lease any more.
func IsFenced(ctx context.Context, kv jetstream.KeyValue, stream string) (bool, error) {
	entry, err := kv.Get(ctx, stream)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the old lease: %w", err)
	}
	return string(entry.Value()) == Fence, nil
}

// EnsureFence puts the fence where no projector has ever been.
func EnsureFence(ctx context.Context, kv jetstream.KeyValue, stream string) error {
	_, err := kv.Create(ctx, stream, []byte(Fence))
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("fence off older projectors: %w", err)
	}
	return nil
}

// Inherit takes the lease of older projectors of a stream for good: it waits until the
// old lease is free, carries its epoch and its journal over to the key of the claim, and
// puts the fence in its place. It returns at once where the fence stands. It may be
// repeated after any end: until the fence stands, nothing is projected under the new key.
func (c Claim) Inherit(ctx context.Context, stream string) error {
	fenced, err := IsFenced(ctx, c.KV, stream)
	if err != nil || fenced {
		return err
	}
	old := c
	old.Key = stream
	lease, held, err := old.Request(ctx)
	if errors.Is(err, ErrEntry) { // another has put the fence there meanwhile
		fenced, err := IsFenced(ctx, c.KV, stream)
		if err == nil && !fenced {
			err = ErrEntry
		}
		return err
	}
	if err != nil {
		return err
	}
	return lease.bequeath(held, c.Key)
}

// bequeath carries a lease over to another key and puts the fence in its place.
func (l *Lease) bequeath(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true // whatever happens, it is not renewed
	defer l.cancel(nil)
	heir := Lease{Claim: Claim{KV: l.KV, Key: key}}
	revision, have, err := ReadEntry(ctx, l.KV, key)
	if err != nil {
		return err
	}
	heir.revision = revision
	// Whoever changes the new key from here on must have taken this lease before.
	if err := l.put(ctx, l.entry); err != nil {
		return err
	}
	entry := l.entry
	if have.Epoch > entry.Epoch { // the fence was there, and was taken away
		entry = have
	}
	entry.Owner = ""
	if err := heir.put(ctx, entry); err != nil {
		return fmt.Errorf("carry the lease over: %w", err)
	}
	if _, err := l.KV.Update(ctx, l.Key, []byte(Fence), l.revision); err != nil {
		return fmt.Errorf("fence off older projectors: %w", err)
	}
	return nil
}
