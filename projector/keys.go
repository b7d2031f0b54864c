package projector

import (
	"context"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/schema"
)

// recall makes p.withheld what the redactions up to the checkpoint withhold, from
// memory where that and the keys are as they were.
func (p *Projector) recall(ctx context.Context) error {
	if p.withheld != nil {
		keys, err := leak.ReadKeys(p.config.Keys)
		if err != nil {
			return err
		}
		if keys.Same(p.withheld.Keys) {
			p.withheld = p.withheld.AsOf(p.last.Last)
			return nil
		}
	}
	return p.loadWithheld(ctx)
}

// loadWithheld reads the keys, and the fingerprints of all redactions up to the
// last commit.
func (p *Projector) loadWithheld(ctx context.Context) error {
	return p.persist(ctx, "load fingerprints", func() error {
		keys, err := leak.ReadKeys(p.config.Keys)
		if err != nil {
			return err
		}
		values, err := p.store.WithheldThrough(ctx, p.source.Incarnation, p.committed.Load())
		if err != nil {
			return err
		}
		p.withheld = leak.NewValues(keys)
		maps.DeleteFunc(p.unknown, func(k leak.UnknownKey, _ bool) bool { return keys.Has(k.Tenant, k.ID) })
		p.noteUnknown(values)
		for _, value := range values {
			p.withheld.Learn(value)
		}
		return nil
	})
}

// findKeys reads keys and fingerprints again when a redaction among messages
// names a key that was not there and is now, and returns true.
func (p *Projector) findKeys(ctx context.Context, all []decode.Event) (bool, error) {
	missing := slices.DeleteFunc(leak.OfAll(all), func(v ledger.Withheld) bool {
		return p.withheld.Keys.Has(v.Tenant, v.Fingerprint.KeyID)
	})
	if len(missing) == 0 {
		return false, nil
	}
	var now leak.Keys
	err := p.persist(ctx, "find a key", func() (err error) {
		now, err = leak.ReadKeys(p.config.Keys)
		return err
	})
	if err != nil || !slices.ContainsFunc(missing, func(v ledger.Withheld) bool { return now.Has(v.Tenant, v.Fingerprint.KeyID) }) {
		return false, err
	}
	if err := p.land(ctx); err != nil { // so that the ledger has all redactions
		return false, err
	}
	return true, p.loadWithheld(ctx)
}

// noteUnknown says once of a key that it is not there. The values must be of
// redactions that hold no withheld value, since a key's name is the producer's.
func (p *Projector) noteUnknown(values []ledger.Withheld) {
	for _, v := range values {
		key := leak.UnknownKey{Tenant: schema.TenantOf(v.Tenant), ID: v.Fingerprint.KeyID}
		if p.withheld.Keys.Has(key.Tenant, key.ID) || p.unknown[key] {
			continue
		}
		p.unknown[key] = true
		p.config.Log.Warn("redactions name a key that is not here: their values are not recognised when they come back; add the key file",
			"event", "key_unknown", "tenant", key.Tenant, "key", key.ID)
	}
	p.unknownKeys.Store(uint64(len(p.unknown)))
}
