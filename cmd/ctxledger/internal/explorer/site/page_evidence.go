package site

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/mod/sumdb/note"

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
	heads, err := headsOf(r, l)
	if err != nil {
		return shown{}, err
	}
	const sub = "this page proves nothing; `ctxledger evidence export --session S --out pack` makes a pack, and `ctxledger evidence verify pack --key ledger.pub` proves it without a server"
	out, err := tables(r, l, "evidence", "Evidence", sub, arguments, "checks", "redactions-by-policy", "quarantine-by-code")
	if content, ok := out.page.Content.(view.TablesPage); ok {
		content.Tables = append([]view.Table{heads}, content.Tables...)
		out.page.Content = content
	}
	return out, err
}

// headsOf returns the newest head of each log, as the ledger stores it. The page verifies no
// signature.
func headsOf(r *http.Request, l *ledger.Ledger) (view.Table, error) {
	t := view.Table{
		Name: "Which heads of the log are signed?", About: "the newest of each log; `ctxledger proof checkpoint` prints it, and `ctxledger proof witness` signs it again with a key of a witness",
		Columns: []view.Cell{{Name: "log"}, {Name: "leaves", Class: "num"}, {Name: "root"}, {Name: "signed by"}, {Name: "covers facts up to"}},
	}
	heads, err := translog.Of(l).NewestHeads(r.Context())
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
