package projector

import (
	"crypto/sha256"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// eventIdentity is the identity of an event in full. By [ledger.EnvelopeRules] it has
// no tenant: all tenants share them.
type eventIdentity struct{ tenant, source, id string }

// eventIdentity is that of m's event, by the rules of its place.
func (m *parsed) eventIdentity() eventIdentity {
	if m.Rules < ledger.SubjectRules {
		return eventIdentity{"", m.event.Source, m.event.ID}
	}
	return eventIdentity{m.tenant, m.event.Source, m.event.ID}
}

// ownedSum is the hash of an identity that is a tenant's, of the hash of (source, id).
func ownedSum(sum [32]byte, tenant string) [32]byte {
	room := make([]byte, 0, 128)
	return sha256.Sum256(append(append(room, sum[:]...), schema.TenantOf(tenant)...))
}
