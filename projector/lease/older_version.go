package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Projectors of older versions hold their lease under the name of the stream, and do not know
// the rules. Newer projectors use another key. The old key holds an entry that older projectors
// cannot read, so they stop. The table commits is a second fence: its rows must name the rules
// that their writer knows.
//
//	CTX                the old key: the fence
//	CTX.projection     the lease and journal
//	CTX.request        asks an older projector for the old key
const leaseSuffix = ".projection"

// KeyOf is the key of a stream's lease and journal.
func KeyOf(stream string) string { return stream + leaseSuffix }

// Fence is the value of the old key.
const Fence = `"this stream needs a newer ctxledger: its lease has another key"`

// IsFenced reports whether older projectors are excluded from a stream's lease.
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

// EnsureFence creates the fence for a stream without a lease entry under the old key.
func EnsureFence(ctx context.Context, kv jetstream.KeyValue, stream string) error {
	_, err := kv.Create(ctx, stream, []byte(Fence))
	if err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("exclude older projectors: %w", err)
	}
	return nil
}

// Inherit takes the lease of older projectors of a stream permanently. Inherit waits until the
// old lease is free, and copies its epoch and journal to the key of the claim. The fence then
// replaces the old entry. If the fence exists, Inherit returns immediately. Inherit may be
// repeated after an interruption: nothing is projected under the new key before the fence
// exists.
func (c Claim) Inherit(ctx context.Context, stream string) error {
	fenced, err := IsFenced(ctx, c.KV, stream)
	if err != nil || fenced {
		return err
	}
	old := c
	old.Key = stream
	lease, held, err := old.Request(ctx)
	if errors.Is(err, ErrEntry) { // another process has put the fence there in the meantime
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

// bequeath copies a lease to another key and replaces the old entry by the fence.
func (l *Lease) bequeath(ctx context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true // also after an error, the old lease is not renewed
	defer l.cancel(nil)
	heir := Lease{Claim: Claim{KV: l.KV, Key: key}}
	revision, have, err := ReadEntry(ctx, l.KV, key)
	if err != nil {
		return err
	}
	heir.revision = revision
	// From here on, a process that changes the new key must have taken this lease before.
	if err := l.put(ctx, l.entry); err != nil {
		return err
	}
	entry := l.entry
	if have.Epoch > entry.Epoch { // the fence existed and was removed
		entry = have
	}
	entry.Owner = ""
	if err := heir.put(ctx, entry); err != nil {
		return fmt.Errorf("copy the lease to its new key: %w", err)
	}
	if _, err := l.KV.Update(ctx, l.Key, []byte(Fence), l.revision); err != nil {
		return fmt.Errorf("exclude older projectors: %w", err)
	}
	return nil
}
