package site

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
)

// alive is how long after its last fact a session counts as live.
const alive = 2 * time.Minute

// place returns the tenant and the session that the query of an address names.
func place(r *http.Request) source.Place {
	return source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.URL.Query().Get("session")}
}

// session shows the river of a session. Its head needs the row of the session alone.
func (s *site) session(r *http.Request, l *ledger.Ledger) (shown, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.PathValue("session")}
	known, err := source.Known(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	p.Tenant = known.Text("tenant")
	page := view.Page{Title: view.TitleOf(known), Nav: "sessions"}
	if isLive(known) {
		page.Live = with("/events/s/"+url.PathEscape(p.Session), url.Values{"tenant": {p.Tenant}})
	}
	return shown{kind: "session", page: page, rest: func() (any, error) { return sessionPage(r.Context(), l, p, known) }}, nil
}

// sessionPage reads the content of the page of a session.
func sessionPage(ctx context.Context, l *ledger.Ledger, p source.Place, known answer.Row) (view.SessionPage, error) {
	answers, err := source.Answers(ctx, l, known)
	if err != nil {
		return view.SessionPage{}, err
	}
	href := func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) }
	content := view.SessionPage{
		Session: view.Of(answers, "", href), Live: isLive(known),
		Compactions: with("/s/"+url.PathEscape(p.Session)+"/compactions", url.Values{"tenant": {p.Tenant}}),
		Command:     "ctxledger report --session " + ui.ShellQuote(p.Session) + " --out report.html",
	}
	calls := content.River.All()
	if content.Selected > 0 {
		c := calls[content.Selected-1]
		w, err := windowOf(ctx, l, p, c)
		if err != nil {
			return content, err
		}
		v := view.CallOf(c, len(calls), w, false, itemHref(p, c.Turn))
		v.Anchor, v.Selected = "call", true
		walk(&v, calls, href)
		content.Call = &v
	}
	return content, nil
}

func isLive(session answer.Row) bool { return time.Since(session.Moment("ended_at")) < alive }

// windowOf reads the window of a call. A call without a recorded window has an empty one.
func windowOf(ctx context.Context, l *ledger.Ledger, p source.Place, c river.Call) (windowview.Window, error) {
	arguments := map[string]string{"session_id": p.Session, "turn_id": c.Turn, "call_id": c.Call, "tenant": p.Tenant, "attempt_id": c.Attempt}
	w, _, err := answer.Window(ctx, l, arguments)
	w.Session, w.Turn, w.Call = p.Session, c.Turn, c.Call
	return w, err
}

func itemHref(p source.Place, turn string) func(string) string {
	return func(item string) string {
		return with("/i/"+url.PathEscape(item), url.Values{"tenant": {p.Tenant}, "session": {p.Session}, "turn": {turn}})
	}
}

// walk links a call with its neighbours.
func walk(v *view.Call, calls []river.Call, href func(river.Call) string) {
	if i := v.Number - 1; i > 0 {
		v.Prev = href(calls[i-1])
	}
	if v.Number < len(calls) {
		v.Next = href(calls[v.Number])
	}
}

