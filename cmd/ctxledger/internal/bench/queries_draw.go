package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/ledger"
	answer "github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// Scope is how much of a ledger a query is asked about.
type Scope string

const (
	// scopeTurn is what a query cannot do without: a turn, an item, two calls.
	scopeTurn Scope = "turn"
	// scopeSession is one session, without its tenant.
	scopeSession Scope = "session"
	// scopeTenant is one tenant, of its last 30 days where the query knows days.
	scopeTenant Scope = "tenant 30 days"
	// scopeAll is everything.
	scopeAll Scope = "everything"
)

func (s Scope) narrow() bool { return s == scopeTurn || s == scopeSession }

const (
	barTurn    = 50 * time.Millisecond  // the window of a turn, and why something is not in it
	barSummary = 100 * time.Millisecond // the summary of a session
	barTenant  = time.Second            // of a tenant's 30 days, and what is less
	barAll     = 5 * time.Second
)

// barOf is what a query may take at the 95th percentile: what a person waits for
// while reading a session takes less than what is asked for a report.
func barOf(query string, scope Scope) time.Duration {
	switch {
	case scope == scopeAll:
		return barAll
	case scope == scopeTurn && (query == "window" || query == "why"):
		return barTurn
	case scope == scopeSession && query == "sessions":
		return barSummary
	}
	return barTenant
}

// questions are what is asked, again and again, for one figure.
type questions struct {
	name    string // of the query, or of the command
	scope   Scope
	bar     time.Duration
	samples [][]asked // each the queries that are asked one after another
	problem error     // why there are none
}

// asked is a query with its arguments, or what a command asks.
type asked struct {
	query     queries.Query
	arguments map[string]string
	command   func(ctx context.Context, l *ledger.Ledger) (rows int, err error)
}

// drawn is what queries are asked about. The same tables give the same draw.
type drawn struct {
	tenants []string // the first is the largest
	turns   []turn
}

// turn is a turn of a session, with a call and an item of it.
type turn struct{ tenant, session, turn, otherTurn, call, item string }

// mostTenants are drawn: the largest, one in the middle and the smallest.
const mostTenants = 3

func draw(ctx context.Context, conn driver.Conn, samples int) (d drawn, err error) {
	err = scan(ctx, conn, "queries_tenants", func(rows driver.Rows) error {
		var name string
		err := rows.Scan(&name)
		d.tenants = append(d.tenants, name)
		return err
	})
	if err != nil {
		return d, err
	}
	if n := len(d.tenants); n > mostTenants {
		d.tenants = []string{d.tenants[0], d.tenants[n/2], d.tenants[n-1]}
	}
	limit := withParameters(ctx, clickhouse.Parameters{"samples": fmt.Sprint(samples)})
	err = scan(limit, conn, "queries_turns", func(rows driver.Rows) error {
		var t turn
		err := rows.Scan(&t.tenant, &t.session, &t.turn, &t.otherTurn, &t.call, &t.item)
		d.turns = append(d.turns, t)
		return err
	})
	if err == nil && len(d.turns) == 0 {
		err = errors.New("there is no model call to ask about: seed the ledger with `ctxledger bench seed`")
	}
	return d, err
}

// questions are those of one query, in each scope that it has.
func (d drawn) questions(q queries.Query) (list []questions) {
	has := make(map[string]bool)
	var required []queries.Parameter
	for _, p := range q.Parameters {
		has[p.Name] = true
		if p.Required {
			required = append(required, p)
		}
	}
	add := func(scope Scope, arguments []map[string]string, problem error) {
		one := questions{name: q.Name, scope: scope, bar: barOf(q.Name, scope), problem: problem}
		for _, given := range arguments {
			one.samples = append(one.samples, []asked{{query: q, arguments: given}})
		}
		list = append(list, one)
	}
	if len(required) > 0 {
		arguments, problem := d.required(required)
		switch {
		case !slices.ContainsFunc(required, func(p queries.Parameter) bool { return p.Name == "session_id" }):
			add(scopeAll, arguments, problem) // it looks through all sessions
		case len(required) == 1:
			add(scopeSession, arguments, problem)
		default:
			add(scopeTurn, arguments, problem)
		}
		return list
	}
	if has["session_id"] {
		var arguments []map[string]string
		for _, t := range d.turns {
			arguments = append(arguments, map[string]string{"session_id": t.session})
		}
		add(scopeSession, arguments, nil)
	}
	if has["tenant"] {
		var arguments []map[string]string
		for _, tenant := range d.tenants {
			one := map[string]string{"tenant": tenant}
			if has["days"] {
				one["days"] = "30"
			}
			arguments = append(arguments, one)
		}
		add(scopeTenant, arguments, nil)
	}
	add(scopeAll, []map[string]string{{}}, nil)
	return list
}

