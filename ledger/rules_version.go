package ledger

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Rules is a version of the rules that turn messages into rows: which messages are events, the
// tenant of an event, and its rows. Each sequence of a stream has a version, so new rules never
// change rows of older ones. A batch has one version, which is part of its deduplication tokens
// and of its row in commits.
type Rules uint32

const (
	// EnvelopeRules take an event's word for its tenant. An identity is (source, id).
	EnvelopeRules Rules = 3
	// SubjectRules take the tenant from the NATS subject, and quarantine an event that
	// contradicts its subject. An identity is (tenant, source, id). Rows of an event
	// without a tenant have the tenant "default".
	SubjectRules Rules = 4
	// DoorRules check the rules of [schema.CheckDoor]. They also refuse a redaction that would turn
	// against its tenant: one of a word of the contract, and one that holds its value itself.
	DoorRules Rules = 5
	// KnownRules check the rules of [schema.CheckKnown] and [schema.CheckDigests].
	KnownRules Rules = 6
	// NewestRules are the newest that this program knows.
	NewestRules = KnownRules
)

// rules is the version of the batch. A batch that was given none has the newest.
func (b *Batch) rules() Rules { return cmp.Or(b.Rules, NewestRules) }

// StoredTenants returns the names under which tables have a tenant's rows. Rows that
// were made by [EnvelopeRules] of events without a tenant have none.
func StoredTenants(tenant string) []string {
	if schema.TenantOf(tenant) == schema.DefaultTenant {
		return []string{schema.DefaultTenant, ""}
	}
	return []string{tenant}
}

// RecordedRules names the commits of a stream with one version of the rules.
type RecordedRules struct {
	Rules Rules
	First uint64 // sequence with which the first of these commits begins
	// Projected is the first sequence of the commits of a projector. 0 means none: a rebuild
	// carries rows of all versions over in one commit.
	Projected uint64
	Last      uint64 // sequence with which the last of them ends
}

// RecordedRules returns by which rules the commits of each stream were made, in the order
// of the versions. Versions before [EnvelopeRules] count as those.
func (l *Ledger) RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]RecordedRules, error) {
	params := chsql.Params{"incarnations": chsql.Texts(textsOf(incarnations)), "oldest": chsql.Number(EnvelopeRules)}
	all := make(map[uuid.UUID][]RecordedRules)
	for row := range l.sql.Rows(ctx, "recorded_rules", params) {
		var incarnation uuid.UUID
		var r RecordedRules
		var version uint32
		if err := row.Scan(&incarnation, &version, &r.First, &r.Projected, &r.Last); err != nil {
			return nil, fmt.Errorf("read the rules of the commits: %w", err)
		}
		r.Rules = Rules(version)
		all[incarnation] = append(all[incarnation], r)
	}
	return all, nil
}

// RecordedRulesOf is [Ledger.RecordedRules] for several ledgers. The first one that has commits of a stream
// counts.
func RecordedRulesOf(ctx context.Context, list []*Ledger, incarnations []uuid.UUID) (map[uuid.UUID][]RecordedRules, error) {
	all := make(map[uuid.UUID][]RecordedRules)
	for _, l := range list {
		left := slices.DeleteFunc(slices.Clone(incarnations), func(id uuid.UUID) bool { return len(all[id]) > 0 })
		if len(left) == 0 {
			break
		}
		found, err := l.RecordedRules(ctx, left)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
	}
	return all, nil
}
