package source

import (
	"context"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

// Found is a runtime id with the newest session that has it.
type Found struct {
	Kind  string // session, turn, call, run, task, attempt or thread
	ID    string
	Place Place
}

var kinds = map[read.IDColumn]string{
	read.SessionID: "session", read.TurnID: "turn", read.CallID: "call", read.RunID: "run", read.TaskID: "task", read.AttemptID: "attempt", read.ThreadID: "thread",
}

// Find returns the ids that begin with a text, sessions first, at most limit of each kind. Without
// kinds it searches all of them.
func Find(ctx context.Context, l *ledger.Ledger, tenant, session, text string, limit int, only ...read.IDColumn) (list []Found, err error) {
	if len(only) == 0 {
		only = read.IDColumns
	}
	found := make([][]read.NamedID, len(only))
	g, ctx := errgroup.WithContext(ctx)
	for i, column := range only {
		g.Go(func() (err error) {
			found[i], err = answer.IDs(ctx, l, column, text, tenant, session, limit)
			return err
		})
	}
	err = g.Wait()
	for i, ids := range found {
		for _, id := range ids {
			list = append(list, Found{kinds[only[i]], id.ID, Place{id.Tenant, id.Session}})
		}
	}
	return list, err
}

// Exact returns the first kind of an id that is whole, with its newest session. Sessions, turns and
// calls come first: an index finds them. found is false for the beginning of an id.
func Exact(ctx context.Context, l *ledger.Ledger, tenant, id string) (f Found, found bool, err error) {
	for _, columns := range [][]read.IDColumn{{read.SessionID, read.TurnID, read.CallID}, {read.RunID, read.TaskID, read.AttemptID, read.ThreadID}} {
		places := make([]*read.NamedID, len(columns))
		g, ctx := errgroup.WithContext(ctx)
		for i, column := range columns {
			g.Go(func() error {
				place, known, err := answer.ID(ctx, l, column, id, tenant)
				if known {
					places[i] = &place
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return f, false, err
		}
		for i, place := range places {
			if place != nil {
				return Found{kinds[columns[i]], id, Place{place.Tenant, place.Session}}, true, nil
			}
		}
	}
	return f, false, nil
}

// Turn returns the sessions with a turn. An unknown turn is an [UnknownError].
func Turn(ctx context.Context, l *ledger.Ledger, tenant, turn string) ([]Place, error) {
	arguments := map[string]string{"turn_id": turn}
	if tenant != "" {
		arguments["tenant"] = tenant
	}
	rows, err := answer.Ask(ctx, l, "turn-sessions", arguments)
	if err != nil {
		return nil, err
	}
	var list []Place
	for _, row := range rows {
		list = append(list, Place{row.Text("tenant"), row.Text("session_id")})
	}
	if len(list) > 0 {
		return list, nil
	}
	unknown := &UnknownError{Kind: "turn", ID: turn}
	near, err := answer.Ask(ctx, l, "window-turns", map[string]string{"turn_id": turn, "tenant": tenant})
	for _, row := range near[:min(3, len(near))] {
		unknown.Near = append(unknown.Near, row.Text("turn_id"))
	}
	if err != nil {
		return nil, err
	}
	return nil, unknown
}

// Near returns ids that begin like a text without a match, the ones with the longest common
// beginning.
func Near(ctx context.Context, l *ledger.Ledger, tenant, session, text string, only ...read.IDColumn) (list []Found, err error) {
	text = strings.ToValidUTF8(text, "")
	for letters := []rune(text); len(letters) > 3 && len(list) == 0; {
		letters = letters[:max(3, len(letters)*2/3)]
		if list, err = Find(ctx, l, tenant, session, string(letters), 3, only...); err != nil {
			return nil, err
		}
	}
	return list[:min(3, len(list))], nil
}

// Call returns the sessions with a call. An unknown call is an [UnknownError].
func Call(ctx context.Context, l *ledger.Ledger, tenant, call string) ([]Place, error) {
	found, err := Find(ctx, l, tenant, "", call, 20, read.CallID)
	if err != nil {
		return nil, err
	}
	unknown := &UnknownError{Kind: "call", ID: call}
	var list []Place
	for _, f := range found {
		if f.ID == call {
			list = append(list, f.Place)
		} else if len(unknown.Near) < 3 {
			unknown.Near = append(unknown.Near, f.ID)
		}
	}
	if len(list) == 0 {
		return nil, unknown.withNear(ctx, l, tenant, "")
	}
	return list, nil
}

// UnknownCall is the error about a call that a session does not have.
func UnknownCall(ctx context.Context, l *ledger.Ledger, p Place, call string) error {
	return (&UnknownError{Kind: "call", ID: call}).withNear(ctx, l, p.Tenant, p.Session)
}

// withNear adds similar calls, if there are none yet.
func (e *UnknownError) withNear(ctx context.Context, l *ledger.Ledger, tenant, session string) error {
	if len(e.Near) > 0 {
		return e
	}
	near, err := Near(ctx, l, tenant, session, e.ID, read.CallID)
	if err != nil {
		return err
	}
	for _, f := range near {
		e.Near = append(e.Near, f.ID)
	}
	return e
}

// Item returns the sessions with an item, none if it is unknown.
func Item(ctx context.Context, l *ledger.Ledger, tenant, item string) (list []Place, err error) {
	arguments := map[string]string{"item_id": item, "limit": "20"}
	if tenant != "" {
		arguments["tenant"] = tenant
	}
	rows, err := answer.Ask(ctx, l, "item-sessions", arguments)
	for _, row := range rows {
		list = append(list, Place{row.Text("tenant"), row.Text("session_id")})
	}
	return list, err
}

// ReadText reads a text that is not in its fact, such as [storedtext.Reader.Read].
type ReadText func(ctx context.Context, l *ledger.Ledger, tenant string, ref schema.Ref) (string, error)

// Text returns the stored text of an item as its last fact has it, empty if none is stored. A text that is
// not in the fact is read by outside, if that is not nil; its error is part of the text.
func Text(ctx context.Context, l *ledger.Ledger, p Place, item string, outside ReadText) (text string, err error) {
	if l, err = answer.Of(ctx, l, p.Session); err != nil {
		return "", err
	}
	places, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: p.Tenant, Session: p.Session}, 1)
	if err != nil || len(places) == 0 {
		return "", err
	}
	facts, err := read.Of(l).Contents(ctx, places[0].Tenant, p.Session, "", []string{item})
	var ref schema.Ref
	for _, fact := range facts {
		var of *schema.Item
		switch f := fact.(type) {
		case *schema.ItemAdded:
			of = &f.Item
		case *schema.ItemUpdated:
			of = &f.Item
		default:
			continue
		}
		if of.ItemID != item {
			continue
		}
		if stored, isText := of.Content.(string); isText {
			text, ref = stored, ""
		} else if of.ContentRef.TextDigest() != "" {
			text, ref = "", of.ContentRef
		}
	}
	if err != nil || ref == "" || outside == nil {
		return text, err
	}
	if text, err = outside(ctx, l, places[0].Tenant, ref); err != nil && ctx.Err() == nil {
		return "(not shown: " + err.Error() + ")", nil
	}
	return text, err
}

// History reads the history of an item, as seen from a turn. An unknown item is an
// [UnknownError].
func History(ctx context.Context, l *ledger.Ledger, p Place, turn, item string) (history.Item, error) {
	h := history.Item{Session: p.Session, Turn: turn, Item: item}
	if turn == "" {
		newest, at, err := answer.NewestTurn(ctx, l, p.Tenant, p.Session)
		if err != nil {
			return h, err
		}
		if !at.IsZero() {
			h.Turn = newest.ID
		}
	}
	steps, err := answer.Steps(ctx, l, p.arguments("turn_id", h.Turn, "item_id", item))
	if err != nil {
		return h, err
	}
	if len(steps) == 0 {
		unknown := &UnknownError{Kind: "item", ID: item}
		near, err := answer.Ask(ctx, l, "why-items", p.arguments("item_id", strings.TrimSpace(item)))
		if err != nil {
			return h, err
		}
		for _, row := range near[:min(3, len(near))] {
			unknown.Near = append(unknown.Near, row.Text("item_ref"))
		}
		return h, unknown
	}
	if h.Turn == "" {
		h.Turn = steps[len(steps)-1].Turn
	}
	if h.Ended, err = turnEnded(ctx, l, p, h.Turn); err != nil {
		return h, err
	}
	h.Steps = steps
	h.Settle()
	h.Title, h.Answer = history.Named(h.Steps), h.Reply(ui.Thousands)
	return h, nil
}

// turnEnded returns the time of the last fact of a turn, zero without a turn.
func turnEnded(ctx context.Context, l *ledger.Ledger, p Place, turn string) (ended time.Time, err error) {
	if turn == "" {
		return ended, nil
	}
	facts, err := answer.Ask(ctx, l, "window-facts", p.arguments("turn_id", turn))
	for _, row := range facts {
		if at := row.Moment("last_at"); at.After(ended) {
			ended = at
		}
	}
	return ended, err
}
