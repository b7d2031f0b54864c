package operate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/erasure"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

type eraseFlags struct {
	declaration
	subject string
	yes     bool
}

func EraseCommand(a *cli.App) *cobra.Command {
	var flags eraseFlags
	cmd := &cobra.Command{
		Use:   "erase --subject SUBJECT --reason REASON --policy-ref POLICY",
		Short: "Erase the content of a data subject, and keep the proofs",
		Long: `Erase every event of a subject: its messages from the streams, its rows and their salts
from the tables, its copies in CTX_QUARANTINE, and its texts in CTX_TEXTS. A text that
events of others name, too, stays until these are erased. The leaves of the log stay, and say
nothing without the salts; evidence packs still verify. The fact
context.erasure.applied stays, too. It holds the reason, the policies, the places of
the records, and a keyed digest of the subject. The key is in keys/ledger.proof of the
data folder. --dry-run finds earlier erasures of the subject by it.

A subject is the resource_id of events, or session:ID, run:ID, thread:ID or item:ID.
Redactions stay: they hold no content, and keep a value from coming back. Refused
messages stay if a redaction masks the subject's id in them: they are counted. The
reason stays for ever: put no personal data into it.

A terminal is asked for a confirmation; a pipe needs --yes. --dry-run only counts. A
projector must be running. Run the command again to finish an interrupted erasure, or
to erase later events. Copies elsewhere are not erased: packs, backups, outboxes of
producers, and other targets of a content_ref. ClickHouse rewrites each part of a table with
rows of the subject: on large tables that takes minutes to hours. It keeps the replaced
files for eight minutes.`,
		Example: `  ctxledger erase --subject user-812 --reason "request 4711" --policy-ref policy:gdpr-17 --dry-run
  ctxledger erase --subject user-812 --reason "request 4711" --policy-ref policy:gdpr-17
  ctxledger erase --subject session:s-9 --tenant acme --reason expired --policy-ref policy:retention --yes`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			subject, err := ledger.ParseSubject(flags.subject)
			switch {
			case flags.subject == "":
				return cli.UsageError("whose content? give --subject")
			case err != nil:
				return cli.UsageError("--subject: %w", err)
			}
			if err := flags.check(); err != nil {
				return err
			}
			return erase(cmd.Context(), a, subject, flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.subject, "subject", "", "a data subject (resource_id), or session:ID, run:ID, thread:ID, item:ID")
	flags.register(f, "only this tenant's; default all", "the policy that asks for it")
	f.BoolVar(&flags.dryRun, "dry-run", false, "count the records, and erase nothing")
	f.BoolVar(&flags.yes, "yes", false, "do not ask")
	return cmd
}

func erase(ctx context.Context, a *cli.App, subject ledger.Subject, flags eraseFlags) error {
	js, tables, err := openTables(ctx, a)
	if err != nil {
		return err
	}
	readRing, err := a.RingIfAny()
	if err != nil {
		return err
	}
	var ring proof.Ring // a dry run can do without
	if readRing != nil {
		if ring, err = readRing(); err != nil {
			return err
		}
	}
	e := erasure.Erasure{
		JetStream: js, Tables: tables, Ring: ring, Keys: cli.KeysIn(a.Flags.Data), Log: a.Log(),
		Subject: subject, Tenant: flags.tenant, Reason: flags.reason, PolicyRefs: flags.policyRefs,
	}
	earlier, err := e.Earlier(ctx)
	if err != nil {
		return err
	}
	found, err := e.Find(ctx)
	if err != nil {
		return err
	}
	if flags.dryRun || found.IsZero() {
		return printErased(a, erasure.Erased{Erasable: found}, earlier, flags, "to erase")
	}
	if !flags.yes {
		if err := confirmErasure(a, subject, found); err != nil {
			return err
		}
	}
	done, err := e.Run(ctx)
	if err != nil {
		return cli.Interrupted(ctx, err, "what is erased so far stays erased; run it again to finish")
	}
	return printErased(a, done, earlier, flags, "erased")
}

// confirmErasure asks a terminal, and refuses anybody else.
func confirmErasure(a *cli.App, subject ledger.Subject, found erasure.Erasable) error {
	if !cli.IsTerminal(a.In) {
		return cli.UsageError("%s of %s would be erased for good: confirm with --yes", countErasable(found), subject)
	}
	fmt.Fprintf(a.Err, "%s of %s will be erased for good. Type yes: ", countErasable(found), ui.Safe(fmt.Sprint(subject)))
	line, _ := bufio.NewReader(a.In).ReadString('\n')
	if strings.TrimSpace(line) != "yes" {
		return cli.WithCode(cli.ExitFailed, errors.New("nothing was erased"))
	}
	return nil
}

func countErasable(e erasure.Erasable) string {
	counted := fmt.Sprintf("%d events, %d repeats and %d refused messages", e.Events, e.Repeats, e.Refused)
	if e.Texts > 0 {
		counted += fmt.Sprintf(", and %s in %s", ui.Plural(e.Texts, "text"), streamio.TextsBucket)
	}
	return counted
}

func printErased(a *cli.App, done erasure.Erased, earlier []erasure.Earlier, flags eraseFlags, verb string) error {
	if flags.output == "json" {
		return a.PrintJSON(struct {
			erasure.Erased
			Earlier []erasure.Earlier `json:"earlier"`
		}{done, earlier})
	}
	for _, e := range earlier {
		fmt.Fprintf(a.Out, "earlier: %s of tenant %s on %s\n", ui.Safe(e.ErasureID), ui.Safe(e.Tenant), e.At.Format(time.RFC3339))
	}
	if done.Masked > 0 {
		fmt.Fprintf(a.Out, "kept: %d refused messages with a masked id, which may be of the subject; `ctxledger quarantine list --code redaction_reintroduced` lists them\n", done.Masked)
	}
	if done.IsZero() {
		fmt.Fprintln(a.Out, "nothing to erase")
		return nil
	}
	fmt.Fprintf(a.Out, "%s: %s\n", verb, countErasable(done.Erasable))
	if done.Kept > 0 {
		fmt.Fprintf(a.Out, "kept: %d redactions and exports, which hold no content\n", done.Kept)
	}
	for _, id := range done.ErasureIDs {
		fmt.Fprintf(a.Out, "fact: %s\n", id)
	}
	return nil
}
