package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

type tailFlags struct {
	filter   read.Filter
	last     int
	output   string
	noFollow bool

	quarantined bool
}

func TailCommand(a *cli.App) *cobra.Command {
	var flags tailFlags
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show projected facts, and follow the projection",
		Long: `Show the newest facts, then follow the projection until interrupted. Each line has
the stream sequence, the time of the fact, its kind, its subject and its session.
-o json prints whole CloudEvents. On a cluster the command waits while a partition moves to
another shard.

--quarantined shows the messages that the projector quarantined instead: the stream
sequence, the time at which the stream stored it, code, field, source and id.`,
		Example: `  ctxledger tail
  ctxledger tail --type context.compaction -n 100 --no-follow
  ctxledger tail --quarantined -n 100 --no-follow
  ctxledger tail -o json | jq .type`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.quarantined && (flags.filter.Session != "" || flags.filter.Type != "") {
				return cli.UsageError("--quarantined goes with --tenant, not with --session or --type, which a quarantined message may lack")
			}
			s, err := OpenSessions(cmd.Context(), a)
			if err != nil {
				return cli.Quietly(cmd.Context(), err)
			}
			if flags.quarantined {
				return cli.Quietly(cmd.Context(), tail(cmd.Context(), a, s, flags))
			}
			ids := cli.IDs{read.SessionID: &flags.filter.Session}
			if err := ids.FromRows(a); err != nil {
				return err
			}
			if s.plain != nil {
				_, err = ids.Complete(cmd.Context(), a, s.plain, flags.filter.Tenant)
			} else if flags.filter.Session != "" {
				_, err = s.Of(cmd.Context(), flags.filter.Session)
			}
			if err != nil {
				return cli.Quietly(cmd.Context(), err)
			}
			return cli.Quietly(cmd.Context(), tail(cmd.Context(), a, s, flags))
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.filter.Tenant, "tenant", "", "only this tenant")
	f.StringVar(&flags.filter.Session, "session", "", "only this session")
	f.StringVar(&flags.filter.Type, "type", "", "only event types that begin so, such as context.selection")
	f.IntVarP(&flags.last, "last", "n", 10, "how many earlier sequences of each stream to look back over first, and facts to show of them")
	cli.OutputFlag(f, &flags.output, "table, or json for CloudEvents as JSON lines", "table", "json")
	f.BoolVar(&flags.noFollow, "no-follow", false, "stop at the newest")
	f.BoolVar(&flags.quarantined, "quarantined", false, "messages that the projector quarantined, instead of facts")
	return cmd
}

func tail(ctx context.Context, a *cli.App, s Sessions, flags tailFlags) error {
	seen, err := tailEarlier(ctx, a, s, flags)
	for err == nil && !flags.noFollow {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(250 * time.Millisecond):
		}
		for more := true; err == nil && more; {
			more, err = tailLater(ctx, a, s, flags, seen)
		}
	}
	return err
}

// tailLater prints at most one page of each stream after what was seen, and reports whether a stream has more.
func tailLater(ctx context.Context, a *cli.App, s Sessions, flags tailFlags, seen map[uuid.UUID]uint64) (more bool, err error) {
	const page = 500
	var lines []tailed
	var read map[uuid.UUID]uint64
	err = s.settled(ctx, func() error {
		lines, read, more = nil, make(map[uuid.UUID]uint64), false
		committed, err := s.committed(ctx)
		for incarnation, end := range committed {
			if after := seen[incarnation]; err == nil && after < end.last {
				read[incarnation] = min(end.last, after+page)
				more = more || read[incarnation] < end.last
				var of []tailed
				of, err = end.page(ctx, incarnation, after, read[incarnation], flags, page)
				lines = append(lines, of...)
			}
		}
		return err
	})
	if err != nil {
		return false, err
	}
	maps.Copy(seen, read)
	return more, printTail(a, lines, flags.output)
}

// settled runs a read again if a partition has moved meanwhile; see [cluster.Ledgers.Settled].
func (s Sessions) settled(ctx context.Context, read func() error) error {
	if s.shards == nil {
		return read()
	}
	return s.shards.Settled(ctx, read)
}

// tailed is a projected fact, or a quarantined message.
type tailed struct {
	ledger.Position
	fact    read.Projected
	refusal *ledger.Refusal
}

// streamEnd is the last committed sequence of a stream, and the ledger that has its rows.
type streamEnd struct {
	ledger *ledger.Ledger
	shard  cluster.Shard // zero for a plain ledger
	last   uint64
}

