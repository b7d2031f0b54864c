package site

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/translog"
)

// evidence shows the heads of the log, what the standing checks find, and how to make and verify a
// pack.
func (s *site) evidence(r *http.Request, l *ledger.Ledger) (shown, error) {
	arguments := map[string]string{}
	if tenant := r.URL.Query().Get("tenant"); tenant != "" {
		arguments["tenant"] = tenant
	}
	rest := func() (any, error) {
		content := view.EvidencePage{Tenant: arguments["tenant"]}
		content.Sub = "this page proves nothing; a pack does, without this server"
		content.Buttons, content.Why = s.offersPacks(r)
		var heads view.Table
		var complete, answered []view.Table
		g, ctx := errgroup.WithContext(r.Context())
		r := r.WithContext(ctx)
		g.Go(func() (err error) { heads, err = headsOf(r, l); return err })
		g.Go(func() (err error) { complete, err = completeness(r, l, &content); return err })
		g.Go(func() (err error) {
			answered, err = tables(r, l, arguments, "checks", "redactions-by-policy", "erasures", "quarantine-by-code")
			return err
		})
		err := g.Wait()
		content.Tables = slices.Concat([]view.Table{heads}, complete, answered)
		return content, err
	}
	return shown{kind: "evidence", page: view.Page{Title: "Evidence", Nav: "evidence"}, rest: rest}, nil
}

// offersPacks reports whether the page has buttons, or else why not.
func (s *site) offersPacks(r *http.Request) (bool, string) {
	switch {
	case !access.Of(r.Context()).May(access.Evidence):
		return false, "Your token has no role `evidence`."
	case s.Packs == nil || s.Keys == nil:
		return false, "This server makes no packs."
	}
	if _, err := s.Keys(); err != nil {
		return false, "This server has no key of the ledger, so that it cannot sign a pack."
	}
	return true, ""
}

// completeness returns the table for the session of the address, or for the newest one.
func completeness(r *http.Request, l *ledger.Ledger, content *view.EvidencePage) ([]view.Table, error) {
	content.Session = r.URL.Query().Get("session")
	if content.Session == "" {
		newest, err := answer.Ask(r.Context(), l, "sessions", map[string]string{"tenant": content.Tenant, "limit": "1"})
		if err != nil || len(newest) == 0 {
			return nil, err
		}
		content.Session = newest[0].Text("session_id")
	}
	t, err := table(r, l, "completeness", map[string]string{"tenant": content.Tenant, "session_id": content.Session})
	t.Name = "Are all facts of session " + view.Line(content.Session) + " there?"
	return []view.Table{t}, err
}

// headsOf returns the newest head of each log, as the ledger stores it. The page verifies no
// signature.
func headsOf(r *http.Request, l *ledger.Ledger) (view.Table, error) {
	t := view.Table{
		Name: "Which heads of the log are signed?", About: "the newest of each log; `ctxledger proof checkpoint` prints it, and `ctxledger proof witness` signs it again with a key of a witness",
		Columns: []view.Cell{{Name: "log"}, {Name: "leaves", Class: "num"}, {Name: "root"}, {Name: "signed by"}, {Name: "covers facts up to"}},
	}
	var heads []translog.SignedHead
	err := answer.Each(r.Context(), l, func(l *ledger.Ledger) error {
		more, err := translog.Of(l).NewestHeads(r.Context())
		heads = append(heads, more...)
		return err
	})
	if err != nil {
		return t, err
	}
	for _, h := range heads {
		origin, root := h.Incarnation.String(), ""
		if lines := strings.SplitN(string(h.Note), "\n", 4); len(lines) == 4 {
			origin, root = lines[0], lines[2]
		}
		t.Rows = append(t.Rows, []view.Cell{
			{Text: view.Line(origin)}, {Text: view.Spaced(h.Size), Class: "num"}, {Text: view.Line(root)}, {Text: view.Line(strings.Join(signersOf(h.Note), ", "))}, {Text: view.Stamp(h.RecordedAt), Class: "moment"},
		})
	}
	return t, nil
}

// signersOf returns the names and hashes of the keys that a note names. Nothing is verified.
func signersOf(text []byte) (names []string) {
	var unverified *note.UnverifiedNoteError
	if _, err := note.Open(text, note.VerifierList()); errors.As(err, &unverified) {
		for _, sig := range unverified.Note.UnverifiedSigs {
			names = append(names, fmt.Sprintf("%s+%08x", sig.Name, sig.Hash))
		}
	}
	return names
}
