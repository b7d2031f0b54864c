package ask

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

type tailFlags struct {
	filter   read.Filter
	last     int
	output   string
	noFollow bool
}

func TailCommand(a *cli.App) *cobra.Command {
	var flags tailFlags
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show projected facts, and follow the projection",
		Long: `Show the newest facts, then follow the projection until interrupted. Each line has
the stream sequence, the time of the fact, its kind, its subject and its session.
-o json prints whole CloudEvents.`,
		Example: `  ctxledger tail
  ctxledger tail --type context.compaction -n 100 --no-follow
  ctxledger tail -o json | jq .type`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.OpenReader(cmd.Context())
			if err != nil {
				return cli.Quietly(cmd.Context(), err)
			}
			ids := cli.IDs{read.SessionID: &flags.filter.Session}
			if err := ids.FromRows(a); err != nil {
				return err
			}
			if _, err := ids.Complete(cmd.Context(), a, l, flags.filter.Tenant); err != nil {
				return cli.Quietly(cmd.Context(), err)
			}
			return cli.Quietly(cmd.Context(), tail(cmd.Context(), a, l, flags))
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.filter.Tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.filter.Session, "session", "", "only this session")
	f.StringVar(&flags.filter.Type, "type", "", "only event types that begin so, such as context.selection")
	f.IntVarP(&flags.last, "last", "n", 10, "how many earlier sequences of each stream to look back over first, and facts to show of them")
	cli.OutputFlag(f, &flags.output, "table, or json for CloudEvents as JSON lines", "table", "json")
	f.BoolVar(&flags.noFollow, "no-follow", false, "stop at the newest")
	return cmd
}

func tail(ctx context.Context, a *cli.App, l *ledger.Ledger, flags tailFlags) error {
	seen, err := tailEarlier(ctx, a, l, flags)
	for err == nil && !flags.noFollow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(250 * time.Millisecond):
		}
		var committed map[uuid.UUID]uint64
		if committed, err = l.Committed(ctx); err != nil {
			break
		}
		for incarnation, last := range committed {
			const page = 500
			for after := seen[incarnation]; err == nil && after < last; after = seen[incarnation] {
				seen[incarnation] = min(last, after+page)
				var events []read.Projected
				if events, err = read.Of(l).EventsAfter(ctx, incarnation, after, seen[incarnation], flags.filter, page); err == nil {
					err = printFacts(a, events, flags.output)
				}
			}
		}
	}
	return err
}

// tailEarlier prints the newest facts of the last sequences, in stream order. It returns
// the last sequence of each stream that it read.
func tailEarlier(ctx context.Context, a *cli.App, l *ledger.Ledger, flags tailFlags) (seen map[uuid.UUID]uint64, err error) {
	if seen, err = l.Committed(ctx); err != nil {
		return nil, err
	}
	most := uint64(max(flags.last, 0))
	var earlier []read.Projected
	for incarnation, last := range seen {
		events, err := read.Of(l).EventsAfter(ctx, incarnation, last-min(last, most), last, flags.filter, int(most))
		if err != nil {
			return nil, err
		}
		earlier = append(earlier, events...)
	}
	slices.SortFunc(earlier, func(p, q read.Projected) int {
		return cmp.Or(p.RecordedAt.Compare(q.RecordedAt), cmp.Compare(p.StreamSeq, q.StreamSeq))
	})
	return seen, printFacts(a, earlier[len(earlier)-min(len(earlier), int(most)):], flags.output)
}

func printFacts(a *cli.App, events []read.Projected, output string) error {
	for _, e := range events {
		if err := printFact(a, e, output); err != nil {
			return err
		}
	}
	return nil
}

func printFact(a *cli.App, p read.Projected, output string) error {
	e := p.Event
	if output == "json" {
		line, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s\n", line)
		return err
	}
	line := fmt.Sprintf("%8d  %s  %-28s  %-36s  %s", p.StreamSeq, e.Time.Format("2006-01-02 15:04:05.000"),
		shortType(e), ui.Safe(e.Subject), ui.Safe(e.SessionID))
	if cli.IsTerminal(a.Out) {
		line = ui.Shorten(line, a.Width())
	}
	_, err := fmt.Fprintln(a.Out, line)
	return err
}

func shortType(e *schema.Event) string {
	object, verb := e.EventType().ObjectVerb()
	return object + "." + verb
}
