// Package storedtext reads the texts that are too large for their events, for the commands and the pages.
package storedtext

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// Reader reads texts. It connects to NATS at the first text. It is safe for concurrent use.
type Reader struct {
	// Connect connects to NATS. Required.
	Connect func() (jetstream.JetStream, error)
	// Keys returns the tenants' key rings. Required.
	Keys func() ([]schema.KeyRing, error)
	// Shards are the ledgers of all shards of a cluster, whose redactions count. Nil for a plain ledger.
	Shards []*ledger.Ledger

	mu sync.Mutex // guards js
	js jetstream.JetStream
}

// WithheldError means that a text contains a value that a redaction withholds. The text is not shown.
type WithheldError struct{ RedactionID string }

func (e *WithheldError) Error() string {
	return fmt.Sprintf("the text contains a value that redaction %s withholds", e.RedactionID)
}

// Read returns the text that a fact of a tenant refers to, and "" for a reference to no such text. Errors:
// *[WithheldError], or those of [Reader.Stored].
func (r *Reader) Read(ctx context.Context, l *ledger.Ledger, tenant string, ref schema.Ref) (string, error) {
	return r.Several(ctx, l, tenant)(ref)
}

// Several returns Read for several texts, which reads the redactions once. It is not for a later moment.
func (r *Reader) Several(ctx context.Context, l *ledger.Ledger, tenant string) func(schema.Ref) (string, error) {
	withheld := sync.OnceValues(func() (leak.Set, error) { return r.withheld(ctx, l, schema.TenantOf(tenant)) })
	return func(ref schema.Ref) (string, error) {
		text, err := r.Stored(ctx, tenant, ref)
		if err != nil || text == "" {
			return "", err
		}
		values, err := withheld()
		if err != nil {
			return "", err
		}
		if found := values.InPayload([]byte(text)); len(found) > 0 {
			return "", &WithheldError{found[0].Value.RedactionID}
		}
		return text, nil
	}
}

// Stored is Read without a look at redactions. The text must not be shown. Errors: [texts.ErrAbsent],
// [texts.ErrNoKey], or an error of a server.
func (r *Reader) Stored(ctx context.Context, tenant string, ref schema.Ref) (string, error) {
	name := texts.NameOf(tenant, ref)
	if name.IsZero() {
		return "", nil
	}
	js, err := r.connected()
	if err != nil {
		return "", err
	}
	bucket, err := texts.Open(ctx, js)
	if err != nil {
		return "", err
	}
	if bucket == nil {
		return "", texts.ErrAbsent
	}
	rings, err := r.Keys()
	if err != nil {
		return "", err
	}
	var keys []schema.Key
	for _, ring := range rings {
		if ring.Tenant == name.Tenant {
			keys = ring.Keys
		}
	}
	return bucket.Get(ctx, name, keys)
}

// connected returns the connection. One that was closed is replaced.
func (r *Reader) connected() (jetstream.JetStream, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.js != nil && !r.js.Conn().IsClosed() {
		return r.js, nil
	}
	js, err := r.Connect()
	if err == nil {
		r.js = js
	}
	return js, err
}

// withheld returns the values that redactions withhold from a tenant.
func (r *Reader) withheld(ctx context.Context, l *ledger.Ledger, tenant string) (leak.Set, error) {
	keys, err := leak.ReadKeys(r.Keys)
	if err != nil {
		return nil, err
	}
	list, err := privacy.WithheldOf(ctx, privacy.OfAll(l, r.Shards...), uuid.Nil, 0)
	if err != nil {
		return nil, err
	}
	values := leak.NewValues(keys)
	for _, v := range list {
		values.Learn(v)
	}
	return values.Of(nil, []string{tenant}), nil
}
