package leak

import (
	"fmt"
	"maps"

	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// ReadKeys makes the fingerprinters of all keys that keys returns.
func ReadKeys(keys func() ([]schema.KeyRing, error)) (Keys, error) {
	all := make(Keys)
	if keys == nil {
		return all, nil
	}
	rings, err := keys()
	if err != nil {
		return nil, fmt.Errorf("read the tenants' keys: %w", err)
	}
	for _, ring := range rings {
		byID := make(map[string]fingerprint.Hasher)
		for _, key := range ring.Keys {
			if byID[key.ID], err = fingerprint.New(key); err != nil {
				return nil, fmt.Errorf("use key %s: %w", key.ID, err)
			}
		}
		all[schema.TenantOf(ring.Tenant)] = byID
	}
	return all, nil
}

// Has reports whether a key exists.
func (f Keys) Has(tenant, id string) bool {
	_, ok := f[schema.TenantOf(tenant)][id]
	return ok
}

// Same reports whether the keys have the same names.
func (f Keys) Same(o Keys) bool {
	names := func(a, b map[string]fingerprint.Hasher) bool {
		return maps.EqualFunc(a, b, func(fingerprint.Hasher, fingerprint.Hasher) bool { return true })
	}
	return maps.EqualFunc(f, o, names)
}

// OfAll lists the fingerprints of the redactions among messages.
func OfAll(all []decode.Event) []privacy.Withheld {
	var list []privacy.Withheld
	for _, e := range all {
		if len(e.Violations) == 0 {
			list = append(list, Of(e.Envelope, e.Fact)...)
		}
	}
	return list
}

// UnknownKey is a missing key that a redaction names.
type UnknownKey struct{ Tenant, ID string }
