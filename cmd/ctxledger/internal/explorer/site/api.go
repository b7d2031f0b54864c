package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// body is the answer to a request of the API, whole.
type body struct {
	contentType string
	text        []byte
	link        string // of the next page; empty for none
}

// endpoint answers a request of the API.
type endpoint func(*http.Request, *ledger.Ledger) (body, error)

// api registers the read API by the table of its routes.
func (s *site) api(mux *http.ServeMux) {
	for _, route := range routes {
		mux.HandleFunc("GET /api/v1"+route.path, s.answer(route.answer))
	}
	mux.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		send(w, r, body{contentType: "application/json", text: document()})
	})
	mux.HandleFunc("GET /api/", func(w http.ResponseWriter, r *http.Request) {
		problem(w, r, http.StatusNotFound, "unknown_path", errors.New("the API has no such path; /api/v1/openapi.json lists the paths"), nil)
	})
}

// answer writes the body of an endpoint, or a problem.
func (s *site) answer(ask endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		ctx, l, err := s.open(ctx)
		r = r.WithContext(ctx)
		var b body
		if err == nil {
			b, err = ask(r, l)
		}
		if err == nil {
			err = answer.Whole(ctx)
		}
		if err != nil {
			status, code, near := problemOf(err)
			if status == http.StatusInternalServerError {
				s.Log.Error("explorer", "path", r.URL.Path, "error", err)
			}
			problem(w, r, status, code, err, near)
			return
		}
		send(w, r, b)
	}
}

// send writes an answer with its ETag, or only that the client's copy is still right.
func send(w http.ResponseWriter, r *http.Request, b body) {
	sum := sha256.Sum256(b.text)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if b.link != "" {
		h.Set("Link", b.link)
	}
	for given := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if given = strings.TrimPrefix(strings.TrimSpace(given), "W/"); given == tag || given == "*" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", b.contentType)
	_, _ = w.Write(b.text) // the client may be gone
}

// Problem is an error as RFC 9457 writes it, with the code of the error and similar ids.
type Problem struct {
	Type   string   `json:"type"`
	Title  string   `json:"title"`
	Status int      `json:"status"`
	Detail string   `json:"detail"`
	Code   string   `json:"code"`
	Near   []string `json:"near,omitempty"`
}

