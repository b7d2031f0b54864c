package site

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/queries"
)

// Config configures a site.
type Config struct {
	// Open returns the ledger to read, or the shards of a cluster instead. It is called for each request,
	// and an error of it is a page.
	Open func(context.Context) (*ledger.Ledger, *cluster.Ledgers, error)
	// SQL allows statements of one's own, to requests without a token, if the ledger's user may only
	// read.
	SQL bool
	// Keys returns the public keys of the ledger's log. With nil the pages prove nothing.
	Keys func() (note.Verifiers, error)
	// Texts reads the texts that are too large for their events. With nil the pages show none of them.
	Texts source.ReadText
	// Packs makes and verifies evidence packs. With nil the evidence page has no buttons.
	Packs Packs
	// Log reports errors that no request explains. Nil discards them.
	Log *slog.Logger
}

// patience is the longest time that a request may take, except for event streams.
const patience = 30 * time.Second

// mostRows is the largest number of rows of one answer of the ledger.
const mostRows = 200_000

// site serves the pages of one ledger. It is safe for concurrent use.
type site struct {
	Config
	streams chan struct{} // one element for each open event stream
	shared  shared
	pace    pace
}

// New returns the handler of a site.
func New(c Config) http.Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &site{Config: c, streams: make(chan struct{}, mostStreams), pace: defaultPace}
	mux := http.NewServeMux()
	for pattern, page := range map[string]page{
		"GET /{$}":                     s.sessions,
		"GET /last":                    s.last,
		"GET /s/{session}":             s.session,
		"GET /s/{session}/compactions": s.compactions,
		"GET /s/{session}/calls":       s.calls,
		"GET /t/{turn}":                s.turn,
		"GET /c/{call}":                s.call,
		"GET /i/{item}":                s.item,
		"GET /diff":                    s.difference,
		"GET /q":                       s.questions,
		"GET /q/{name}":                s.question,
		"GET /evidence":                s.evidence,
		"GET /sql":                     s.statement,
		"GET /search":                  s.search,
		"GET /":                        func(*http.Request, *ledger.Ledger) (shown, error) { return shown{}, errNoPage },
	} {
		mux.HandleFunc(pattern, s.show(page))
	}
	mux.Handle("GET /assets/", http.FileServerFS(view.Assets))
	mux.HandleFunc("GET /events/s/{session}", s.follow)
	s.api(mux)
	if c.Packs != nil {
		(&packs{Packs: c.Packs, site: s, busy: make(chan struct{}, 1)}).register(mux)
	}
	return s.secure(mux)
}

// shown is a page to write, or the address of another one.
type shown struct {
	kind     string // of the template
	page     view.Page
	redirect string
	status   int // of the page; 0 means 200
	// rest reads the content of a page that can be written in parts ([view.RestOf]). Nil if page has it.
	rest func() (any, error)
}

// wholeRest is rest for a page whose partitions have not moved meanwhile.
func (out shown) wholeRest(ctx context.Context) (any, error) {
	content, err := out.rest()
	if err == nil {
		err = answer.Whole(ctx)
	}
	return content, err
}

// page prepares the answer to a request. On a cluster the ledger is nil, and the context of the request
// has the shards.
type page func(*http.Request, *ledger.Ledger) (shown, error)

var errNoPage = errors.New("there is no such page")

// secure sets the headers of all answers, and binds a request to the tenant of its token. An
// address that names another tenant is refused.
func (s *site) secure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		identity := access.Of(r.Context())
		if len(identity.Roles) == 0 { // no guard is in front
			s.refuse(w, r, answer.ErrTenant)
			return
		}
		bounds := answer.Bounds{Tenant: identity.Tenant, Limits: read.Limits{Time: patience, Rows: mostRows, Memory: 1 << 30}}
		r = r.WithContext(answer.Within(r.Context(), bounds))
		if bounds.Tenant != "" {
			q := r.URL.Query()
			if given := q["tenant"]; len(given) > 1 || len(given) == 1 && given[0] != "" && given[0] != bounds.Tenant {
				s.refuse(w, r, answer.ErrTenant)
				return
			}
			u := *r.URL
			q.Set("tenant", bounds.Tenant)
			u.RawQuery, r.URL = q.Encode(), &u
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers with the error of a request that reached no handler.
func (s *site) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		status, code, near := problemOf(err)
		problem(w, r, status, code, err, near)
		return
	}
	s.write(w, r, shown{}, err)
}

