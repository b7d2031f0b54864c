package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/projector/revocation"
)

func RedactionCommand(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "redaction",
		Short: "Take redactions back",
		Long: `Take redactions back. A redaction withholds its values for good: an event with such a
value is refused. If a redaction withholds ordinary text, it refuses the events of its
tenant; revoke it. "ctxledger query redactions-by-policy" and the view redaction_trail
list the redactions, the view revocations lists what was taken back.`,
		Example: `  ctxledger redaction revoke red-1 --reason "matches ordinary words" --policy-ref policy:review --dry-run`,
	}, revokeCommand(a))
}

type revokeFlags struct {
	declaration
	sameValue bool
}

func revokeCommand(a *cli.App) *cobra.Command {
	var flags revokeFlags
	cmd := &cobra.Command{
		Use:   "revoke REDACTION --reason REASON --policy-ref POLICY",
		Short: "Take a redaction back, from now on",
		Long: `Take a redaction back. The fact context.redaction.revoked counts from its place in the
stream on: later events may have the value. Values that were masked stay masked, and
packs of before verify as they did. Refused events are not sent again: see "ctxledger
quarantine replay", or send them from their producer.

A value stays withheld as long as another redaction of it is in force. The command names
these; --same-value takes them back, too. A process that withholds the value by its own
guard still masks it. A projector must be running. The reason stays for ever: put no
withheld value into it.`,
		Example: `  ctxledger redaction revoke red-1 --reason "matches ordinary words" --policy-ref policy:review --dry-run
  ctxledger redaction revoke red-1 --tenant acme --same-value --reason "not a secret" --policy-ref policy:review`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return cli.UsageError("which redaction? give its id; the view redaction_trail lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			return revoke(cmd.Context(), a, args[0], flags)
		},
	}
	f := cmd.Flags()
	flags.register(f, "the tenant of the redaction; needed where several tenants have its id", "the policy that allows it")
	f.BoolVar(&flags.sameValue, "same-value", false, "also take back the other redactions of the same values")
	f.BoolVar(&flags.dryRun, "dry-run", false, "name the redactions, and change nothing")
	return cmd
}

func revoke(ctx context.Context, a *cli.App, id string, flags revokeFlags) error {
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	r := revocation.Revocation{
		JetStream: js, Tables: tables, RedactionID: id, Tenant: flags.tenant, SameValue: flags.sameValue, Reason: flags.reason, PolicyRefs: flags.policyRefs,
	}
	run, verb := r.Run, "revoked"
	if flags.dryRun {
		run, verb = r.Find, "to revoke"
	}
	done, err := run(ctx)
	switch {
	case errors.Is(err, revocation.ErrNothing):
		return cli.WithCode(cli.ExitFailed, fmt.Errorf("no redaction in force has the id %q; `ctxledger query --sql \"SELECT DISTINCT tenant, redaction_id FROM redaction_trail\"` lists them", id))
	case err != nil:
		return cli.Interrupted(ctx, err, "run it again to finish")
	case flags.output == "json":
		return a.PrintJSON(done)
	}
	for _, one := range done.Redactions {
		fmt.Fprintf(a.Out, "%s: %s of tenant %s\n", verb, ui.Safe(one), ui.Safe(done.Tenant))
	}
	for _, one := range done.Same {
		fmt.Fprintf(a.Out, "still in force for the same value: %s\n", ui.Safe(one))
	}
	if len(done.Same) > 0 {
		fmt.Fprintln(a.Out, "take these back as well with --same-value")
	}
	return nil
}
