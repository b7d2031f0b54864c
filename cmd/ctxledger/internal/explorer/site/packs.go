package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// Packs makes and verifies evidence packs.
type Packs interface {
	// Make writes the pack of a session as a zip, and records that it was made. The ledger has the session,
	// and the context has the shards of a cluster.
	Make(ctx context.Context, l *ledger.Ledger, scope pack.Scope, target string) error
	// Verify checks a pack with a public key, or with the keys of the ledger if the key is empty. The
	// tenant is that of the request; empty means all.
	Verify(ctx context.Context, path, key, tenant string) (*verify.Report, error)
}

// ErrKey means that a text is no public key.
var ErrKey = errors.New("the text is no public key of a log; `ctxledger proof keygen` prints one")

var (
	errBusy  = errors.New("another pack is being made or verified: try again in a moment")
	errTypes = errors.New("the request needs the content type ")
	errSize  = errors.New("the pack is larger than this server takes; `ctxledger evidence verify` takes it")
)

// packs answers the requests of the buttons of the evidence page. One pack at a time is made or
// verified, because that takes memory.
type packs struct {
	Packs
	site *site
	busy chan struct{}
}

func (p *packs) register(mux *http.ServeMux) {
	mux.HandleFunc("POST /evidence/packs", p.one("application/json", p.make))
	mux.HandleFunc("POST /evidence/verdicts", p.one("application/zip", p.verify))
}

// one lets one request pass that has the content type, with a folder of its own.
func (p *packs) one(contentType string, answer func(w http.ResponseWriter, r *http.Request, folder string) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := func() error {
			if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(media), contentType) {
				return fmt.Errorf("%w%s", errTypes, contentType)
			}
			select {
			case p.busy <- struct{}{}:
				defer func() { <-p.busy }()
			default:
				return errBusy
			}
			folder, err := os.MkdirTemp("", "ctxledger-pack-")
			if err != nil {
				return fmt.Errorf("make a folder for the pack: %w", err)
			}
			defer os.RemoveAll(folder)
			return answer(w, r, folder)
		}()
		if err == nil {
			return
		}
		status, code, near := packProblem(err)
		if status == http.StatusInternalServerError {
			p.site.Log.Error("explorer", "path", r.URL.Path, "error", err)
		}
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "5")
		}
		problem(w, r, status, code, err, near)
	}
}

// packProblem is [problemOf] with the errors of packs.
func packProblem(err error) (status int, code string, near []string) {
	switch {
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable, "busy", nil
	case errors.Is(err, errTypes):
		return http.StatusUnsupportedMediaType, "content_type", nil
	case errors.Is(err, errSize), errors.As(err, new(*http.MaxBytesError)):
		return http.StatusRequestEntityTooLarge, "too_large", nil
	case errors.Is(err, ErrKey):
		return http.StatusBadRequest, "wrong_request", nil
	}
	return problemOf(err)
}

// make answers with the pack of a session as a zip.
func (p *packs) make(w http.ResponseWriter, r *http.Request, folder string) error {
	var asked struct {
		Tenant  string `json:"tenant"`
		Session string `json:"session"`
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &asked); err != nil || asked.Session == "" {
		return &wrongRequest{errors.New(`which session? send {"session": "ID"}`)}
	}
	tenant, err := answer.Tenant(r.Context(), asked.Tenant)
	if err != nil {
		return &source.UnknownError{Kind: "session", ID: asked.Session}
	}
	place := source.Place{Tenant: tenant, Session: asked.Session}
	ctx, l, err := p.site.open(r.Context())
	if err == nil {
		l, err = answer.Of(ctx, l, place.Session)
	}
	if err != nil {
		return err
	}
	found, err := read.Of(l).ScopePlaces(ctx, read.Scope{Tenant: place.Tenant, Session: place.Session}, 2)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return &source.UnknownError{Kind: "session", ID: place.Session}
	case len(found) > 1:
		return &source.AmbiguousError{Kind: "session", ID: place.Session, Places: []source.Place{{Tenant: found[0].Tenant, Session: place.Session}, {Tenant: found[1].Tenant, Session: place.Session}}}
	}
	file := filepath.Join(folder, "pack.zip")
	scope := pack.Scope{Kind: pack.ScopeSession, Tenant: found[0].Tenant, Session: place.Session}
	if err := p.Make(ctx, l, scope, file); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/zip")
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+url.PathEscape("pack-"+place.Session+".zip"))
	h.Set("Cache-Control", "no-store")
	http.ServeFile(w, r, file)
	return nil
}

// verify answers with a page about the pack in the body.
func (p *packs) verify(w http.ResponseWriter, r *http.Request, folder string) error {
	path := filepath.Join(folder, "pack.zip")
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("keep the pack: %w", err)
	}
	_, err = io.Copy(file, r.Body)
	if err = errors.Join(err, file.Close()); errors.As(err, new(*http.MaxBytesError)) {
		return errSize
	}
	if err != nil {
		return err
	}
	report, err := p.Verify(r.Context(), path, strings.TrimSpace(r.URL.Query().Get("key")), access.Of(r.Context()).Tenant)
	if err != nil {
		return err
	}
	page := view.Page{Title: "Verdict", Nav: "evidence", Content: view.VerdictOf(report)}
	p.site.write(w, r, shown{kind: "verdict-page", page: page}, nil)
	return nil
}
