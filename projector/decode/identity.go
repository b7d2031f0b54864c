package decode

import (
	"crypto/sha256"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// Identity is the full identity of an event. By [ledger.EnvelopeRules] it has no tenant, and
// all tenants share the identities.
type Identity struct{ Tenant, Source, ID string }

// Identity returns the identity of e, by the rules of its place.
func (e *Event) Identity() Identity {
	if e.Rules < ledger.SubjectRules {
		return Identity{"", e.Envelope.Source, e.Envelope.ID}
	}
	return Identity{e.Tenant, e.Envelope.Source, e.Envelope.ID}
}

// OwnedKey returns the hash of an identity with a tenant. sum is the hash of (source, id).
func OwnedKey(sum [32]byte, tenant string) [32]byte {
	room := make([]byte, 0, 128)
	return sha256.Sum256(append(append(room, sum[:]...), schema.TenantOf(tenant)...))
}
