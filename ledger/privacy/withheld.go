package privacy

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Withheld is a fingerprint of a withheld value, with the facts of the first redaction that
// names the fingerprint.
type Withheld struct {
	Tenant      string
	RedactionID string
	PolicyRef   string
	Fingerprint schema.Fingerprint
}

// A Redaction is the id of a redaction of a tenant.
type Redaction struct{ Tenant, ID string }

// WithheldThrough returns the fingerprints of the redactions in force, each once, in the order of
// their first redactions. A redaction is in force unless the operator revoked it later, or it is one
// of revoked. Of the stream incarnation it reads redactions up to the sequence through,
// of other streams all. A nil incarnation names no stream, so all are returned.
func (l Tables) WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, revoked ...Redaction) ([]Withheld, error) {
	var tenants, ids []string
	for _, r := range revoked {
		tenants, ids = append(tenants, r.Tenant), append(ids, r.ID)
	}
	params := chsql.Params{
		"incarnation": chsql.UUID(incarnation), "through": chsql.Number(through), "tenants": chsql.Texts(tenants), "ids": chsql.Texts(ids),
	}
	var list []Withheld
	for row := range l.sql.Rows(ctx, "withheld", params) {
		var w Withheld
		f := &w.Fingerprint
		if err := row.Scan(&w.Tenant, &f.KeyID, &f.Length, &f.PrefixHash, &f.HMAC, &w.RedactionID, &w.PolicyRef); err != nil {
			return nil, fmt.Errorf("read fingerprints: %w", err)
		}
		list = append(list, w)
	}
	return list, nil
}

// Reintroduced returns where in a range messages were refused because they held
// a withheld value, in order.
func (l Tables) Reintroduced(ctx context.Context, r ledger.Range) ([]ledger.Position, error) {
	params := chsql.Params{
		"incarnation": chsql.UUID(r.Incarnation), "first": chsql.Number(r.First), "last": chsql.Number(r.Last), "code": chsql.Text(schema.CodeReintroduced),
	}
	var list []ledger.Position
	for row := range l.sql.Rows(ctx, "reintroduced", params) {
		p := ledger.Position{Incarnation: r.Incarnation}
		if err := row.Scan(&p.StreamSeq, &p.RecordedAt); err != nil {
			return nil, fmt.Errorf("read quarantine: %w", err)
		}
		list = append(list, p)
	}
	return list, nil
}

// InForce is a place of a redaction in force: the last fact of the redaction in a session.
type InForce struct {
	Tenant, Session, RedactionID string
	Incarnation                  uuid.UUID
	StreamSeq                    uint64
}

// InForce returns the places of a redaction that no later fact revoked. An empty tenant is all.
func (l Tables) InForce(ctx context.Context, tenant, redactionID string) (list []InForce, err error) {
	for row := range l.sql.Rows(ctx, "in_force", chsql.Params{"tenant": chsql.Text(tenant), "redaction": chsql.Text(redactionID)}) {
		at := InForce{RedactionID: redactionID}
		if err := row.Scan(&at.Tenant, &at.Session, &at.Incarnation, &at.StreamSeq); err != nil {
			return nil, fmt.Errorf("look for the redaction: %w", err)
		}
		list = append(list, at)
	}
	return list, nil
}

// SameValue returns the other redactions of a tenant that share a fingerprint with a redaction,
// revoked ones included.
func (l Tables) SameValue(ctx context.Context, of Redaction) (ids []string, err error) {
	for row := range l.sql.Rows(ctx, "same_value", chsql.Params{"tenant": chsql.Text(of.Tenant), "redaction": chsql.Text(of.ID)}) {
		var id string
		if err := row.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for redactions of the same value: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