// show writes a page, or a page about the error.
func (s *site) show(prepare page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		out, err := shown{}, error(nil)
		ctx, l, err := s.open(ctx)
		r = r.WithContext(ctx)
		if err == nil {
			out, err = prepare(r, l)
		}
		if err == nil && out.rest == nil {
			err = answer.Whole(ctx)
		}
		s.write(w, r, out, err)
	}
}

// open opens the ledger for a context. On a cluster the ledger is nil, and the context has the shards.
func (s *site) open(ctx context.Context) (context.Context, *ledger.Ledger, error) {
	l, shards, err := s.Open(ctx)
	if err != nil {
		return ctx, nil, err
	}
	within, err := answer.OnShards(ctx, shards)
	if errors.Is(err, cluster.ErrOtherShards) {
		if l, shards, err = s.Open(ctx); err == nil {
			within, err = answer.OnShards(ctx, shards)
		}
	}
	return within, l, err
}

// write writes a page, or the page about an error.
func (s *site) write(w http.ResponseWriter, r *http.Request, out shown, err error) {
	if err == nil && out.rest != nil {
		if r.Header.Get("Sec-Fetch-Mode") == "navigate" {
			s.writeInParts(w, r, out)
			return
		}
		out.page.Content, err = out.wholeRest(r.Context())
	}
	status := cmp.Or(out.status, http.StatusOK)
	if err != nil {
		status, out = s.failure(r, err)
	}
	if out.redirect != "" {
		http.Redirect(w, r, out.redirect, http.StatusSeeOther)
		return
	}
	var text bytes.Buffer // an error of a template must not leave half a page
	if err := out.page.Write(&text, out.kind); err != nil {
		s.Log.Error("explorer", "path", r.URL.Path, "error", err)
		http.Error(w, "the page could not be written; the log has the reason", http.StatusInternalServerError)
		return
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	body := begin(w, r, status)
	_, _ = text.WriteTo(body) // the client may be gone
	_ = body.Close()
}

// writeInParts writes the head of a page before the rest is read, so that a person sees the title
// while the ledger answers. The status is sent by then: an error of the rest is a part of the page.
// Programs do not get a page in parts, because they look at the status.
func (s *site) writeInParts(w http.ResponseWriter, r *http.Request, out shown) {
	body := begin(w, r, http.StatusOK)
	defer body.Close()
	part := func(kind string) {
		var text bytes.Buffer
		if err := out.page.Write(&text, kind); err != nil {
			s.Log.Error("explorer", "path", r.URL.Path, "error", err)
			return
		}
		_, _ = text.WriteTo(body) // the client may be gone
	}
	part(view.Head)
	if z, ok := body.(*packed); ok {
		_ = z.Flush()
	}
	_ = http.NewResponseController(w).Flush()
	content, err := out.wholeRest(r.Context())
	if err != nil {
		_, failed := s.failure(r, err)
		out.page.Content, out.page.Retry = failed.page.Content, failed.page.Retry
		part(view.FailedRest)
		return
	}
	out.page.Content = content
	part(view.RestOf(out.kind))
}

// begin begins an answer of HTML, and returns the writer of its text. It compresses if the client can.
func begin(w http.ResponseWriter, r *http.Request, status int) io.WriteCloser {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Add("Vary", "Accept-Encoding, Sec-Fetch-Mode")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(status)
		return plain{w}
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := packers.Get().(*gzip.Writer)
	z.Reset(w)
	return &packed{z}
}

// packers keeps compressors for the next pages: one takes almost a megabyte.
var packers = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// packed compresses a text. Close gives the compressor back.
type packed struct{ *gzip.Writer }

func (p *packed) Close() error {
	err := p.Writer.Close()
	packers.Put(p.Writer)
	return err
}

// plain writes a text as it is.
type plain struct{ io.Writer }

func (plain) Close() error { return nil }

// failure returns the page about an error, and its status.
func (s *site) failure(r *http.Request, err error) (int, shown) {
	var unknown *source.UnknownError
	var several *source.AmbiguousError
	var query *queries.UnknownError
	var wrong *queries.ParameterError
	content, page := view.ErrorPage{Text: err.Error()}, view.Page{Nav: "sessions"}
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, errNoPage):
		status, content.Heading, content.Text = http.StatusNotFound, "There is no such page", "The address "+r.URL.Path+" has no page."
	case errors.As(err, &unknown):
		status, content.Heading = http.StatusNotFound, "Unknown "+unknown.Kind
		content.Text = "Nothing is known about the " + unknown.Kind + " " + unknown.ID + "."
		for _, id := range unknown.Near {
			link := view.Link{Href: hrefOf(unknown.Kind, id, r.URL.Query().Get("tenant"), r.URL.Query().Get("session")), Text: id}
			content.Links = append(content.Links, link)
		}
	case errors.As(err, new(*noWindowError)):
		status, content.Heading = http.StatusNotFound, "No recorded window"
	case errors.As(err, &several):
		page.Title, page.Content = "Which session?", choices(several)
		return http.StatusMultipleChoices, shown{kind: "choices", page: page}
	case errors.As(err, &query):
		status, content.Heading = http.StatusNotFound, "Unknown question"
		for _, name := range query.Nearest {
			content.Links = append(content.Links, view.Link{Href: "/q/" + url.PathEscape(name), Text: name})
		}
	case errors.As(err, &wrong), errors.As(err, new(*wrongRequest)):
		status, content.Heading = http.StatusBadRequest, "The address lacks something"
	case errors.Is(err, read.ErrNotMigrated):
		status, content.Heading, content.Command = http.StatusServiceUnavailable, "The ledger has no tables yet", "ctxledger migrate"
		content.Text, page.Retry = "The database has no tables, or tables of an older version.", 5
	case errors.Is(err, read.ErrLimit), errors.Is(err, context.DeadlineExceeded):
		status, content.Heading = http.StatusGatewayTimeout, "The answer took too long"
	case isAway(err):
		status, content.Heading = http.StatusServiceUnavailable, "ClickHouse does not answer"
		if _, failed := ledger.Failure(err); errors.Is(err, cluster.ErrShard) || !failed {
			page.Retry = 2
			break // the text names the shard, or the reason
		}
		content.Text, page.Retry = "The page tries again every two seconds, and shows the answer as soon as ClickHouse is back. If it stays away, `ctxledger doctor` says what is wrong.", 2
	case errors.Is(err, errNoSQL):
		status, content.Heading = http.StatusForbidden, "No SQL of your own here"
	case errors.Is(err, answer.ErrTenant):
		status, content.Heading = http.StatusForbidden, "This token is for another tenant"
	case errors.Is(err, read.ErrStatement), errors.Is(err, read.ErrReadOnly):
		status, content.Heading = http.StatusBadRequest, "The question is wrong"
	case errors.Is(err, context.Canceled):
		content.Heading = "The browser left before the answer"
	default:
		content.Heading = "The ledger could not answer"
		s.Log.Error("explorer", "path", r.URL.Path, "error", err)
	}
	page.Title, page.Content = content.Heading, content
	return status, shown{kind: "error", page: page}
}

// isAway reports whether the server of the ledger did not answer, or had no room for a request, or whether a
// partition moved to another shard.
func isAway(err error) bool {
	code, failed := ledger.Failure(err)
	return failed && code == 0 || errors.Is(err, cluster.ErrMoving) || errors.Is(err, cluster.ErrMoved) || errors.Is(err, cluster.ErrOtherShards)
}

// choices offers the places of an id.
func choices(e *source.AmbiguousError) view.LinksPage {
	p := view.LinksPage{Heading: "Which session?", Sub: e.Error()}
	for _, place := range e.Places {
		p.Links = append(p.Links, view.Link{Href: hrefOf(e.Kind, e.ID, place.Tenant, place.Session), Text: place.Session, Note: "tenant " + place.Tenant})
	}
	return p
}
