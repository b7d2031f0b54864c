package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
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
	calls, err := toldCalls(ctx, l, tenants, sessions)
	for _, session := range calls {
		for i := range session {
			c := &session[i]
			c.Retold = slices.ContainsFunc(retold, func(r retoldRow) bool {
				return r.Tenant == c.tenant && r.Session == c.session && r.Source == c.Source
			})
		}
		for i, other := range elsewhere(session) {
			if other < 0 {
				continue
			}
			c := session[i]
			row := retoldRow{Tenant: c.tenant, Session: c.session, Source: c.Source + "#" + c.ID, Since: session[other].recorded}
			if !slices.Contains(rows, row) {
				rows = append(rows, row)
			}
		}
	}
	return rows, err
}

// toldCalls returns the records of calls that importers made, session by session.
func toldCalls(ctx context.Context, l *Ledger, tenants, sessions []string) (calls [][]toldCall, err error) {
	for row := range l.sql.Rows(ctx, "cut_calls", chsql.Params{"tenants": chsql.Texts(tenants), "sessions": chsql.Texts(sessions)}) {
		var c toldCall
		if err := row.Scan(&c.tenant, &c.session, &c.Source, &c.ID, &c.At, &c.recorded, &c.Total, &c.Known, &c.Begun, &c.Output, &c.Bare); err != nil {
			return nil, fmt.Errorf("look for calls that slices of a log share: %w", err)
		}
		last := len(calls) - 1
		if last < 0 || calls[last][0].toldSession != c.toldSession {
			calls = append(calls, nil)
			last++
		}
		calls[last] = append(calls[last], c)
	}
	return calls, nil
}

func elsewhere(calls []toldCall) []int {
	told := make([]telling.Call, len(calls))
	for i, c := range calls {
		told[i] = c.Call
	}
	return telling.Elsewhere(told)
}

// CutCall is a record of a call that does not count, and the record that counts.
type CutCall struct{ Source, ID, By, ByID string }

// CutCalls returns the records of a session's calls that do not count. Another slice of the log, or the
// whole log, tells these calls, too. No record of the sources in retold counts.
func CutCalls(ctx context.Context, l *Ledger, tenant, session string, retold []string) (cut []CutCall, err error) {
	tenants, sessions := []string{tenant}, []string{session}
	if tenant == schema.DefaultTenant {
		tenants, sessions = append(tenants, ""), append(sessions, session)
	}
	all, err := toldCalls(ctx, l, tenants, sessions)
	for _, calls := range all {
		if !slices.ContainsFunc(calls, func(c toldCall) bool { told, _ := telling.Parse(c.Source); return told.IsSlice() }) {
			continue
		}
		for i := range calls {
			calls[i].Retold = slices.Contains(retold, calls[i].Source)
		}
		instead := elsewhere(calls)
		for i, other := range instead {
			if other < 0 {
				continue
			}
			for n := 0; instead[other] >= 0 && n < len(calls); n++ { // another record tells that one, too
				other = instead[other]
			}
			c := CutCall{calls[i].Source, calls[i].ID, calls[other].Source, calls[other].ID}
			if !slices.Contains(cut, c) {
				cut = append(cut, c)
			}
		}
	}
	return cut, err
}
