package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/internal/chsql"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/queries"
)

// The steps of a gap may be in sessions of several shards. The shard of the first step then gets the steps
// of all shards, because the gap is of that session. The other shards leave theirs out.

// gapStep is a row of gap_steps_of.sql: a digest of the gap, the three values that order the steps, the rest.
type gapStep []any

func (s gapStep) gap() uint64 { return s[0].(uint64) }

var (
	// readsGaps matches a statement that relates all steps of a gap.
	readsGaps = regexp.MustCompile(`FROM (open_gaps|gaps|check_compaction_dropped_open_gap_of)\b`)
	// gapViews matches where such a statement reads gaps or their steps.
	gapViews = regexp.MustCompile(`FROM (open_gaps|gaps|gap_steps)\b`)
)

// withGaps makes a query about gaps find the steps of all shards. The values are those of each shard.
func withGaps(ctx context.Context, shards *cluster.Ledgers, q queries.Query, each []map[string]string) (queries.Query, []map[string]string, error) {
	steps, err := crossingSteps(ctx, shards, each[0]["session_id"])
	if err != nil || len(steps) == 0 {
		return q, each, err
	}
	given := make([][]gapStep, len(each)) // by shard
	for _, of := range steps {
		at := 0
		for i, own := range of {
			if len(own) > 0 && (len(of[at]) == 0 || earlier(slices.MinFunc(own, earlier), slices.MinFunc(of[at], earlier)) < 0) {
				at = i
			}
		}
		given[at] = append(given[at], slices.Concat(of...)...)
	}
	crossing := make([]uint64, 0, len(steps))
	for gap := range steps {
		crossing = append(crossing, gap)
	}
	without, err := json.Marshal(crossing)
	if err != nil {
		return q, nil, err
	}
	each = slices.Clone(each)
	for i := range each {
		text, err := json.Marshal(append([]gapStep{}, given[i]...))
		if err != nil {
			return q, nil, err
		}
		each[i] = with(with(each[i], "gap_steps", string(text)), "crossing", string(without))
	}
	q.SQL, err = ofAllSteps(shards.All()[0].SQL(files), q.SQL)
	return q, each, err
}

// earlier compares two steps of one gap, as the view gaps does for steps of several sessions.
func earlier(a, b gapStep) int { return compare([]any(a[1:4]), []any(b[1:4])) }

// ofAllSteps returns a statement whose views of gaps read the steps that a shard was given, too.
func ofAllSteps(files chsql.DB, sql string) (_ string, err error) {
	sql = gapViews.ReplaceAllStringFunc(sql, func(from string) string {
		name := gapViews.FindStringSubmatch(from)[1]
		text, ok := files.Text("all_gap_steps"), true
		if name != "gap_steps" {
			if text, ok = migrate.ViewStatement(name); ok {
				text, err = ofAllSteps(files, text)
			}
		}
		if !ok {
			err = fmt.Errorf("the statement of the view %s is not known here", name)
		}
		return "FROM (\n" + text + "\n)"
	})
	return sql, err
}

// crossingSteps returns the steps of the gaps that are on several shards, by gap and by shard. With a session,
// these are only gaps with a step in it.
func crossingSteps(ctx context.Context, shards *cluster.Ledgers, session string) (map[uint64][][]gapStep, error) {
	here, err := gather(shards, func(l *ledger.Ledger) ([]uint64, error) { return gapsHere(ctx, l, session) })
	if err != nil {
		return nil, err
	}
	slices.Sort(here)
	asked := slices.Compact(slices.Clone(here))
	if session == "" { // all shards have told their gaps
		asked = asked[:0]
		for i := 1; i < len(here); i++ {
			if here[i] == here[i-1] && (len(asked) == 0 || asked[len(asked)-1] != here[i]) {
				asked = append(asked, here[i])
			}
		}
	}
	steps := make(map[uint64][][]gapStep)
	if len(asked) == 0 {
		return steps, nil
	}
	found := make([][]gapStep, len(shards.All()))
	err = shards.Each(func(at int, l *ledger.Ledger) (err error) {
		found[at], err = stepsOf(ctx, l, asked)
		return err
	})
	for at, list := range found {
		for _, s := range list {
			if steps[s.gap()] == nil {
				steps[s.gap()] = make([][]gapStep, len(found))
			}
			steps[s.gap()][at] = append(steps[s.gap()][at], s)
		}
	}
	for gap, of := range steps {
		if len(slices.DeleteFunc(slices.Clone(of), func(own []gapStep) bool { return len(own) == 0 })) < 2 {
			delete(steps, gap)
		}
	}
	return steps, err
}

// gapsHere returns the digests of the gaps that have a step on a shard, in the session if there is one.
func gapsHere(ctx context.Context, l *ledger.Ledger, session string) (gaps []uint64, _ error) {
	for row := range l.SQL(files).Rows(ctx, "gaps_here", chsql.Params{"session": chsql.Text(session)}) {
		var gap uint64
		if err := row.Scan(&gap); err != nil {
			return nil, fmt.Errorf("look for gaps: %w", err)
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}

// stepsOf returns the steps of some gaps on a shard.
func stepsOf(ctx context.Context, l *ledger.Ledger, gaps []uint64) (steps []gapStep, _ error) {
	for part := range slices.Chunk(gaps, chsql.MostValues) {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		err = visitRows(ctx, l, l.SQL(files).Text("gap_steps_of"), map[string]string{"gaps": string(text)}, func(row []any) {
			steps = append(steps, row)
		})
		if err != nil {
			return nil, err
		}
	}
	return steps, nil
}
