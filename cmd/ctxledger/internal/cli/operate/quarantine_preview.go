package operate

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/projector/quarantine"
)

func quarantinePreviewCommand(a *cli.App) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "preview", Short: "List stored events that today's rules would quarantine", Args: cli.NoArgs,
		Long: `List recorded events that the current rules would quarantine, for example facts with
another tenant than their subject. Such events stay recorded: rules hold from a position
on (see "ctxledger migrate --help"). preview reads the streams up to that position and
changes nothing. It cannot find events that left the stream.`,
		Example: `  ctxledger quarantine preview
  ctxledger quarantine preview -o csv >suspects.csv`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return previewQuarantine(cmd.Context(), a, output)
		},
	}
	cli.OutputFlag(cmd.Flags(), &output, "table, json or csv", "table", "json", "csv")
	return cmd
}

func previewQuarantine(ctx context.Context, a *cli.App, output string) error {
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	bar := ui.NewBar(a.Err, cli.IsTerminal(a.Err), "reading the stream")
	var found previewRows
	err = quarantine.Preview(ctx, js, tables, a.Log(), bar.Set, func(r ledger.Refusal) error {
		found.list = append(found.list, r)
		return nil
	})
	bar.Done()
	if err != nil {
		return err
	}
	_, err = a.PrintRows(&found, cli.RowsForm{Format: output})
	return err
}

// previewRows are refusals in the form of the rows of a query.
type previewRows struct {
	list []ledger.Refusal
	next int
}

func (p *previewRows) Columns() []read.ResultColumn {
	columns := []read.ResultColumn{{Name: "stream_seq", Type: "UInt64"}, {Name: "recorded_at", Type: "DateTime64(9, 'UTC')"}}
	for _, name := range []string{"tenant", "code", "pointer", "subject", "source", "event_id", "reason", "incarnation"} {
		columns = append(columns, read.ResultColumn{Name: name, Type: "String"})
	}
	return columns
}

func (p *previewRows) Next() bool {
	p.next++
	return p.next <= len(p.list)
}

func (p *previewRows) Values() []any {
	r := p.list[p.next-1]
	return []any{
		r.StreamSeq, r.RecordedAt.UTC().Format(time.RFC3339Nano), r.Tenant, r.Code, r.Pointer,
		r.Subject, r.Source, r.EventID, r.Reason, r.Incarnation.String(),
	}
}

func (p *previewRows) Err() error { return nil }

func (p *previewRows) Close() error { return nil }