// committed returns the end of every stream that anything was committed of, by incarnation.
func (s Sessions) committed(ctx context.Context) (map[uuid.UUID]streamEnd, error) {
	ends := []streamEnd{{ledger: s.plain}}
	if s.shards != nil {
		ends = nil
		for i, l := range s.shards.All() {
			ends = append(ends, streamEnd{ledger: l, shard: s.shards.Shards[i]})
		}
	}
	streams := make(map[uuid.UUID]streamEnd)
	for _, end := range ends {
		committed, err := end.ledger.Committed(ctx)
		if err != nil {
			return nil, end.named(err)
		}
		for incarnation, last := range committed {
			end.last = last
			streams[incarnation] = end
		}
	}
	return streams, nil
}

// named names the shard of an error.
func (e streamEnd) named(err error) error {
	if err == nil || e.shard.Number == 0 {
		return err
	}
	return e.shard.Failed(err)
}

// page reads a part of a stream, after one sequence and up to another: the first facts, or
// the last quarantined messages, at most limit.
func (e streamEnd) page(ctx context.Context, incarnation uuid.UUID, after, last uint64, flags tailFlags, limit int) (list []tailed, err error) {
	if flags.quarantined {
		if after >= last {
			return nil, nil
		}
		filter := read.RefusalFilter{Incarnation: incarnation, First: after + 1, Last: last, Tenant: flags.filter.Tenant}
		err = read.Of(e.ledger).Refusals(ctx, filter, func(r ledger.Refusal) error {
			if list = append(list, tailed{Position: r.Position(), refusal: &r}); len(list) > limit {
				list = list[1:]
			}
			return nil
		})
		return list, e.named(err)
	}
	events, err := read.Of(e.ledger).EventsAfter(ctx, incarnation, after, last, flags.filter, limit)
	for _, fact := range events {
		list = append(list, tailed{Position: fact.Position, fact: fact})
	}
	return list, e.named(err)
}

// tailEarlier prints the newest facts of the last sequences, in stream order. It returns
// the last sequence of each stream that it read.
func tailEarlier(ctx context.Context, a *cli.App, s Sessions, flags tailFlags) (seen map[uuid.UUID]uint64, err error) {
	most := uint64(max(flags.last, 0))
	var earlier []tailed
	err = s.settled(ctx, func() error {
		committed, err := s.committed(ctx)
		seen, earlier = make(map[uuid.UUID]uint64, len(committed)), nil
		for incarnation, end := range committed {
			seen[incarnation] = end.last
			after := end.last - min(end.last, most)
			if flags.quarantined {
				after = 0 // the newest may be far back
			}
			page, err := end.page(ctx, incarnation, after, end.last, flags, int(most))
			if err != nil {
				return err
			}
			earlier = append(earlier, page...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(earlier, func(p, q tailed) int {
		return cmp.Or(p.RecordedAt.Compare(q.RecordedAt), cmp.Compare(p.StreamSeq, q.StreamSeq))
	})
	return seen, printTail(a, earlier[len(earlier)-min(len(earlier), int(most)):], flags.output)
}

func printTail(a *cli.App, lines []tailed, output string) error {
	for _, line := range lines {
		var err error
		if line.refusal == nil {
			err = printFact(a, line.fact, output)
		} else {
			err = printRefused(a, line.refusal, output)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func printRefused(a *cli.App, r *ledger.Refusal, output string) error {
	if output == "json" {
		line, err := json.Marshal(r, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s\n", line)
		return err
	}
	return printLine(a, fmt.Sprintf("%8d  %s  %-18s  %-24s  %s  %s", r.StreamSeq, r.RecordedAt.UTC().Format("2006-01-02 15:04:05.000"),
		ui.Safe(r.Code), ui.Safe(r.Pointer), ui.Safe(r.Source), ui.Safe(r.EventID)))
}

// printLine prints a line, on a terminal as much as fits.
func printLine(a *cli.App, line string) error {
	if cli.IsTerminal(a.Out) {
		line = ui.Shorten(line, a.Width())
	}
	_, err := fmt.Fprintln(a.Out, line)
	return err
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
	return printLine(a, fmt.Sprintf("%8d  %s  %-28s  %-36s  %s", p.StreamSeq, e.Time.Format("2006-01-02 15:04:05.000"),
		shortType(e), ui.Safe(e.Subject), ui.Safe(e.SessionID)))
}

func shortType(e *schema.Event) string {
	object, verb := e.EventType().ObjectVerb()
	return object + "." + verb
}
