package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
)

// CompactionsPage is the content of the page of a session's compactions.
type CompactionsPage struct {
	TablesPage
	Session, ID string // link and id
	Keys        []river.Key
	Cuts        []Compaction
}

// Compaction is a summary that replaced a window, with what came before and after it.
type Compaction struct {
	Number, Of  int
	At          string
	Record      string
	About       string // trigger, method and sizes
	Bars        []CompactionBar
	Lost        string // notes of the producer
	Builds      []string
	Again       []ReadAgain
	AgainTokens int64
	Next        string // what the next call paid for
}

// CompactionBar is the window before or after a compaction.
type CompactionBar struct {
	river.Bar
	Name, Href string
	Y          float64
}

// ReadAgain is a file that was read again after a compaction.
type ReadAgain struct {
	Reads, Href string
	Tokens      *int64
	Calls       int64 // from the compaction on
}

// barWidth is the width of the larger of two bars.
const barWidth = 960.0

// CompactionsOf prepares the compactions of a session, from the rows of compaction-quality,
// compaction-lineage and compacted-then-read. The links of a call and of an item are given.
func CompactionsOf(a river.Answers, quality, lineage, again []answer.Row, call func(river.Call) string, item func(turn, id string) string) (list []Compaction, keys []river.Key) {
	r := river.Of(a)
	var cuts []river.Cut
	for _, t := range r.Threads {
		for _, c := range t.Cuts {
			if c.IsCompaction() {
				cuts = append(cuts, c)
			}
		}
	}
	slices.SortStableFunc(cuts, func(a, b river.Cut) int { return a.At.Compare(b.At) })
	for i, cut := range cuts {
		c := Compaction{Number: i + 1, Of: len(cuts), At: clock(cut.At), Record: shorten(cut.Record), About: aboutCut(cut)}
		if before, after, ok := r.Around(cut); ok {
			for j, bar := range river.DrawBars([]river.Call{before, after}, barWidth) {
				c.Bars = append(c.Bars, CompactionBar{bar, []string{"before", "after"}[j], call(bar.Call), float64(j) * (river.BarHeight + 6)})
			}
			c.Next = paid(after)
		}
		for _, row := range quality {
			if row.Text("compaction_id") == cut.Record {
				c.About += ", " + words(row.Text("method"))
				c.Lost = bounded(strings.Join(row.Texts("loss_notes"), "; "))
			}
		}
		for _, row := range lineage {
			if row.Text("compaction_id") == cut.Record && row.Count("generation") > 0 {
				c.Builds = append(c.Builds, shorten(row.Text("ancestor_id")))
			}
		}
		for _, row := range again {
			if row.Text("compaction_id") != cut.Record {
				continue
			}
			tokens := row.Number("again_tokens")
			if tokens != nil {
				c.AgainTokens += *tokens
			}
			c.Again = append(c.Again, ReadAgain{shorten(row.Text("reads")), item(row.Text("again_turn_id"), row.Text("again_item_id")), tokens, row.Count("calls_between")})
		}
		list = append(list, c)
	}
	return list, r.Keys
}

func aboutCut(c river.Cut) string {
	sizes := func(n *int64) string {
		if n == nil {
			return "?"
		}
		return spaced(*n)
	}
	text := sizes(c.Before) + " → " + sizes(c.After) + " tokens"
	if c.Trigger != "" {
		text += ", trigger: " + words(c.Trigger)
	}
	return text
}

// paid says what a call computed again, and what that cost.
func paid(c river.Call) string {
	again, how := c.PaidAgain(), "billed"
	if again == nil {
		again, how = c.Again, "expected"
	}
	if again == nil {
		return ""
	}
	text := fmt.Sprintf("%s of its %s tokens, %s", spaced(*again), spaced(c.Top()), how)
	if c.BreakCost != nil && *c.BreakCost > 0 {
		text += ", which cost " + money(*c.BreakCost, c.Currency)
	}
	return text
}
