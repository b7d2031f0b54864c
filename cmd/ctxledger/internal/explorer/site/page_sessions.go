package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
)

// firstSessions is how many sessions the list shows at first.
const firstSessions = 50

// sessions lists the newest sessions.
func (s *site) sessions(r *http.Request, l *ledger.Ledger) (shown, error) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 2000 {
		limit = firstSessions
	}
	arguments := map[string]string{"limit": strconv.Itoa(limit)}
	for _, name := range []string{"tenant", "agent", "model", "day"} {
		if value := q.Get(name); value != "" {
			arguments[name] = value
		}
	}
	if text := q.Get("after"); text != "" {
		c, err := parseCursor(text)
		if err != nil {
			return shown{}, err
		}
		c.addTo(arguments)
	}
	rows, err := answer.Ask(r.Context(), l, "sessions", arguments)
	if err != nil {
		return shown{}, err
	}
	peaks, err := peaksOf(r.Context(), l, q.Get("tenant"), rows)
	if err != nil {
		return shown{}, err
	}
	content := view.SessionsPage{Empty: "No session is recorded yet", Agent: q.Get("agent"), Model: q.Get("model"), Day: q.Get("day")}
	for _, row := range rows {
		content.Agents = append(content.Agents, row.Texts("agents")...)
		content.Models = append(content.Models, row.Texts("models")...)
		id, tenant := row.Text("session_id"), row.Text("tenant")
		listed := view.SessionRow{
			Row: row, ID: id, Href: hrefOf("session", id, tenant, ""), Read: view.ReadShare(row), Live: isLive(row),
			Agents: ui.Shorten(strings.Join(row.Texts("agents"), ", "), 40), Models: ui.Shorten(strings.Join(row.Texts("models"), ", "), 60),
		}
		listed.AddPeak(peaks[source.Place{Tenant: tenant, Session: id}])
		content.Rows = append(content.Rows, listed)
	}
	if content.Agent != "" {
		content.Agents = append(content.Agents, content.Agent)
	}
	if content.Model != "" {
		content.Models = append(content.Models, content.Model)
	}
	slices.Sort(content.Agents)
	slices.Sort(content.Models)
	content.Agents, content.Models = slices.Compact(content.Agents), slices.Compact(content.Models)
	content.Sub = fmt.Sprintf("%s, newest first", ui.Plural(len(rows), "session"))
	if len(rows) == 0 && len(q) > 0 {
		content.Empty = "No session fits the filter"
	}
	if len(rows) == limit {
		last := rows[limit-1]
		q.Set("after", cursor{ended(last.Moment("ended_at")), last.Text("tenant"), last.Text("session_id")}.String())
		content.Next = with("/", q)
	}
	return shown{kind: "sessions", page: view.Page{Title: "Sessions", Nav: "sessions", Content: content}}, nil
}

// nearest offers ids that begin like an unknown one.
func nearest(r *http.Request, l *ledger.Ledger, id string) (shown, error) {
	near, err := source.Near(r.Context(), l, r.URL.Query().Get("tenant"), "", id)
	if err != nil || len(near) == 0 {
		return shown{}, cmp.Or(err, error(&source.UnknownError{Kind: "id", ID: id}))
	}
	content := view.ErrorPage{Heading: "Unknown id", Text: "Nothing is known about the id " + id + "."}
	for _, f := range near {
		content.Links = append(content.Links, view.Link{Href: hrefOf(f.Kind, f.ID, f.Place.Tenant, f.Place.Session), Text: f.ID})
	}
	return shown{kind: "error", status: http.StatusNotFound, page: view.Page{Title: content.Heading, Nav: "sessions", Search: ui.Safe(id), Content: content}}, nil
}

// peaksOf reads the windows of the listed sessions.
func peaksOf(ctx context.Context, l *ledger.Ledger, tenant string, rows []answer.Row) (map[source.Place]answer.Row, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.Text("session_id")
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", err)
	}
	found, err := answer.Ask(ctx, l, "session-peaks", map[string]string{"sessions": string(text), "tenant": tenant})
	peaks := make(map[source.Place]answer.Row)
	for _, row := range found {
		peaks[source.Place{Tenant: row.Text("tenant"), Session: row.Text("session_id")}] = row
	}
	return peaks, err
}

// last goes to the newest session that has a fact after the time "since". Until there is one, the
// page waits.
func (s *site) last(r *http.Request, l *ledger.Ledger) (shown, error) {
	since := time.Time{}
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return shown{}, &wrongRequest{errors.New("since is no time such as 2026-01-31T08:00:00Z")}
		}
	}
	rows, err := answer.Ask(r.Context(), l, "sessions", map[string]string{"limit": "1"})
	if err != nil {
		return shown{}, err
	}
	if len(rows) == 1 && !rows[0].Moment("ended_at").Before(since) {
		return shown{redirect: hrefOf("session", rows[0].Text("session_id"), rows[0].Text("tenant"), "")}, nil
	}
	content := view.ErrorPage{Heading: "No call is recorded yet", Text: "The page shows the session as soon as its first call ends."}
	return shown{kind: "error", page: view.Page{Title: content.Heading, Nav: "sessions", Retry: 2, Content: content}}, nil
}

// search goes to the page of an id. Several ids that begin with the text are choices.
func (s *site) search(r *http.Request, l *ledger.Ledger) (shown, error) {
	id := strings.TrimSpace(r.URL.Query().Get("id"))
	if id == "" {
		return shown{redirect: "/"}, nil
	}
	whole, known, err := source.Exact(r.Context(), l, r.URL.Query().Get("tenant"), id)
	if err != nil {
		return shown{}, err
	}
	if known { // a turn or a call can be in several sessions; its page offers them
		place := whole.Place
		if whole.Kind == "turn" || whole.Kind == "call" {
			place = source.Place{Tenant: r.URL.Query().Get("tenant")}
		}
		return shown{redirect: hrefOf(whole.Kind, whole.ID, place.Tenant, place.Session)}, nil
	}
	found, err := source.Find(r.Context(), l, r.URL.Query().Get("tenant"), "", id, 10)
	if err != nil {
		return shown{}, err
	}
	switch len(found) {
	case 0:
		places, err := source.Item(r.Context(), l, r.URL.Query().Get("tenant"), id)
		if err != nil || len(places) > 0 {
			return shown{redirect: hrefOf("item", id, r.URL.Query().Get("tenant"), "")}, err
		}
		return nearest(r, l, id)
	case 1:
		return shown{redirect: hrefOf(found[0].Kind, found[0].ID, found[0].Place.Tenant, found[0].Place.Session)}, nil
	}
	content := view.LinksPage{Heading: "Several ids fit", Sub: "they begin with " + id}
	for _, f := range found {
		content.Links = append(content.Links, view.Link{Href: hrefOf(f.Kind, f.ID, f.Place.Tenant, f.Place.Session), Text: f.ID, Note: f.Kind + " of session " + f.Place.Session})
	}
	return shown{kind: "choices", page: view.Page{Title: content.Heading, Nav: "sessions", Search: ui.Safe(id), Content: content}}, nil
}
