package privacy

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// Expiry names events whose content leaves the tables.
type Expiry struct {
	// Tenant is the tenant of the events. "" means every tenant except those in Except.
	Tenant string
	Except []string
	// Before is the time of the stream. Older events lose their content.
	Before time.Time
	// Firsts has the first sequence of each stream that has messages. Events with messages keep their
	// content, so that a rebuild gives the same tables.
	Firsts map[uuid.UUID]uint64
}

// parameters returns the parameters of the statements that select by e.
func (e Expiry) parameters() chsql.Params {
	var only, except []string
	if e.Tenant != "" {
		only = ledger.StoredTenants(e.Tenant)
	}
	for _, tenant := range e.Except {
		except = append(except, ledger.StoredTenants(tenant)...)
	}
	var incarnations []string
	var firsts []uint64
	for incarnation, first := range e.Firsts {
		incarnations, firsts = append(incarnations, incarnation.String()), append(firsts, first)
	}
	return chsql.Params{
		"before": chsql.Time(e.Before), "only": chsql.Texts(only), "except": chsql.Texts(except),
		"incarnations": chsql.Texts(incarnations), "firsts": chsql.Numbers(firsts),
	}
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
	for _, of := range []struct {
		count, empty, what string
		done               *uint64
	}{
		{"expirable", "expire", "events", &done.Events},
		{"expirable_refused", "expire_refused", "messages in quarantine", &done.Refused},
	} {
		var n uint64
		if err := l.sql.Row(ctx, of.count, params).Scan(&n); err != nil {
			return done, fmt.Errorf("count the %s with old content: %w", of.what, err)
		}
		if n == 0 {
			continue // a mutation would look at every part
		}
		if err := l.mutate(ctx, of.empty, params); err != nil {
			return done, fmt.Errorf("remove the content of old %s: %w", of.what, err)
		}
		*of.done = n
	}
	return done, nil
}
