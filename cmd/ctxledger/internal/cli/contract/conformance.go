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
		Long: `Run the test cases of Agent Context's runtime profile, ACTX-AR-*, against a live
installation: publish each case's events as a foreign runtime would, wait until
the installation's projector has them, and check the rows in ClickHouse. The
last five cases publish what must be refused, and check that quarantine has it
and no table does.

Every case records a session of its own under a new id, conformance-<uuid>, for
the tenant "conformance" or the one given. Nothing else is touched, so it may
run at any time, again and again. What it recorded stays, and what it had refused
stays in quarantine; no standing check finds fault with it, no gap stays open.

For a team whose own runtime publishes context events:
  1. Run the suite once: it shows that the installation keeps the contract.
  2. Let your runtime record a session, and check it with --session: what holds
     for any session (ids kept, candidates conserved, gaps with an owner, …) is
     asked of yours; a case that your session has no facts for is marked "-".
     Nothing is published then.

Exit code 0 when every case passes, 4 when one fails, 5 when a server cannot be
reached, 1 when nothing projects the events.`,
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
		return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("%s: see what was expected and what was found", counted(failed, "case fails", "cases fail")))
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
