package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/rows"
	"github.com/ctxledger/ctxledger/ledger"
)

// showDemo draws the window of the call that has most to show, asks the demo's
// questions, looks for the planted secret and says how to go on.
func (a *app) showDemo(ctx context.Context, l *ledger.Ledger, shown demo.Shown, events uint64, keep string) error {
	fmt.Fprintf(a.out, "\n%d facts are on the stream and in the tables. The window as the model saw it:\n\n", events)
	w, err := a.readWindow(ctx, l, turnFlags{session: shown.Session, turn: shown.Turn, call: shown.Call})
	if err != nil {
		return err
	}
	if err := w.Draw(a.out, a.style()); err != nil {
		return err
	}
	analyses, err := demo.Analyses()
	if err != nil {
		return err
	}
	for _, q := range analyses {
		fmt.Fprintf(a.out, "\n%s\n\n%s\n\n", q.Question, indent(q.SQL))
		if err := a.printQuery(ctx, l, q.SQL, nil); err != nil {
			return err
		}
	}
	fmt.Fprint(a.out, "\nIs the planted secret anywhere?\n\n")
	if err := a.printQuery(ctx, l, demo.LeakSQL, map[string]string{"secret": demo.Secret()}); err != nil {
		return err
	}
	a.sayHowToGoOn(keep)
	return nil
}

func (a *app) printQuery(ctx context.Context, l *ledger.Ledger, sql string, params map[string]string) error {
	result, err := l.Query(ctx, sql, params, ledger.DefaultLimits())
	if err != nil {
		return err
	}
	_, err = rows.Write(a.out, result, "table")
	return errors.Join(err, result.Close())
}

func (a *app) sayHowToGoOn(keep string) {
	if keep == "" {
		fmt.Fprint(a.out, `
How to go on:
  ctxledger demo --keep ./demo                       the same, and keep its data
  ctxledger up                                       run a ledger of your own
  ctxledger import claude-code ~/.claude/projects    see where your own context went
  ctxledger query list                               what can be asked
`)
		return
	}
	fmt.Fprintf(a.out, `
How to go on, with the data in %[1]s:
  ctxledger up --data %[1]s                          in a terminal of its own
  ctxledger query list
  ctxledger query turns --param session_id=demo-session --data %[1]s
  ctxledger window --turn turn-3 --data %[1]s
`, keep)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