// turn goes to the last call of a turn.
func (s *site) turn(r *http.Request, l *ledger.Ledger) (shown, error) {
	id, p := r.PathValue("turn"), place(r)
	if p.Session == "" {
		places, err := source.Turn(r.Context(), l, p.Tenant, id)
		if err != nil {
			return shown{}, err
		}
		if len(places) > 1 {
			return shown{}, &source.AmbiguousError{Kind: "turn", ID: id, Places: places}
		}
		p = places[0]
	}
	calls, err := callsOf(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	for _, c := range slices.Backward(calls) {
		if c.Turn == id {
			return shown{redirect: callHref(p.Tenant, p.Session, c.Turn, c.Call)}, nil
		}
	}
	return shown{}, &source.UnknownError{Kind: "turn", ID: id}
}

// callsOf returns the drawn calls of a session.
func callsOf(ctx context.Context, l *ledger.Ledger, p source.Place) ([]river.Call, error) {
	answers, err := source.Calls(ctx, l, p)
	return river.Of(answers).All(), err
}

// call shows the whole window of a call.
func (s *site) call(r *http.Request, l *ledger.Ledger) (shown, error) {
	id, turn, p := r.PathValue("call"), r.URL.Query().Get("turn"), place(r)
	if p.Session == "" {
		places, err := source.Call(r.Context(), l, p.Tenant, id)
		if err != nil {
			return shown{}, err
		}
		if len(places) > 1 {
			return shown{}, &source.AmbiguousError{Kind: "call", ID: id, Places: places}
		}
		p = places[0]
	}
	calls, err := callsOf(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	i := slices.IndexFunc(calls, func(c river.Call) bool { return c.Call == id && (turn == "" || c.Turn == turn) })
	if i < 0 {
		return shown{}, &source.UnknownError{Kind: "call", ID: id}
	}
	c := calls[i]
	w, err := windowOf(r.Context(), l, p, c)
	if err != nil {
		return shown{}, err
	}
	v := view.CallOf(c, len(calls), w, true, itemHref(p, c.Turn))
	v.Anchor = "call"
	walk(&v, calls, func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) })
	content := view.WindowPage{Call: v, Session: hrefOf("session", p.Session, p.Tenant, "")}
	if w.Previous != "" {
		content.Diff = with("/diff", url.Values{"tenant": {p.Tenant}, "session": {p.Session}, "before": {w.PreviousTurn, w.Previous}, "after": {c.Turn, c.Call}})
	}
	return shown{kind: "window", page: view.Page{Title: "Window of call " + id, Nav: "sessions", Content: content}}, nil
}

// item shows the history of an item.
func (s *site) item(r *http.Request, l *ledger.Ledger) (shown, error) {
	id, p := r.PathValue("item"), place(r)
	if p.Session == "" {
		return shown{}, &source.UnknownError{Kind: "item", ID: id + " without a session in the address"}
	}
	h, err := source.History(r.Context(), l, p, r.URL.Query().Get("turn"), id)
	if err != nil {
		return shown{}, err
	}
	content := view.ItemPage{Name: cmp.Or(h.Title, h.Item), Item: h, Session: hrefOf("session", p.Session, p.Tenant, "")}
	return shown{kind: "item", page: view.Page{Title: content.Name, Nav: "sessions", Content: content}}, nil
}

var errTwoWindows = errors.New("which windows? the address needs session, and before and after, each with a turn and a call")

// difference compares two windows of a session. before and after are each a turn and a call.
func (s *site) difference(r *http.Request, l *ledger.Ledger) (shown, error) {
	q, p := r.URL.Query(), place(r)
	before, after := q["before"], q["after"]
	if p.Session == "" || len(before) != 2 || len(after) != 2 {
		return shown{}, &wrongRequest{errTwoWindows}
	}
	var windows [2]windowview.Window
	for i, id := range [][]string{before, after} {
		w, found, err := answer.Window(r.Context(), l, map[string]string{"tenant": p.Tenant, "session_id": p.Session, "turn_id": id[0], "call_id": id[1]})
		if err != nil {
			return shown{}, err
		}
		if !found {
			return shown{}, &source.UnknownError{Kind: "call", ID: id[1]}
		}
		windows[i] = w
	}
	content := view.Difference(windowview.Compare(windows[0], windows[1]))
	content.Before, content.After = callHref(p.Tenant, p.Session, before[0], before[1]), callHref(p.Tenant, p.Session, after[0], after[1])
	content.Session = hrefOf("session", p.Session, p.Tenant, "")
	return shown{kind: "difference", page: view.Page{Title: "What changed", Nav: "sessions", Content: content}}, nil
}

// wrongRequest is an address that lacks something.
type wrongRequest struct{ error }

func (e *wrongRequest) Unwrap() error { return e.error }
