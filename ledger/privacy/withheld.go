package privacy

import (
	"context"
	"fmt"
	"slices"
	"time"

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
	RecordedAt  time.Time // of that redaction
}

// A Redaction is the id of a redaction of a tenant.
type Redaction struct{ Tenant, ID string }

// WithheldThrough returns the fingerprints of the redactions in force, each once, in the order of
// their first redactions. A redaction is in force unless the operator revoked it later, or it is one
// of revoked. Of the stream incarnation it reads redactions up to the sequence through,
// of other streams all. A nil incarnation names no stream, so all are returned.
func (l Tables) WithheldThrough(ctx context.Context, incarnation uuid.UUID, through uint64, revoked ...Redaction) ([]Withheld, error) {
	// The server plans the next statement for long. A ledger without redactions does not need it.
	var there bool
	if err := l.sql.Row(ctx, "redactions_there", nil).Scan(&there); err != nil {
		return nil, fmt.Errorf("look for redactions: %w", err)
	}
	if !there {
		return nil, nil
	}
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
		if err := row.Scan(&w.Tenant, &f.KeyID, &f.Length, &f.PrefixHash, &f.HMAC, &w.RedactionID, &w.PolicyRef, &w.RecordedAt); err != nil {
			return nil, fmt.Errorf("read fingerprints: %w", err)
		}
		list = append(list, w)
	}
	return list, nil
}

// OfAll returns the tables of a ledger and of the shards of its cluster, each once, those of the
// ledger first. A plain ledger has no shards.
func OfAll(l *ledger.Ledger, shards ...*ledger.Ledger) (all []Tables) {
	for _, each := range ledger.Distinct(l, shards...) {
		all = append(all, Of(each))
	}
	return all
}

// WithheldOf is [Tables.WithheldThrough] for the tables of [OfAll], in the order of time. A value that
// was redacted in a session of one shard is withheld on all. A shard that does not answer is an error.
func WithheldOf(ctx context.Context, tables []Tables, incarnation uuid.UUID, through uint64, revoked ...Redaction) (all []Withheld, err error) {
	for _, t := range tables {
		list, err := t.WithheldThrough(ctx, incarnation, through, revoked...)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	if len(tables) > 1 { // one ledger has its own order of equal times
		slices.SortStableFunc(all, func(a, b Withheld) int { return a.RecordedAt.Compare(b.RecordedAt) })
	}
	return all, nil
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

// FingerprintsOf returns the keyed digests of the values that a redaction names.
func (l Tables) FingerprintsOf(ctx context.Context, of Redaction) (hmacs []string, err error) {
	params := chsql.Params{"tenant": chsql.Text(of.Tenant), "redaction": chsql.Text(of.ID)}
	if err := l.sql.Row(ctx, "fingerprints_of", params).Scan(&hmacs); err != nil {
		return nil, fmt.Errorf("read the fingerprints of the redaction: %w", err)
	}
	return hmacs, nil
}

// SameValue returns the other redactions of a tenant that have one of these fingerprints, revoked ones
// included.
func (l Tables) SameValue(ctx context.Context, of Redaction, hmacs []string) (ids []string, err error) {
	params := chsql.Params{"tenant": chsql.Text(of.Tenant), "redaction": chsql.Text(of.ID), "fingerprints": chsql.Texts(hmacs)}
	for row := range l.sql.Rows(ctx, "same_value", params) {
		var id string
		if err := row.Scan(&id); err != nil {
			return nil, fmt.Errorf("look for redactions of the same value: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}
