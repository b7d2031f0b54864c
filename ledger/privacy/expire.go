package privacy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Expiry names the events that are older than a time of the stream. The zero time names none.
type Expiry struct {
	// Before is the time for all tenants that Own does not name.
	Before time.Time
	// Own are the times of tenants.
	Own map[string]time.Time
	// Firsts has the first sequence of each stream that has messages. What has messages stays in the tables,
	// so that a rebuild gives the same tables.
	Firsts map[uuid.UUID]uint64
}

// parameters returns the parameters of the statements that select by e. latest and earliest limit the parts
// that are read.
func (e Expiry) parameters() chsql.Params {
	var tenants, incarnations []string
	var befores, firsts []uint64
	latest, earliest := e.Before, e.Before
	for tenant, before := range e.Own {
		for _, stored := range ledger.StoredTenants(tenant) {
			tenants, befores = append(tenants, stored), append(befores, nanoseconds(before))
		}
		if before.After(latest) {
			latest = before
		}
		if !before.IsZero() && (earliest.IsZero() || before.Before(earliest)) {
			earliest = before
		}
	}
	for incarnation, first := range e.Firsts {
		incarnations, firsts = append(incarnations, incarnation.String()), append(firsts, first)
	}
	return chsql.Params{
		"before": chsql.Number(nanoseconds(e.Before)), "tenants": chsql.Texts(tenants), "befores": chsql.Numbers(befores),
		"latest": chsql.Time(latest), "earliest": chsql.Time(earliest),
		"incarnations": chsql.Texts(incarnations), "firsts": chsql.Numbers(firsts),
	}
}

// nanoseconds returns a time since 1970, or 0 for no time.
func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano())
}

// keptContent are the facts whose content views and checks read at any time. They hold decisions only.
func keptContent() []string {
	var types []string
	for _, t := range append(schema.LastingTypes(), schema.TypeFactsDropped, schema.TypeEnvelopeCreated) {
		types = append(types, string(t))
	}
	return types
}

// Expired is what has lost its content.
type Expired struct{ Events, Refused uint64 }

// Expire empties the data of old events, and the data and headers of old messages in quarantine. All other
// columns stay: the identity of an event, its digest, its ids, and the columns of facts in the other
// tables. The leaf in the transparency log stays, too. Expire waits until all rows are rewritten, and may
// be repeated.
func (l Tables) Expire(ctx context.Context, e Expiry) (done Expired, err error) {
	params := e.parameters()
	params["kept"] = chsql.Texts(keptContent())
	if done.Events, err = l.expire(ctx, "expirable", "expire", params, nil); err != nil {
		return done, fmt.Errorf("remove the content of old events: %w", err)
	}
	if done.Refused, err = l.expire(ctx, "expirable_refused", "expire_refused", params, nil); err != nil {
		return done, fmt.Errorf("remove the content of old messages in quarantine: %w", err)
	}
	return done, nil
}

// expire changes the rows that the statement old counts, if there are any, and returns their number. first runs
// before the change.
func (l Tables) expire(ctx context.Context, old, change string, params chsql.Params, first func() error) (n uint64, err error) {
	if err := l.sql.Row(ctx, old, params).Scan(&n); err != nil || n == 0 {
		return 0, err // a mutation without rows would look at every part
	}
	if first != nil {
		if err := first(); err != nil {
			return 0, err
		}
	}
	_, condition, _ := strings.Cut(l.sql.Text(old), "\nWHERE ")
	return n, l.sql.ChangeText(ctx, l.sql.Text(change)+"\nWHERE "+condition, params)
}