// required fills the parameters that a query cannot do without, from each turn.
func (d drawn) required(parameters []queries.Parameter) (arguments []map[string]string, problem error) {
	for _, t := range d.turns {
		one := make(map[string]string)
		for _, p := range parameters {
			value, ok := t.value(p)
			if !ok {
				return nil, fmt.Errorf("there is no value to ask about for the parameter %s", p.Name)
			}
			one[p.Name] = value
		}
		arguments = append(arguments, one)
	}
	return arguments, nil
}

// value is that of a parameter by what its name speaks of. The second turn that a
// query wants is another one of the session.
func (t turn) value(p queries.Parameter) (string, bool) {
	switch name := p.Name; {
	case p.Type != "String":
		return p.Min, true
	case strings.Contains(name, "tenant"):
		return t.tenant, true
	case strings.Contains(name, "session"):
		return t.session, true
	case strings.Contains(name, "item"):
		return t.item, true
	case strings.Contains(name, "call"):
		return t.call, true
	case strings.Contains(name, "turn") && (strings.HasSuffix(name, "_b") || strings.Contains(name, "other")):
		return t.otherTurn, true
	case strings.Contains(name, "turn"):
		return t.turn, true
	case len(p.Choices) > 0:
		return p.Choices[0], true
	}
	return "", false
}

// commands are what a person asks about a turn of a session, and how: they return
// how many rows the answer has.
var commands = []struct {
	name    string
	windows int // how many are shown: the bar is for each
	ask     func(turn, context.Context, *ledger.Ledger) (int, error)
}{
	{"window", 1, turn.askWindow},
	{"why", 1, turn.askWay},
	{"diff", 2, turn.askBoth},
}

func isCommand(name string) bool {
	for _, c := range commands {
		if c.name == name {
			return true
		}
	}
	return false
}

// commands are the questions of the commands that are wanted.
func (d drawn) commands(wanted func(name string) bool) (list []questions) {
	for _, c := range commands {
		if !wanted(c.name) {
			continue
		}
		one := questions{name: "ctxledger " + c.name, scope: scopeTurn, bar: time.Duration(c.windows) * barTurn}
		for _, t := range d.turns {
			one.samples = append(one.samples, []asked{{command: func(ctx context.Context, l *ledger.Ledger) (int, error) { return c.ask(t, ctx, l) }}})
		}
		list = append(list, one)
	}
	return list
}

// The commands find the tenant themselves, as where a person names the session.

func (t turn) askWindow(ctx context.Context, l *ledger.Ledger) (int, error) {
	blocks, _, err := answer.Window(ctx, l, map[string]string{"session_id": t.session, "turn_id": t.turn})
	return len(blocks), err
}

func (t turn) askWay(ctx context.Context, l *ledger.Ledger) (int, error) {
	steps, err := answer.Way(ctx, l, map[string]string{"session_id": t.session, "turn_id": t.turn, "item_id": t.item})
	return len(steps), err
}

// askBoth asks for two windows, as a comparison does.
func (t turn) askBoth(ctx context.Context, l *ledger.Ledger) (int, error) {
	first, err := t.askWindow(ctx, l)
	if err != nil {
		return 0, err
	}
	t.turn = t.otherTurn
	second, err := t.askWindow(ctx, l)
	return first + second, err
}
