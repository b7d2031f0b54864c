package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/history"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
)

func WhyCommand(a *cli.App) *cobra.Command {
	var flags TurnFlags
	var item, key string
	var prove bool
	cmd := &cobra.Command{
		Use:   "why (--turn T | --last) --item I",
		Short: "Show why an item was in the window of a turn, or why not",
		Long: `Show what happened to an item, in stream order: available, ranked, selected or
omitted with the reason, assembled, injected, elided, compacted, redacted, or asked
for as missing. The last line answers the question in one sentence.

--item takes an id, or its beginning as long as only one item fits. Steps that each
call repeats are listed for this turn; those of other turns are counted. --as-of
answers from the facts that were recorded at a time, as for
` + "`ctxledger window`" + `. -o json is one object with answer and steps; -o csv has the
steps.

--proof checks the fact of each step against the transparency log: the row gives the
leaf, and the inclusion proof leads from the leaf to the signed root. --key names the
public keys; the default is the key of the data folder. The exit code is 4 if a step
fails the check.`,
		Example: `  ctxledger why --turn turn-1 --item tool-1:result
  ctxledger why --turn turn-1 --call call-02 --item tool-1 -o json
  ctxledger why --turn turn-1 --item tool-1:result --proof`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runWhy(cmd.Context(), a, flags, item, proving{prove, key})
		},
	}
	flags.register(a, cmd)
	cmd.Flags().StringVar(&item, "item", "", "the item: its id, or the beginning of it (required)")
	cmd.Flags().StringVar(&flags.Call, "call", "", "ask about this model call only (default: the whole turn)")
	flags.registerAsOf(cmd)
	cmd.Flags().BoolVar(&prove, "proof", false, "prove each step by the transparency log")
	cmd.Flags().StringVar(&key, "key", "", "file with the public keys of the log (default: the keys of the data folder)")
	return cmd
}

func runWhy(ctx context.Context, a *cli.App, flags TurnFlags, item string, p proving) error {
	if err := flags.check(a); err != nil {
		return err
	}
	if item == "" {
		return cli.UsageError("which item? give --item (`ctxledger window --turn %s -o json` lists the items of a window)", ui.ShellQuote(flags.Turn))
	}
	l, err := openTurn(ctx, a, &flags)
	if err != nil {
		return err
	}
	w, err := readWay(ctx, a, l, flags, item)
	if err != nil {
		return err
	}
	var unproved error
	if p.asked {
		if unproved, err = proveWay(ctx, a, l, flags, &w, p.key); err != nil {
			return err
		}
	}
	switch flags.output {
	case "csv":
		err = queryCSV(ctx, a, "why", flags, map[string]string{"item_id": w.Item})
	case "json":
		err = a.PrintJSON(w)
	default:
		err = w.Draw(a.Out, a.Width())
	}
	return cmp.Or(err, unproved)
}

// readWay asks for the steps of an item, which may be named by the beginning of
// its id.
func readWay(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags, item string) (history.Item, error) {
	w := history.Item{Session: t.Session, Turn: t.Turn, Call: t.Call, Item: item}
	steps, err := t.askItem(ctx, l, item)
	if err == nil && len(steps) == 0 {
		if w.Item, err = t.findItem(ctx, l, item); err == nil {
			steps, err = t.askItem(ctx, l, w.Item)
		}
	}
	if err != nil {
		return w, err
	}
	w.Steps = steps
	if err := checkTurn(ctx, a, l, t, &w); err != nil {
		return w, err
	}
	w.Settle()
	w.Title, w.Answer = history.Named(w.Steps), w.Reply(ui.Thousands)
	return w, nil
}

// checkTurn reads the end of the turn for an item without steps in it.
func checkTurn(ctx context.Context, a *cli.App, l *ledger.Ledger, t TurnFlags, w *history.Item) error {
	for _, s := range w.Steps {
		if s.InTurn && (t.Call == "" || s.Call == t.Call) {
			return nil
		}
	}
	known, err := t.ask(ctx, l, "window-facts")
	if err != nil {
		return err
	}
	switch {
	case len(known) == 0 && t.asOf != "":
		return fmt.Errorf("no fact of turn %q of session %q was recorded by %s: leave out --as-of to ask about all recorded facts", t.Turn, t.Session, t.asOf)
	case len(known) == 0:
		return UnknownTurn(ctx, a, l, t)
	}
	var calls []string
	for _, r := range known {
		calls = append(calls, r.Texts("call_ids")...)
		if at := r.Moment("last_at"); at.After(w.Ended) {
			w.Ended = at
		}
	}
	if t.Call != "" && !slices.Contains(calls, t.Call) {
		return fmt.Errorf("turn %q of session %q has no call %q: leave --call away to ask about the whole turn", t.Turn, t.Session, t.Call)
	}
	return nil
}

func (t TurnFlags) askItem(ctx context.Context, l *ledger.Ledger, item string) ([]history.Step, error) {
	arguments, err := t.arguments("why")
	if err != nil {
		return nil, err
	}
	arguments["item_id"] = item
	steps, err := answer.Steps(ctx, l, arguments)
	return steps, cli.AsUsage(err)
}

// findItem returns the only item whose id begins with item.
func (t TurnFlags) findItem(ctx context.Context, l *ledger.Ledger, item string) (string, error) {
	arguments, err := t.arguments("why-items")
	if err != nil {
		return "", err
	}
	arguments["item_id"] = item
	near, err := cli.Ask(ctx, l, "why-items", arguments)
	if err != nil {
		return "", err
	}
	var fits, names []string
	for _, r := range near {
		names = append(names, r.Text("item_ref"))
		if r["begins"] == true {
			fits = append(fits, r.Text("item_ref"))
		}
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) > 1:
		return "", cli.UsageError("the ids of several items begin with %q: %s; give more of it", item, strings.Join(fits, ", "))
	case len(names) > 0:
		return "", fmt.Errorf("session %q has no item %q%s: did you mean %s?", t.Session, item, t.then(), strings.Join(names[:min(3, len(names))], ", "))
	}
	return "", fmt.Errorf("session %q has no item %q%s, and no other: `ctxledger query event-types --param session_id=%s` lists its facts", t.Session, item, t.then(), ui.ShellQuote(t.Session))
}

// then is the time of an answer as text, empty for now.
func (t TurnFlags) then() string {
	if t.asOf == "" {
		return ""
	}
	return " at " + t.asOf
}
