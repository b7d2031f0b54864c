package turn

import (
	"slices"

	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/schema"
)

// told is the source of a row, with its tenant.
type told struct {
	Tenant string `ch:"tenant"`
	Source string `ch:"source"`
}

func (t told) teller() told { return t }

// tellings are the sources of imported facts of the session that another source tells better, as
// the view retold has them.
type tellings []told

// of is the sources of the tenant as the value of a parameter, and of all tenants for "". It is ""
// for none.
func (t tellings) of(tenant string) string {
	var sources []string
	for _, one := range t {
		if tenant == "" || schema.TenantOf(one.Tenant) == schema.TenantOf(tenant) {
			sources = append(sources, one.Source)
		}
	}
	if len(sources) == 0 {
		return ""
	}
	return chsql.Texts(sources).String()
}

// without returns the rows of the sources that count.
func without[T interface{ teller() told }](t tellings, rows []T) []T {
	if len(t) == 0 {
		return rows
	}
	return slices.DeleteFunc(rows, func(row T) bool { return slices.Contains(t, row.teller()) })
}

// elsewhere reports whether another slice of the log, or the whole log, tells the call of a record.
func (t tellings) elsewhere(u callRow) bool {
	return slices.Contains(t, told{u.Tenant, u.Source + "#" + u.Call})
}

// calls returns the records whose call no other log tells, and those of the named call.
func (t tellings) calls(usage []callRow, named string) []callRow {
	if len(t) > 0 {
		usage = slices.DeleteFunc(usage, func(u callRow) bool { return u.Call != named && t.elsewhere(u) })
	}
	for i := range usage {
		usage[i].rank = t.rank(usage[i])
	}
	return usage
}

// rank is the place of a record among the tellings of its call, the best first.
func (t tellings) rank(u callRow) int {
	place := 2 * schema.Fidelity(u.fidelity()).Rank()
	if t.elsewhere(u) {
		place += 100
	}
	if slices.Contains(t, told{u.Tenant, u.Source}) {
		place++
	}
	return place
}
