package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// toldCall is a record of a call of a session whose log was imported in slices.
type toldCall struct {
	toldSession
	telling.Call
	recorded time.Time
}

// cutCalls returns a row for each record of a call that another slice of its log tells, see
// [telling.Elsewhere]. Sessions without slices have none and are not read.
func cutCalls(ctx context.Context, l *Ledger, all []toldSource, retold []retoldRow) (rows []retoldRow, err error) {
	sliced := make(map[toldSession]bool)
	var tenants, sessions []string
	for _, t := range all {
		if told, _ := telling.Parse(t.source); told.IsSlice() && !sliced[t.toldSession] {
			sliced[t.toldSession] = true
			tenants, sessions = append(tenants, t.tenant), append(sessions, t.session)
		}
	}
	if len(sliced) == 0 {
		return nil, nil
	}
	calls := make(map[toldSession][]toldCall)
	var order []toldSession
	for row := range l.sql.Rows(ctx, "cut_calls", chsql.Params{"tenants": chsql.Texts(tenants), "sessions": chsql.Texts(sessions)}) {
		var c toldCall
		if err := row.Scan(&c.tenant, &c.session, &c.Source, &c.ID, &c.At, &c.recorded, &c.Total, &c.Known, &c.Begun, &c.Output, &c.Bare); err != nil {
			return nil, fmt.Errorf("look for calls that slices of a log share: %w", err)
		}
		c.Retold = slices.ContainsFunc(retold, func(r retoldRow) bool {
			return r.Tenant == c.tenant && r.Session == c.session && r.Source == c.Source
		})
		if calls[c.toldSession] == nil {
			order = append(order, c.toldSession)
		}
		calls[c.toldSession] = append(calls[c.toldSession], c)
	}
	for _, session := range order {
		rows = append(rows, elsewhere(calls[session])...)
	}
	return rows, nil
}

func elsewhere(calls []toldCall) (rows []retoldRow) {
	told := make([]telling.Call, len(calls))
	for i, c := range calls {
		told[i] = c.Call
	}
	for i, other := range telling.Elsewhere(told) {
		if other < 0 {
			continue
		}
		row := retoldRow{
			Tenant: calls[i].tenant, Session: calls[i].session, Source: calls[i].Source + "#" + calls[i].ID,
			Since: calls[other].recorded,
		}
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows
}
