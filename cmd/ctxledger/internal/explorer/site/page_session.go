package site

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
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
	own, err := answer.Of(r.Context(), l, p.Session)
	if err != nil {
		return shown{}, err
	}
	events, err := read.Of(own).EventRows(r.Context(), p.Tenant, p.Session) // first: the page has at least these
	if err != nil {
		return shown{}, err
	}
	known := sync.OnceValues(func() (answer.Row, error) {
		ctx, cancel := alone(r.Context())
		defer cancel()
		return source.Known(ctx, l, p)
	})
	rest := s.shared.page(r.Context(), l, p, events, known, rangeOf(r))
	row, err := known()
	if err != nil {
		return shown{}, err
	}
	page := view.Page{Title: view.TitleOf(row), Nav: "sessions"}
	if isLive(row) {
		page.Live = with("/events/s/"+url.PathEscape(p.Session), url.Values{"tenant": {row.Text("tenant")}, "events": {strconv.FormatUint(events, 10)}})
	}
	return shown{kind: "session", page: page, rest: rest}, nil
}

// rangeOf returns the calls that an address asks for.
func rangeOf(r *http.Request) view.Range {
	var within view.Range
	for name, n := range map[string]*int{"from": &within.From, "to": &within.To} {
		*n, _ = strconv.Atoi(r.URL.Query().Get(name)) // a text that is no number is no limit
	}
	return within
}

// calls compares two calls of a session, by their numbers, or goes to the charts of the calls between
// them.
func (s *site) calls(r *http.Request, l *ledger.Ledger) (shown, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.PathValue("session")}
	within := rangeOf(r)
	if within.From > within.To {
		within.From, within.To = within.To, within.From
	}
	if r.URL.Query().Get("do") == "zoom" {
		q := url.Values{"from": {strconv.Itoa(within.From)}, "to": {strconv.Itoa(within.To)}}
		if p.Tenant != "" {
			q.Set("tenant", p.Tenant)
		}
		return shown{redirect: with("/s/"+url.PathEscape(p.Session), q)}, nil
	}
	known, err := source.Known(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	p.Tenant = known.Text("tenant")
	calls, err := callsOf(r.Context(), l, p)
	if err != nil {
		return shown{}, err
	}
	if within.From < 1 || within.To > len(calls) {
		return shown{}, &wrongRequest{fmt.Errorf("the session has the calls 1 to %d: give two of them", len(calls))}
	}
	return shown{redirect: diffHref(p, calls[within.From-1], calls[within.To-1])}, nil
}

func diffHref(p source.Place, before, after river.Call) string {
	return with("/diff", url.Values{"tenant": {p.Tenant}, "session": {p.Session}, "before": {before.Turn, before.Call}, "after": {after.Turn, after.Call}})
}

// sessionPage reads the content of the page of a session. known has the results of [source.Known].
func sessionPage(ctx context.Context, l *ledger.Ledger, p source.Place, known func() (answer.Row, error), within view.Range) (view.SessionPage, error) {
	answers, err := source.Answers(ctx, l, p, known)
	if err != nil {
		return view.SessionPage{}, err
	}
	p.Tenant = answers.Session.Text("tenant")
	href := func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) }
	content := view.SessionPage{
		Session: view.Of(answers, "", within, href), Live: isLive(answers.Session),
		Compactions: with("/s/"+url.PathEscape(p.Session)+"/compactions", url.Values{"tenant": {p.Tenant}}),
		Command:     "ctxledger report --session " + ui.ShellQuote(p.Session) + " --out report.html",
	}
	content.Compare = "/s/" + url.PathEscape(p.Session) + "/calls"
	content.All = hrefOf("session", p.Session, p.Tenant, "")
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
		return shown{}, source.UnknownCall(r.Context(), l, p, id)
	}
	c := calls[i]
	w, err := windowOf(r.Context(), l, p, c)
	if err != nil {
		return shown{}, err
	}
	v := view.CallOf(c, len(calls), w, true, itemHref(p, c.Turn))
	v.Anchor = "call"
	walk(&v, calls, func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) })
	if w.OmittedItems > 0 {
		if err := addLeft(r.Context(), l, p, &v); err != nil {
			return shown{}, err
		}
	}
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
		switch places, err := source.Item(r.Context(), l, p.Tenant, id); {
		case err != nil:
			return shown{}, err
		case len(places) == 0:
			return shown{}, &source.UnknownError{Kind: "item", ID: id}
		case len(places) > 1:
			return shown{}, &source.AmbiguousError{Kind: "item", ID: id, Places: places}
		default:
			p = places[0]
		}
	}
	var h history.Item
	var calls []river.Call
	var text string
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(func() (err error) {
		h, err = source.History(ctx, l, p, r.URL.Query().Get("turn"), id)
		return err
	})
	g.Go(func() (err error) {
		calls, err = callsOf(ctx, l, p)
		return err
	})
	g.Go(func() (err error) {
		text, err = source.Text(ctx, l, p, id, s.Texts)
		return err
	})
	if err := g.Wait(); err != nil {
		return shown{}, err
	}
	drawn := make(map[[2]string]bool)
	for _, c := range calls {
		drawn[[2]string{c.Turn, c.Call}] = true
	}
	content := view.ItemOf(h, func(turn, call string) string {
		if !drawn[[2]string{turn, call}] {
			return ""
		}
		return callHref(p.Tenant, p.Session, turn, call)
	})
	var err error
	content.Text, content.Cut = view.Stored(text)
	content.Session = hrefOf("session", p.Session, p.Tenant, "")
	if content.Proof, err = prove(r.Context(), l, s.Keys, p, content); err != nil {
		return shown{}, err
	}
	return shown{kind: "item", page: view.Page{Title: content.Name, Nav: "sessions", Content: content}}, nil
}

