package projector

import (
	"context"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/schema"
)

// recall sets withheld to the values that the redactions up to the last commit withhold. recall
// uses the values in memory if these are complete and the keys have not changed. In a rebuild they are
// complete only for the messages that it has read.
func (b *builder) recall(ctx context.Context, last uint64) error {
	if b.withheld != nil && b.rebuild == nil {
		keys, err := leak.ReadKeys(b.config.Keys)
		if err != nil {
			return err
		}
		if keys.Same(b.withheld.Keys) {
			if b.withheld = b.withheld.AsOf(last); b.withheld != nil {
				return nil
			}
		}
	}
	return b.loadWithheld(ctx)
}

// loadWithheld reads the keys, and the fingerprints of the redactions in force at the last commit,
// without redactions that are revoked since. In a rebuild they count only for the messages after their
// redaction, because the live projector accepted earlier ones; see laterValues.
func (b *builder) loadWithheld(ctx context.Context, revoked ...privacy.Redaction) error {
	return b.persist(ctx, "load fingerprints", func() error {
		keys, err := leak.ReadKeys(b.config.Keys)
		if err != nil {
			return err
		}
		heard, err := b.siblings.revision(ctx) // before the load, which may lack a redaction of a later revision
		if err != nil {
			return err
		}
		values, err := b.store.WithheldThrough(ctx, b.source.Incarnation, b.committed.Load(), revoked...)
		if err == nil {
			err = b.placed(ctx) // else the redactions of a stream may have left the shards that were asked
		}
		if err != nil {
			return err
		}
		b.siblings.heard, b.withheld = heard, leak.NewValues(keys)
		maps.DeleteFunc(b.unknown, func(k leak.UnknownKey, _ bool) bool { return keys.Has(k.Tenant, k.ID) })
		b.noteUnknown(values)
		if b.later = nil; b.rebuild != nil {
			b.later = values
			return nil
		}
		for _, value := range values {
			b.withheld.Learn(value)
		}
		return nil
	})
}

// laterValues are fingerprints that do not count yet, in the order of their redactions.
type laterValues []privacy.Withheld

// learn adds the values to w that were redacted before the first event. It returns the number of events
// before the next redaction.
func (l *laterValues) learn(w *leak.Values, events []decode.Event) int {
	list := *l
	for len(list) > 0 && !list[0].RecordedAt.After(events[0].Position.RecordedAt) {
		w.Learn(list[0])
		list = list[1:]
	}
	if *l = list; len(list) > 0 {
		next := list[0].RecordedAt
		if n := slices.IndexFunc(events, func(e decode.Event) bool { return !e.Position.RecordedAt.Before(next) }); n > 0 {
			return n
		}
	}
	return len(events)
}

// findKeys reports whether redactions name a key that was missing and now exists.
func (b *builder) findKeys(ctx context.Context, all []decode.Event) (bool, error) {
	missing := slices.DeleteFunc(leak.OfAll(all), func(v privacy.Withheld) bool {
		return b.withheld.Keys.Has(v.Tenant, v.Fingerprint.KeyID)
	})
	if len(missing) == 0 {
		return false, nil
	}
	var now leak.Keys
	err := b.persist(ctx, "find a key", func() (err error) {
		now, err = leak.ReadKeys(b.config.Keys)
		return err
	})
	return err == nil && slices.ContainsFunc(missing, func(v privacy.Withheld) bool { return now.Has(v.Tenant, v.Fingerprint.KeyID) }), err
}

// noteBare logs once for a tenant that a redaction has no fingerprint, so that nothing keeps its value
// from coming back.
func (b *builder) noteBare(events []decode.Event) {
	for _, e := range events {
		r, ok := e.Fact.(*schema.RedactionApplied)
		if !ok || len(e.Violations) > 0 || len(r.Fingerprints) > 0 || b.bare[e.Tenant] {
			continue
		}
		b.bare[e.Tenant] = true
		b.config.Log.Warn("a redaction has no fingerprint, so its value is not recognised when it comes back: give the producer the tenant's key",
			"event", "redaction_unprotected", "tenant", schema.TenantOf(e.Tenant), "sequence", e.Position.StreamSeq)
	}
}

// noteUnknown logs a missing key once. The values must come from redactions without a withheld
// value, because the producer chooses a key's name.
func (b *builder) noteUnknown(values []privacy.Withheld) {
	for _, v := range values {
		key := leak.UnknownKey{Tenant: schema.TenantOf(v.Tenant), ID: v.Fingerprint.KeyID}
		if b.withheld.Keys.Has(key.Tenant, key.ID) || b.unknown[key] {
			continue
		}
		b.unknown[key] = true
		b.config.Log.Warn("redactions name a key that is missing, so their values are not recognised when they come back: add the key file",
			"event", "key_unknown", "tenant", key.Tenant, "key", key.ID)
	}
	b.counts.unknownKeys.Store(uint64(len(b.unknown)))
}
