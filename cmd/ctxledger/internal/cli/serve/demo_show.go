package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/ask"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/packs"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
)

// showDemo draws the window of the call that has most to show, asks the demo's
// questions and looks for the planted secret.
func showDemo(ctx context.Context, a *cli.App, l *ledger.Ledger, shown demo.Shown, events uint64) error {
	fmt.Fprintf(a.Out, "\n%d facts are on the stream and in the tables. The window as the model saw it:\n\n", events)
	w, err := ask.ReadWindow(ctx, a, l, ask.TurnFlags{Session: shown.Session, Turn: shown.Turn, Call: shown.Call})
	if err != nil {
		return err
	}
	if err := w.Draw(a.Out, a.Style()); err != nil {
		return err
	}
	analyses, err := demo.Analyses()
	if err != nil {
		return err
	}
	for _, q := range analyses {
		fmt.Fprintf(a.Out, "\n%s\n\n%s\n\n", q.Question, indent(q.SQL))
		if err := printQuery(ctx, a, l, q.SQL, nil); err != nil {
			return err
		}
	}
	fmt.Fprint(a.Out, "\nIs the planted secret anywhere?\n\n")
	return printQuery(ctx, a, l, demo.LeakSQL, map[string]string{"secret": demo.Secret()})
}

// demoEvidence writes a pack of the session, verifies it with the public key only, and
// prints the verdicts. The result is the path of the pack.
func demoEvidence(ctx context.Context, a *cli.App, i *instance.Instance, data, session string) (string, error) {
	folder, err := os.MkdirTemp(data, "evidence-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the pack: %w", err)
	}
	path := filepath.Join(folder, "pack")
	places, err := read.Of(i.Ledger).ScopePlaces(ctx, read.Scope{Session: session}, 1)
	if err != nil || len(places) == 0 {
		return "", errors.Join(err, errors.New("nothing is known about the demo's session"))
	}
	scope := pack.Scope{Kind: pack.ScopeSession, Tenant: places[0].Tenant, Session: session}
	made, err := packs.ExportPack(ctx, a, i.Ledger, nil, data, scope, packs.ExportFlags{Out: path})
	if err != nil {
		return "", err
	}
	if err := packs.PublishExport(ctx, i.JetStream, scope, made); err != nil {
		return "", err
	}
	ring, err := keyfile.ReadRing(data)
	if err != nil {
		return "", err
	}
	options := verify.Options{}
	if options.Keys, err = proof.ParseVerifiers(ring.Public()); err != nil {
		return "", err
	}
	if options.TenantKeys, err = cli.KeysOf(data, scope.Tenant); err != nil {
		return "", err
	}
	report, err := verify.Pack(ctx, path, options)
	if err != nil {
		return "", err
	}
	fmt.Fprint(a.Out, "\nThe session as an evidence pack, verified with the log's public key and no server:\n\n")
	if err := packs.PrintVerification(a, report); err != nil {
		return "", err
	}
	if report.Failed() {
		return "", cli.WithCode(cli.ExitNotVerified, errors.New("the evidence pack of the demo failed verification"))
	}
	return path, nil
}

func printQuery(ctx context.Context, a *cli.App, l *ledger.Ledger, sql string, params map[string]string) error {
	result, err := read.Of(l).Query(ctx, sql, params, read.DefaultLimits())
	if err != nil {
		return err
	}
	_, err = a.PrintRows(result, cli.RowsForm{Format: "table"})
	return errors.Join(err, result.Close())
}

// demoReport writes the session as one HTML file, which outlives the demo, and returns its path.
func demoReport(ctx context.Context, i *instance.Instance, keep string, shown demo.Shown) (string, error) {
	folder := keep
	if folder == "" {
		folder = os.TempDir()
	}
	file, err := os.CreateTemp(folder, "ctxledger-demo-*.html")
	if err != nil {
		return "", fmt.Errorf("make a file for the report: %w", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("make a file for the report: %w", err)
	}
	_, err = ask.WriteReport(ctx, i.Ledger, ask.TurnFlags{Session: shown.Session, Turn: shown.Turn}, file.Name())
	return file.Name(), err
}

func sayHowToGoOn(a *cli.App, keep, path, page string) {
	fmt.Fprintf(a.Out, "\nThe session as one HTML file; open it in a browser:\n  %s\n", page)
	if keep == "" {
		fmt.Fprint(a.Out, `
How to go on:
  ctxledger demo --keep ./demo                       the same, and keep its data
  ctxledger up                                       run a ledger of your own
  ctxledger import claude-code ~/.claude/projects    see where your own context went
  ctxledger report --last --out report.html          your newest session as one HTML file
  ctxledger query list                               what can be asked
  ctxledger evidence export --session S --out pack   what a session's agent knew, with proofs
  ctxledger evidence verify pack --key ledger.pub    whether it is so; this needs no server
`)
		return
	}
	fmt.Fprintf(a.Out, `
How to go on, with the data in %[1]s:
  ctxledger up --data %[1]s                          in a terminal of its own
  ctxledger query list
  ctxledger query turns --param session_id=demo-session --data %[1]s
  ctxledger window --turn turn-3 --data %[1]s
  ctxledger proof keygen --data %[1]s > ledger.pub   its public key
  ctxledger evidence export --turn turn-3 --out turn-3 --data %[1]s
  ctxledger evidence verify turn-3 --key ledger.pub
  ctxledger evidence verify %[2]s --key ledger.pub
`, keep, path)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
