package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/source"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
)

// reportFlags name a session, and the file of its report.
type reportFlags struct {
	TurnFlags
	out   string
	force bool
}

func ReportCommand(a *cli.App) *cobra.Command {
	var flags reportFlags
	cmd := &cobra.Command{
		Use:   "report (--session S | --turn T | --last) --out FILE",
		Short: "Write a session as one HTML file that any browser shows",
		Long: `Write one HTML file that shows a session: the window of each call by layer, the bill by
cache bucket, compactions, redactions, gaps, costs and items. Open the file in any
browser. It needs no server and no network, and it refers to nothing outside.

With --turn the file opens at the last call of that turn, and with --last at the newest
window. The arrow keys walk the calls. The file contains titles of items and no stored
content. It proves nothing; "ctxledger evidence export" makes a proof.

` + cli.IDHelp,
		Example: `  ctxledger report --last --out report.html
  ctxledger report --session demo-session --out report.html
  ctxledger report --turn turn-3 --session demo-session --out turn-3.html --force`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReport(cmd.Context(), a, flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.Session, "session", "", "the session (this, --turn or --last)")
	f.StringVar(&flags.Turn, "turn", "", "a turn of the session; the file opens at its last call")
	f.BoolVar(&flags.last, "last", false, "the session of the newest window")
	f.StringVar(&flags.Tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.out, "out", "", "the file to write (required)")
	f.BoolVar(&flags.force, "force", false, "replace the file if it exists")
	_ = cmd.RegisterFlagCompletionFunc("turn", CompleteTurn(a)) // the flag is there
	_ = cmd.MarkFlagFilename("out", "html")                     // the flag is there
	return cmd
}

func runReport(ctx context.Context, a *cli.App, flags reportFlags) error {
	switch {
	case flags.Session == "" && flags.Turn == "" && !flags.last:
		return cli.UsageError("which session? give --session, --turn, or --last for the newest (`ctxledger query sessions` lists the sessions)")
	case flags.Turn != "" && flags.last:
		return cli.UsageError("--turn and --last: give one of them")
	case flags.out == "":
		return cli.UsageError("where to? give --out and the name of the file, such as --out report.html")
	}
	if _, err := os.Lstat(flags.out); err == nil && !flags.force {
		return cli.UsageError("%s exists: give another name with --out, or replace it with --force", ui.Safe(flags.out))
	}
	if err := flags.ids().FromRows(a); err != nil {
		return err
	}
	o, err := OpenSessions(ctx, a)
	if err != nil {
		return err
	}
	var l *ledger.Ledger
	if flags.Turn != "" || flags.last {
		l, err = o.turn(ctx, a, &flags.TurnFlags)
	} else if l, err = o.Of(ctx, flags.Session); err == nil {
		_, err = flags.ids().Complete(ctx, a, l, flags.Tenant)
	}
	if err != nil {
		return err
	}
	if ctx, err = answer.OnShards(ctx, o.shards); err != nil { // gaps of the session can have steps on other shards
		return err
	}
	size, err := WriteReport(ctx, l, flags.TurnFlags, flags.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "wrote %s, %s: open it in a browser\n", ui.Safe(flags.out), megabytes(size))
	return err
}

// WriteReport writes the report of a session to a file, which appears when it is whole, and
// returns its size in bytes. An existing file is replaced.
func WriteReport(ctx context.Context, l *ledger.Ledger, t TurnFlags, path string) (size int64, err error) {
	place := source.Place{Tenant: t.Tenant, Session: t.Session}
	answers, err := source.Session(ctx, l, place)
	var several *source.AmbiguousError
	if errors.As(err, &several) {
		return 0, cli.UsageError("%w with --tenant", err)
	}
	if err != nil {
		return 0, err
	}
	place.Tenant = answers.Session.Text("tenant")
	windows, err := source.Windows(ctx, l, place)
	if err != nil {
		return 0, err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".report-*.html")
	if err != nil {
		return 0, fmt.Errorf("write the report: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	err = view.NewReport(answers, windows, t.Turn, time.Now()).Write(file)
	if info, statErr := file.Stat(); statErr == nil {
		size = info.Size()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return 0, fmt.Errorf("write the report: %w", err)
	}
	return size, nil
}

// megabytes writes a size for people.
func megabytes(bytes int64) string {
	if bytes < 1_000_000 {
		return fmt.Sprintf("%d kB", (bytes+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}
