package source

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// UnknownError is an id that the ledger does not have. Near holds similar ids.
type UnknownError struct {
	Kind string // session, turn, call or item
	ID   string
	Near []string
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("nothing is known about a %s %q", e.Kind, e.ID)
	if len(e.Near) > 0 {
		return text + ": did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return text + ": `ctxledger query sessions` lists the sessions"
}

// A Place is a session of a tenant. An empty tenant means all tenants.
type Place struct{ Tenant, Session string }

// AmbiguousError is an id that occurs in several places.
type AmbiguousError struct {
	Kind, ID string
	Places   []Place
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("the %s %q occurs in %d sessions: name one of them", e.Kind, e.ID, len(e.Places))
}

// arguments returns the arguments of a query about a session.
func (p Place) arguments(more ...string) map[string]string {
	list := map[string]string{"session_id": p.Session}
	if p.Tenant != "" {
		list["tenant"] = p.Tenant
	}
	for i := 0; i < len(more); i += 2 {
		if more[i+1] != "" {
			list[more[i]] = more[i+1]
		}
	}
	return list
}

// Known returns the row of a session. An unknown session is an [UnknownError]; a session in several
// tenants is an [AmbiguousError].
func Known(ctx context.Context, l *ledger.Ledger, p Place) (answer.Row, error) {
	known, err := answer.Ask(ctx, l, "sessions", p.arguments())
	if err != nil {
		return nil, err
	}
	switch len(known) {
	case 0:
		return nil, unknownSession(ctx, l, p)
	case 1:
		return known[0], nil
	}
	several := &AmbiguousError{Kind: "session", ID: p.Session}
	for _, row := range known {
		several.Places = append(several.Places, Place{row.Text("tenant"), p.Session})
	}
	return nil, several
}

// Session reads what a river is drawn from. It has the errors of [Known].
func Session(ctx context.Context, l *ledger.Ledger, p Place) (river.Answers, error) {
	return Answers(ctx, l, p, func() (answer.Row, error) { return Known(ctx, l, p) })
}

// Answers reads what a river is drawn from. known has the results of [Known], which takes as long as the
// other answers: they are asked at the same time. It has the errors of known.
func Answers(ctx context.Context, l *ledger.Ledger, p Place, known func() (answer.Row, error)) (a river.Answers, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		a.Session, err = known()
		return err
	})
	for name, into := range map[string]*[]answer.Row{
		"river": &a.Calls, "call-layers": &a.Layers, "corrected-windows": &a.Corrected, "compaction-boundaries": &a.Boundaries, "gaps": &a.Gaps, "redactions": &a.Redactions,
	} {
		g.Go(func() (err error) {
			more := []string{}
			if name == "call-layers" {
				more = []string{"limit", "100000"}
			}
			*into, err = answer.Ask(ctx, l, name, p.arguments(more...))
			return err
		})
	}
	return a, g.Wait()
}

// Calls reads what the calls of a session are numbered from. It is empty for an unknown session.
func Calls(ctx context.Context, l *ledger.Ledger, p Place) (a river.Answers, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		a.Calls, err = answer.Ask(ctx, l, "river", p.arguments())
		return err
	})
	g.Go(func() (err error) {
		a.Layers, err = answer.Ask(ctx, l, "call-layers", p.arguments("limit", "100000"))
		return err
	})
	return a, g.Wait()
}

func unknownSession(ctx context.Context, l *ledger.Ledger, p Place) error {
	unknown := &UnknownError{Kind: "session", ID: p.Session}
	for n := min(len(p.Session), 8); n >= 2 && len(unknown.Near) == 0; n -= 3 {
		near, err := answer.IDs(ctx, l, read.SessionID, strings.ToValidUTF8(p.Session[:n], ""), p.Tenant, "", 3)
		if err != nil {
			return err
		}
		for _, id := range near {
			unknown.Near = append(unknown.Near, id.ID)
		}
	}
	return unknown
}

// Windows reads the windows of all calls of a session for the model, by turn, call and attempt.
func Windows(ctx context.Context, l *ledger.Ledger, p Place) (map[WindowKey]windowview.Window, error) {
	rows, err := answer.Ask(ctx, l, "session-windows", p.arguments())
	if err != nil {
		return nil, err
	}
	list := make(map[WindowKey]windowview.Window)
	for _, row := range rows {
		k := WindowKey{row.Text("turn_id"), row.Text("call_id"), row.Text("attempt_id")}
		w := list[k]
		w.Session, w.Turn, w.Call = p.Session, k.Turn, k.Call
		b := windowview.Block{
			Position: row.Count("position"), Layer: row.Text("layer"), Role: row.Text("role"), Title: row.Text("title"),
			Tokens: row.Number("tokens"), Full: row.Number("tokens_full"), Elided: row["elided"] == true, Redaction: row.Text("redaction_state"),
			Items: row.Texts("item_refs"), Name: row.Text("name"), Target: row.Text("target"),
		}
		if b.Name == "" {
			b.Name = row.Text("block")
		}
		w.Blocks = append(w.Blocks, b)
		list[k] = w
	}
	return list, nil
}

// WindowKey names a window of a session.
type WindowKey struct{ Turn, Call, Attempt string }