func problem(w http.ResponseWriter, r *http.Request, status int, code string, err error, near []string) {
	text, marshalErr := json.Marshal(Problem{"about:blank", http.StatusText(status), status, err.Error(), code, near}, jsontext.AllowInvalidUTF8(true))
	if marshalErr != nil {
		http.Error(w, "the problem could not be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}

// problemOf returns the status and the code of an error.
func problemOf(err error) (status int, code string, near []string) {
	var unknown *source.UnknownError
	var several *source.AmbiguousError
	var query *queries.UnknownError
	var parameter *queries.ParameterError
	var wrong *wrongRequest
	switch {
	case errors.As(err, &unknown):
		return http.StatusNotFound, "unknown_id", unknown.Near
	case errors.As(err, &query):
		return http.StatusNotFound, "unknown_query", query.Nearest
	case errors.As(err, &several):
		for _, p := range several.Places {
			near = append(near, p.Session)
		}
		return http.StatusConflict, "ambiguous_id", near
	case errors.Is(err, answer.ErrTenant):
		return http.StatusForbidden, "other_tenant", nil
	case errors.As(err, &parameter), errors.As(err, &wrong), errors.Is(err, read.ErrStatement), errors.Is(err, read.ErrReadOnly):
		return http.StatusBadRequest, "wrong_request", nil
	case errors.Is(err, read.ErrNotMigrated):
		return http.StatusServiceUnavailable, "not_migrated", nil
	case errors.Is(err, read.ErrLimit), errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout, "limit", nil
	case isAway(err):
		return http.StatusServiceUnavailable, "unreachable", nil
	}
	return http.StatusInternalServerError, "failed", nil
}

// arguments returns the parameters of a query that the address gives. Another parameter, except for
// the own ones of the path, is an error.
func arguments(r *http.Request, q queries.Query, own ...string) (map[string]string, error) {
	list := make(map[string]string)
	for name, values := range r.URL.Query() {
		if name == "format" || slices.Contains(own, name) || name == "tenant" && answer.IsShared(q) {
			continue
		}
		if len(values) != 1 {
			return nil, &queries.ParameterError{Query: q.Name, Parameter: name, Problem: "give it once"}
		}
		list[name] = values[0]
	}
	for _, name := range []string{"session_id", "turn_id", "call_id", "item_id"} {
		if value := r.PathValue(strings.TrimSuffix(name, "_id")); value != "" {
			list[name] = value
		}
	}
	return list, nil
}

// rowsOf answers with the rows of a named query, as JSON or CSV. They are the bytes that
// `ctxledger query NAME -o json` prints.
func rowsOf(name string) endpoint {
	return func(r *http.Request, l *ledger.Ledger) (body, error) {
		q, err := queries.Get(name)
		if err != nil {
			return body{}, err
		}
		given, err := arguments(r, q)
		if err != nil {
			return body{}, err
		}
		b, _, _, err := writeRows(r, l, q, given)
		return b, err
	}
}

// writeRows returns the rows of a query as JSON or CSV, their number, and the last one.
func writeRows(r *http.Request, l *ledger.Ledger, q queries.Query, given map[string]string) (b body, rows int, last *lastRow, err error) {
	found, err := answer.Rows(r.Context(), l, q, given)
	if err != nil {
		return b, 0, nil, err
	}
	last = &lastRow{Rows: ui.Timed(found)}
	form := ui.Form{Format: "json"}
	b.contentType = "application/json"
	if r.URL.Query().Get("format") == "csv" {
		form.Format, form.CSVSafe, b.contentType = "csv", true, "text/csv; charset=utf-8"
	}
	var text bytes.Buffer
	rows, _, err = ui.WriteRows(&text, last, form)
	b.text = text.Bytes()
	return b, rows, last, errors.Join(err, found.Close())
}

// queryByName answers with the rows of the query that the path names.
func queryByName(r *http.Request, l *ledger.Ledger) (body, error) {
	return rowsOf(r.PathValue("name"))(r, l)
}

// value is a body of one JSON value, in the form of `-o json`.
func value(v any) (body, error) {
	text, err := json.Marshal(v, json.Deterministic(true), json.FormatNilSliceAsNull(false), jsontext.EscapeForHTML(false))
	return body{contentType: "application/json", text: text}, err
}

// where returns the session of an id in the path. Without one in the address it must be in one
// session only.
func where(r *http.Request, l *ledger.Ledger, kind, id string) (source.Place, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.URL.Query().Get("session_id")}
	if p.Session != "" {
		return p, nil
	}
	find := source.Turn
	if kind == "call" {
		find = source.Call
	}
	places, err := find(r.Context(), l, p.Tenant, id)
	if err != nil {
		return p, err
	}
	if len(places) > 1 {
		return p, &source.AmbiguousError{Kind: kind, ID: id, Places: places}
	}
	return places[0], nil
}

func turnWindow(r *http.Request, l *ledger.Ledger) (body, error) {
	id := r.PathValue("turn")
	p, err := where(r, l, "turn", id)
	if err != nil {
		return body{}, err
	}
	return window(r, l, p, id, r.URL.Query().Get("call_id"))
}

func callWindow(r *http.Request, l *ledger.Ledger) (body, error) {
	id := r.PathValue("call")
	p, err := where(r, l, "call", id)
	if err != nil {
		return body{}, err
	}
	turn := r.URL.Query().Get("turn_id")
	if turn == "" {
		calls, err := callsOf(r.Context(), l, p)
		if err != nil {
			return body{}, err
		}
		for _, c := range calls {
			if c.Call == id {
				turn = c.Turn
			}
		}
	}
	return window(r, l, p, turn, id)
}

func window(r *http.Request, l *ledger.Ledger, p source.Place, turn, call string) (body, error) {
	w, err := readWindow(r, l, p, turn, call)
	if err != nil {
		return body{}, err
	}
	return value(w)
}

func readWindow(r *http.Request, l *ledger.Ledger, p source.Place, turn, call string) (windowview.Window, error) {
	if turn == "" {
		return windowview.Window{}, &source.UnknownError{Kind: "call", ID: call}
	}
	w, found, err := answer.Window(r.Context(), l, map[string]string{"tenant": p.Tenant, "session_id": p.Session, "turn_id": turn, "call_id": call})
	if err == nil && !found {
		err = &source.UnknownError{Kind: "turn", ID: turn}
	}
	if err == nil {
		err = answer.Correct(r.Context(), l, p.Tenant, &w)
	}
	return w, err
}

func itemHistory(r *http.Request, l *ledger.Ledger) (body, error) {
	p := source.Place{Tenant: r.URL.Query().Get("tenant"), Session: r.URL.Query().Get("session_id")}
	if p.Session == "" {
		return body{}, &wrongRequest{errors.New("an item belongs to a session: give session_id")}
	}
	h, err := source.History(r.Context(), l, p, r.URL.Query().Get("turn_id"), r.PathValue("item"))
	if err != nil {
		return body{}, err
	}
	return value(h)
}

func diffOf(r *http.Request, l *ledger.Ledger) (body, error) {
	q := r.URL.Query()
	p := source.Place{Tenant: q.Get("tenant"), Session: q.Get("session_id")}
	if p.Session == "" || q.Get("before_turn") == "" || q.Get("after_turn") == "" {
		return body{}, &wrongRequest{errors.New("give session_id, before_turn and after_turn; before_call and after_call name calls of them")}
	}
	before, err := readWindow(r, l, p, q.Get("before_turn"), q.Get("before_call"))
	if err != nil {
		return body{}, err
	}
	after, err := readWindow(r, l, p, q.Get("after_turn"), q.Get("after_call"))
	if err != nil {
		return body{}, err
	}
	return value(windowview.Compare(before, after))
}

func listQueries(*http.Request, *ledger.Ledger) (body, error) {
	type entry struct {
		Name    string `json:"name"`
		Title   string `json:"title"`
		Section string `json:"section"`
	}
	var list []entry
	for _, q := range queries.All() {
		list = append(list, entry{q.Name, q.Title, q.Section})
	}
	return value(list)
}