// prove looks up the steps of an item in the log. The text says which head covers them, or why none
// was looked up.
func prove(ctx context.Context, l *ledger.Ledger, keys func() (note.Verifiers, error), p source.Place, content view.ItemPage) (string, error) {
	if keys == nil {
		return noKey, nil
	}
	known, err := keys()
	if errors.Is(err, keyfile.ErrNoRing) {
		return noKey, nil
	}
	if err != nil {
		return "", err
	}
	steps := make([]history.Step, len(content.Steps))
	for i, step := range content.Steps {
		steps[i] = step.Step
	}
	err = answer.Prove(ctx, l, read.Scope{Tenant: p.Tenant, Session: p.Session}, steps, known)
	if errors.Is(err, answer.ErrHead) {
		return err.Error(), nil
	}
	for i := range steps {
		content.Steps[i].Proof = steps[i].Proof
	}
	return "", err
}

const noKey = "the server has no public key of the log, so this page proves no step"

// mostLeft is how many candidates that were left out a page lists.
const mostLeft = 50

// addLeft adds the candidates that were left out of the window of a call.
func addLeft(ctx context.Context, l *ledger.Ledger, p source.Place, v *view.Call) error {
	candidates, err := answer.Ask(ctx, l, "candidates", map[string]string{"tenant": p.Tenant, "session_id": p.Session, "turn_id": v.Turn, "limit": "100000"})
	if err != nil {
		return err
	}
	item := itemHref(p, v.Turn)
	for _, row := range candidates {
		switch id := row.Text("item_ref"); {
		case row.Text("call_id") != v.Call.Call || row.Text("outcome") != "omitted":
		case len(v.Left) == mostLeft:
			v.MoreLeft++
		default:
			v.Left = append(v.Left, view.LeftOut{Item: id, Href: item(id), Tokens: row.Number("tokens"), Reason: row.Text("reason"), Note: row.Text("note")})
		}
	}
	return nil
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
			return shown{}, noWindow(r.Context(), l, p, id)
		}
		windows[i] = w
	}
	content := view.Difference(windowview.Compare(windows[0], windows[1]))
	if err := addBreaks(r.Context(), l, p, before, after, &content); err != nil {
		return shown{}, err
	}
	content.Before, content.After = callHref(p.Tenant, p.Session, before[0], before[1]), callHref(p.Tenant, p.Session, after[0], after[1])
	content.Session = hrefOf("session", p.Session, p.Tenant, "")
	return shown{kind: "difference", page: view.Page{Title: "What changed", Nav: "sessions", Content: content}}, nil
}

// noWindow is the error about a call without a recorded window, or about an unknown call.
func noWindow(ctx context.Context, l *ledger.Ledger, p source.Place, id []string) error {
	calls, err := callsOf(ctx, l, p)
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.Turn == id[0] && c.Call == id[1] {
			return &noWindowError{c.Number}
		}
	}
	return source.UnknownCall(ctx, l, p, id[1])
}

// noWindowError is a call whose bill is known and whose window is not.
type noWindowError struct{ number int }

func (e *noWindowError) Error() string {
	return fmt.Sprintf("call %d has no recorded window: the log begins within the session, or has only the bill of this call; compare another call", e.number)
}

// addBreaks adds the breaks of the cache after the first of two calls, up to the second one, if they are
// of one thread.
func addBreaks(ctx context.Context, l *ledger.Ledger, p source.Place, before, after []string, content *view.DifferencePage) error {
	answers, err := source.Calls(ctx, l, p)
	if err != nil {
		return err
	}
	for _, t := range river.Of(answers).Threads {
		is := func(id []string) func(river.Call) bool {
			return func(c river.Call) bool { return c.Turn == id[0] && c.Call == id[1] }
		}
		from, to := slices.IndexFunc(t.Calls, is(before)), slices.IndexFunc(t.Calls, is(after))
		if from >= 0 && to > from {
			content.AddBreaks(t.Calls[from+1:to+1], func(c river.Call) string { return callHref(p.Tenant, p.Session, c.Turn, c.Call) })
		}
	}
	return nil
}

// wrongRequest is an address that lacks something.
type wrongRequest struct{ error }

func (e *wrongRequest) Unwrap() error { return e.error }
