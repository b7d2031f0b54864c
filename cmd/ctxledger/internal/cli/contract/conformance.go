package contract

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/conformance"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/read"
)

type conformanceFlags struct {
	cases           []string
	tenant, session string
	output          string
}

func ConformanceCommand(a *cli.App) *cobra.Command {
	var flags conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Check an installation, or a session of your runtime, against the ACTX cases",
		Long: `Run the test cases of the runtime profile of Agent Context, ACTX-AR-*, against a live
installation. Each case publishes events as a foreign runtime does, waits until the
projector has them, and checks the rows in ClickHouse. The last five cases publish
events that must be refused. They check that quarantine has the events and no table
does.

Every case records a session with a new id, conformance-<uuid>, for the tenant
"conformance" or the given one. Nothing else is changed: the suite may run at any time,
and repeatedly. Its sessions and refused events stay. They violate no standing check
and leave no gap open.

For a team whose runtime publishes context events:
  1. Run the suite once. It shows that the installation keeps the contract.
  2. Let your runtime record a session, and check the session with --session. The
     rules for all sessions are applied: ids kept, candidates conserved, gaps with
     an owner, and so on. A case without facts in the session is marked "-".
     --session publishes nothing.

Exit codes: 0 if every case passes, 4 if one fails, 5 if a server cannot be reached,
1 if no projector works on the events.`,
		Example: `  ctxledger conformance
  ctxledger conformance --case ACTX-AR-SEL-001 --case ACTX-AR-GOV-001
  ctxledger conformance --session sess-7f3a --tenant acme
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger conformance -o json`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runConformance(cmd.Context(), a, flags) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.cases, "case", nil, "only this case; may be repeated")
	f.StringVar(&flags.session, "session", "", "check this session, which a runtime recorded, and publish nothing")
	f.StringVar(&flags.tenant, "tenant", "", `tenant to record for (default "conformance"), or of --session (default: the one that has it)`)
	cli.OutputFlag(f, &flags.output, "table or json", "table", "json")
	_ = cmd.RegisterFlagCompletionFunc("case", completeCase) // the flag exists
	return cmd
}

func completeCase(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, c := range conformance.Cases() {
		names = append(names, c.Name+"\t"+c.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func runConformance(ctx context.Context, a *cli.App, flags conformanceFlags) error {
	cases, err := conformance.Select(flags.cases...)
	if err != nil {
		return cli.WithCode(cli.ExitUsage, err)
	}
	target := conformance.Target{Tenant: flags.tenant, Cases: cases}
	var report conformance.Report
	if flags.session != "" {
		report, err = checkSession(ctx, a, target, flags.session)
	} else {
		report, err = recordCases(ctx, a, target)
	}
	if err != nil {
		return err
	}
	if err := a.PrintReport(&report, flags.output); err != nil {
		return err
	}
	if !report.Pass {
		_, failed, _ := report.Counts()
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("%s: compare the expected and the found values above", counted(failed, "case fails", "cases fail")))
	}
	return nil
}
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

func recordCases(ctx context.Context, a *cli.App, target conformance.Target) (conformance.Report, error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return conformance.Report{}, err
	}
	l, err := a.OpenReader(ctx)
	if err != nil {
		return conformance.Report{}, err
	}
	target.JetStream, target.Ledger = js, l
	bar := conformanceBar(a)
	defer bar.Done()
	return conformance.Run(ctx, target, func(done, total int) { bar.Set(int64(done), int64(total)) })
}

func checkSession(ctx context.Context, a *cli.App, target conformance.Target, session string) (conformance.Report, error) {
	l, err := a.OpenReader(ctx)
	if err != nil {
		return conformance.Report{}, err
	}
	ids := cli.IDs{read.SessionID: &session}
	if err := ids.FromRows(a); err != nil {
		return conformance.Report{}, err
	}
	if _, err := ids.Complete(ctx, a, l, target.Tenant); err != nil {
		return conformance.Report{}, err
	}
	target.Ledger = l
	bar := conformanceBar(a)
	defer bar.Done()
	report, err := conformance.CheckSession(ctx, target, session, func(done, total int) { bar.Set(int64(done), int64(total)) })
	switch {
	case errors.Is(err, conformance.ErrSeveralTenants):
		return report, cli.UsageError("%w; name one with --tenant", err)
	case errors.Is(err, conformance.ErrNoSession):
		return report, cli.WithCode(cli.ExitUsage, err)
	}
	return report, err
}

func conformanceBar(a *cli.App) *ui.Bar {
	return ui.NewBar(a.Err, cli.IsTerminal(a.Err), "checking")
}
