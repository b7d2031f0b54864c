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

// Scope is the part of a ledger that a query reads.
type Scope string

const (
	// scopeTurn is the required parameters of a query: a turn, an item, two calls.
	scopeTurn Scope = "turn"
	// scopeSession is one session, without its tenant.
	scopeSession Scope = "session"
	// scopeTenant is one tenant, limited to its last 30 days if the query has a parameter for
	// days.
	scopeTenant Scope = "tenant 30 days"
	// scopeAll is the whole ledger.
	scopeAll Scope = "everything"
)

func (s Scope) narrow() bool { return s == scopeTurn || s == scopeSession }

// questions are the repeated queries of one figure.
type questions struct {
	name    string // name of the query or of the command
	scope   Scope
	bar     time.Duration
	samples [][]asked // queries that run one after another
	problem error     // the reason if there are no samples
}

// asked is a query with its arguments, or the queries of a command.
type asked struct {
	query     queries.Query
	arguments map[string]string
	command   func(ctx context.Context, l *ledger.Ledger) (rows int, err error)
}

// drawn holds the arguments of the queries. The same tables give the same arguments.
type drawn struct {
	tenants []string // the first is the largest
	turns   []turn
}

// turn is a turn of a session, with a call and an item.
type turn struct{ tenant, session, turn, otherTurn, call, item string }

// mostTenants is the number of drawn tenants: the largest, one in the middle and the smallest.
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
		err = errors.New("the ledger has no model call: seed it with `ctxledger bench seed`")
	}
	return d, err
}

// questions returns the questions of one query, in each of its scopes.
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
			add(scopeAll, arguments, problem) // the query reads all sessions
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

// required sets the required parameters of a query from each turn.
func (d drawn) required(parameters []queries.Parameter) (arguments []map[string]string, problem error) {
	for _, t := range d.turns {
		one := make(map[string]string)
		for _, p := range parameters {
			value, ok := t.value(p)
			if !ok {
				return nil, fmt.Errorf("the ledger has no value for the parameter %s", p.Name)
			}
			one[p.Name] = value
		}
		arguments = append(arguments, one)
	}
	return arguments, nil
}

// value returns the value of a parameter by the parameter's name. A second turn in a query is
// another turn of the session.
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

// commands are the commands about a turn of a session. Each function runs a command and returns
// the number of rows of the answer.
var commands = []struct {
	name    string
	windows int // number of windows that the command shows: the time limit is for each window
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

// commands returns the questions of the selected commands.
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

// The commands find the tenant of a session, because they get only the session.

func (t turn) askWindow(ctx context.Context, l *ledger.Ledger) (int, error) {
	blocks, _, err := answer.Window(ctx, l, map[string]string{"session_id": t.session, "turn_id": t.turn})
	return len(blocks), err
}

func (t turn) askWay(ctx context.Context, l *ledger.Ledger) (int, error) {
	steps, err := answer.Way(ctx, l, map[string]string{"session_id": t.session, "turn_id": t.turn, "item_id": t.item})
	return len(steps), err
}

// askBoth reads two windows, as a comparison does.
func (t turn) askBoth(ctx context.Context, l *ledger.Ledger) (int, error) {
	first, err := t.askWindow(ctx, l)
	if err != nil {
		return 0, err
	}
	t.turn = t.otherTurn
	second, err := t.askWindow(ctx, l)
	return first + second, err
}
