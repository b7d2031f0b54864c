package view

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/answer"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/river"
)

// facts returns the figures that answer the first questions about a session.
func facts(r river.River) (list []Fact) {
	calls := r.All()
	if len(calls) == 0 {
		return nil
	}
	list = append(list, peak(calls), cuts(r))
	if f, ok := readShare(calls); ok {
		list = append(list, f)
	}
	if f, ok := again(calls); ok {
		list = append(list, f)
	}
	if f, ok := notInTheLog(calls); ok {
		list = append(list, f)
	}
	if r.Redactions > 0 || !r.Billed {
		list = append(list, Fact{Value: number(int64(r.Redactions)), About: "redactions: content withheld under a policy"})
	}
	if r.Gaps > 0 {
		list = append(list, Fact{Value: number(int64(r.Gaps)), About: fmt.Sprintf("%s of missing context, %d open", noun(r.Gaps, "gap"), r.OpenGaps), Warn: r.OpenGaps > 0})
	}
	if f, ok := cost(calls); ok {
		list = append(list, f)
	}
	return list
}

func noun(n int, one string) string {
	if n == 1 {
		return one
	}
	return one + "s"
}

func peak(calls []river.Call) Fact {
	best := slices.MaxFunc(calls, func(a, b river.Call) int { return cmp.Compare(a.Top(), b.Top()) })
	about := "tokens in the largest window"
	if best.Billed == nil {
		about += ", estimated"
	}
	if best.Limit != nil && *best.Limit > 0 {
		about += fmt.Sprintf(", %.0f"+thin+"%% of %s", 100*float64(best.Top())/float64(*best.Limit), spaced(*best.Limit))
	}
	return Fact{Value: number(best.Top()), About: about}
}

func cuts(r river.River) Fact {
	triggers := make(map[string]bool)
	for _, t := range r.Threads {
		for _, c := range t.Cuts {
			if c.IsCompaction() && c.Trigger != "" {
				triggers[strings.ReplaceAll(c.Trigger, "_", " ")] = true
			}
		}
	}
	about := noun(r.Compactions, "compaction")
	if len(triggers) > 0 {
		about += ", trigger: " + words(strings.Join(slices.Sorted(maps.Keys(triggers)), ", "))
	}
	if r.Elisions > 0 {
		about += ", and " + plural(r.Elisions, "elision pass")
		about = strings.ReplaceAll(about, "passs", "passes")
	}
	return Fact{Value: number(int64(r.Compactions)), About: about}
}

func readShare(calls []river.Call) (Fact, bool) {
	var read, billed int64
	for _, c := range calls {
		if c.Read != nil && c.Billed != nil {
			read, billed = read+*c.Read, billed+*c.Billed
		}
	}
	return Fact{Value: template.HTML(percent(read, billed)), About: "of billed input was read from the cache"}, billed > 0
}

// again sums the tokens that were computed again: as billed, or as estimated without a bill.
func again(calls []river.Call) (Fact, bool) {
	var lost, expected int64
	breaks, known := 0, false
	causes := make(map[string]int64)
	for _, c := range calls {
		if c.Again != nil && c.Billed == nil {
			expected += *c.Again
		}
		paid := c.PaidAgain()
		if paid == nil {
			continue
		}
		known = true
		if *paid > 0 && c.Cause != "append" && c.Cause != "first" {
			lost += *paid
			causes[c.Cause] += *paid
			breaks++
		}
	}
	if known {
		about := "tokens paid again after " + plural(breaks, "break") + " of the cache"
		if len(causes) > 0 {
			most := slices.SortedFunc(maps.Keys(causes), func(a, b string) int { return cmp.Or(cmp.Compare(causes[b], causes[a]), cmp.Compare(a, b)) })
			about += ", most by " + words(most[0])
		}
		return Fact{Value: number(lost), About: about, Warn: lost > 0}, true
	}
	return Fact{Value: number(expected), About: "tokens computed again after changes, expected", Warn: expected > 0}, expected > 0
}

func notInTheLog(calls []river.Call) (Fact, bool) {
	var rest, billed int64
	unsized := false
	for _, c := range calls {
		unsized = unsized || c.Unsized > 0
		if u := c.Unexplained(); u != nil {
			rest, billed = rest+*u, billed+*c.Billed
		}
	}
	about := "of what was billed is not in the log"
	if unsized {
		about += ", or has an unknown size"
	}
	return Fact{Value: template.HTML(percent(rest, billed)), About: about}, billed > 0
}

// callCost writes what a call cost, "" if it is not known.
func callCost(c river.Call) string { return costOf(c.Cost, c.Currency, c.AtLeast) }

// sessionCost writes what a session cost by the price list, "" if it is not known. row is of sessions.
func sessionCost(row answer.Row) string {
	currencies := row.Texts("priced_currencies")
	if len(currencies) != 1 {
		return ""
	}
	return costOf(row.Float("at_least_cost"), currencies[0], row["cost_complete"] != true)
}

// costOf writes a sum, or a lower bound of it. It is "" for an unknown sum.
func costOf(sum *float64, currency string, atLeast bool) string {
	switch {
	case sum == nil:
		return ""
	case atLeast:
		return "at least " + money(*sum, currency)
	}
	return money(*sum, currency)
}

func cost(calls []river.Call) (Fact, bool) {
	sums := make(map[string]float64)
	priced, bounds := 0, 0
	for _, c := range calls {
		if c.Cost != nil {
			sums[c.Currency] += *c.Cost
			priced++
		}
		if c.AtLeast {
			bounds++
		}
	}
	if len(sums) != 1 {
		return Fact{}, false
	}
	for currency, sum := range sums {
		about := "cost of the session"
		if priced < len(calls) {
			about = fmt.Sprintf("cost of %d of %d calls; the others have no price", priced, len(calls))
		}
		if bounds > 0 {
			about += fmt.Sprintf(", at least: %s have no final count of tokens", plural(bounds, "call"))
		}
		return Fact{Value: template.HTML(template.HTMLEscapeString(money(sum, currency))), About: about}, true
	}
	return Fact{}, false
}
