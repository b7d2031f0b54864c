package packs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/view"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/evidence/verify"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// verifyFlags are the flags of evidence verify.
type verifyFlags struct {
	keys, tenantKeys, heads []string
	output, html            string
	faults                  int
}

func evidenceVerifyCommand(a *cli.App) *cobra.Command {
	var flags verifyFlags
	cmd := &cobra.Command{
		Use:   "verify PACK --key KEY…",
		Short: "Verify an evidence pack, with no server and no network",
		Long: `Verify an evidence pack, a folder or a zip, with the public key of its ledger. Each
question has a separate answer:

  format        the pack can be read, holds nothing hostile, and does not contradict itself
  signature     the key signed the list of files and the heads of the logs
  files         the files equal the listed ones, byte for byte
  inclusion     the signed log has every record with these bytes
  order         the records are in the order of the log
  derivation    the documents follow from the records
  schemas       the documents meet the Agent Context and Agent Evidence schemas
  references    every reference within the pack has a target
  conservation  every candidate was selected, or omitted with a reason
  completeness  the pack has all facts of the sealed scopes
  redaction     the pack has no redacted value

An answer is passed, failed, not_checked or open. A scope without a seal is open: more
facts may have been recorded. The check for redacted values needs the keys of the
tenant; without them it is not_checked. Only failed sets the exit code 4.

The owner of the signing key can sign anything. --head compares the head of the log with a
copy that the owner of the ledger cannot change, such as one of a witness. Two heads of
the same size must be equal. "ctxledger proof consistency" compares heads of other sizes.

Of index.html, the page for people, the figures are compared with the records. --html
writes the verdict as a page; an existing file is replaced.`,
		Example: `  ctxledger evidence verify pack --key ledger.pub
  ctxledger evidence verify pack --key ledger.pub --html verdict.html
  ctxledger evidence verify pack --key ledger.pub --head cosigned
  ctxledger evidence verify pack.zip --key 'name+hash+key' --tenant-key acme.keys -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.UsageError("verify wants one pack, found %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return verifyPack(cmd.Context(), a, args[0], flags) },
	}
	cmd.Flags().StringArrayVar(&flags.keys, "key", nil, "public key of the ledger, or a file with some, one a line; repeatable")
	cmd.Flags().StringArrayVar(&flags.tenantKeys, "tenant-key", nil, "key file of the tenant, from the folder keys of its data folder; repeatable")
	cmd.Flags().StringArrayVar(&flags.heads, "head", nil, "file with a signed head that a witness has seen; repeatable")
	cli.OutputFlag(cmd.Flags(), &flags.output, "text or json", "text", "json")
	cmd.Flags().StringVar(&flags.html, "html", "", "also write the verdict to this HTML file")
	cmd.Flags().IntVar(&flags.faults, "faults", 20, "how many faults of a question are listed; all are counted")
	return cmd
}

func verifyPack(ctx context.Context, a *cli.App, path string, flags verifyFlags) error {
	if flags.faults < 1 {
		return cli.UsageError("--faults %d: want 1 or more", flags.faults)
	}
	options := verify.Options{MaxFaults: flags.faults}
	var err error
	if options.Keys, err = trustedKeys(flags.keys); err != nil {
		return err
	}
	if options.TenantKeys, err = tenantKeys(flags.tenantKeys); err != nil {
		return err
	}
	for _, file := range flags.heads {
		text, err := os.ReadFile(file)
		if err != nil {
			return cli.UsageError("--head: %w", err)
		}
		head, err := verify.ReadHead(text, options.Keys)
		if err != nil {
			return cli.UsageError("--head %s: %w", file, err)
		}
		options.Witnessed = append(options.Witnessed, head)
	}
	cli.SaveMemory()
	report, err := verify.Pack(ctx, path, options)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.UsageError("there is no pack at %s", path)
	}
	if err != nil {
		return err
	}
	if flags.html != "" {
		if err := writeVerdict(report, flags.html); err != nil {
			return err
		}
	}
	if flags.output == "json" {
		err = a.PrintJSON(report)
	} else {
		err = PrintVerification(a, report)
	}
	if err == nil && report.Failed() {
		return cli.WithCode(cli.ExitNotVerified, errors.New("the pack failed verification: see the failed questions"))
	}
	return err
}

// writeVerdict writes a verdict to a file, which appears when it is whole.
func writeVerdict(report *verify.Report, path string) error {
	var text bytes.Buffer
	if err := view.WriteVerdict(&text, report); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".verdict-*.html")
	if err != nil {
		return fmt.Errorf("write the verdict: %w", err)
	}
	_, err = file.Write(text.Bytes())
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write the verdict: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// trustedKeys reads the keys of --key, each a key or a file of keys.
func trustedKeys(values []string) ([]note.Verifier, error) {
	if len(values) == 0 {
		return nil, cli.UsageError("--key is missing: give the public key of the ledger, as `ctxledger proof keygen` prints it, or a file with the key")
	}
	var keys []note.Verifier
	for _, value := range values {
		text, err := os.ReadFile(value)
		if err != nil && strings.Count(value, "+") < 2 {
			return nil, cli.UsageError("--key: %w", err)
		}
		if err != nil {
			text = []byte(value)
		}
		list, err := proof.ParseVerifiers(text)
		if err != nil {
			return nil, cli.UsageError("--key: %w", err)
		}
		keys = append(keys, list...)
	}
	return keys, nil
}

// tenantKeys reads the key files of --tenant-key.
func tenantKeys(files []string) ([]schema.Key, error) {
	var keys []schema.Key
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, cli.UsageError("--tenant-key: %w", err)
		}
		ring, err := schema.ParseKeyRing(text)
		if err != nil {
			return nil, cli.UsageError("--tenant-key %s: %w", file, err)
		}
		keys = append(keys, ring.Keys...)
	}
	return keys, nil
}

func PrintVerification(a *cli.App, r *verify.Report) error {
	t := ui.Table{Columns: []ui.Column{{}, {Least: 20, Wrap: true}}}
	if r.Pack != "" {
		t.Rows = append(t.Rows, []string{"pack", safe(r.Pack)},
			[]string{"about", fmt.Sprintf("%s of tenant %s, made %s", scopeText(r), safe(r.Scope.Tenant), r.Created.Format(time.RFC3339))})
	}
	records := ui.Thousands(r.Records)
	if r.Expired > 0 {
		records += fmt.Sprintf(", %s expired", ui.Thousands(r.Expired))
	}
	if r.Withheld > 0 {
		records += fmt.Sprintf(", %s withheld", ui.Thousands(r.Withheld))
	}
	t.Rows = append(t.Rows, []string{"records", records})
	for _, l := range r.Logs {
		t.Rows = append(t.Rows, []string{"log", fmt.Sprintf("%s, size %s, root %s", safe(l.Origin), ui.Thousands(l.Size), l.Root)})
	}
	if err := t.Write(a.Out, a.TableWidth(), ""); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	for _, v := range r.Verdicts {
		printVerdict(a, v)
	}
	_, err := fmt.Fprintf(a.Out, "\n%s\n", ui.Wrap(conclusion(r), a.TableWidth(), 0, "  "))
	return err
}

// verdictIndent is where the explanations of a verdict begin.
const verdictIndent = 13

func printVerdict(a *cli.App, v verify.Verdict) {
	detail := v.Detail
	if v.Total > 0 {
		detail = ui.Plural(v.Total, "fault")
	}
	line := func(text string) string {
		return ui.Wrap(text, a.TableWidth(), verdictIndent, strings.Repeat(" ", verdictIndent))
	}
	fmt.Fprintf(a.Out, "%-12s %-13s %s\n", v.Status, v.Question, ui.Wrap(safe(detail), a.TableWidth(), 2*verdictIndent+1, strings.Repeat(" ", 2*verdictIndent+1)))
	for _, f := range v.Faults {
		place := f.File
		if f.Line > 0 {
			place += fmt.Sprintf(":%d", f.Line)
		}
		if f.Pointer != "" {
			place += " " + f.Pointer
		}
		if place == "" {
			place = "the pack"
		}
		fmt.Fprintf(a.Out, "             %s\n", line(safe(place)+": "+safe(f.Reason)))
	}
	if more := v.Total - int64(len(v.Faults)); more > 0 {
		fmt.Fprintf(a.Out, "             and %s more\n", ui.Thousands(more))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(a.Out, "             %s\n", line("note: "+safe(n)))
	}
}

// safe cuts a text of a pack and makes it ui.Safe.
func safe(text string) string { return ui.Shorten(text, 1000) }

func scopeText(r *verify.Report) string {
	id := r.Scope.Session
	switch r.Scope.Kind {
	case "turn":
		id = r.Scope.Turn
	case "run":
		id = r.Scope.Run
	case "task":
		id = r.Scope.Task
		if r.Scope.Attempt != "" {
			id += ", attempt " + r.Scope.Attempt
		}
	}
	return safe(r.Scope.Kind + " " + id)
}

// conclusion sums up the answers in a sentence.
func conclusion(r *verify.Report) string {
	by := make(map[verify.Status][]string)
	for _, v := range r.Verdicts {
		by[v.Status] = append(by[v.Status], string(v.Question))
	}
	if failed := by[verify.Failed]; len(failed) > 0 {
		return "NOT VERIFIED: failed " + strings.Join(failed, ", ")
	}
	text := "VERIFIED"
	if open := by[verify.Open]; len(open) > 0 {
		text += "; left open, as the pack cannot show it: " + strings.Join(open, ", ")
	}
	if not := by[verify.NotChecked]; len(not) > 0 {
		text += "; not checked: " + strings.Join(not, ", ")
	}
	return text
}
