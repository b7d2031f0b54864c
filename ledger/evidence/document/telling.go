package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// tellings holds what several sources say about the same: tellings of a log, and records of a call.
type tellings struct {
	by    map[told]told   // what counts, by what it tells better
	count map[told]uint64 // records of what does not count
	calls map[messageKey]*toldCall
	order []messageKey // of the first records
}

// told is a source, or its record of one call.
type told struct{ source, call string }

// messageKey is a model call. Records with the provider's id of a message are of one call.
type messageKey struct{ attempt, message string }

// toldCall is a call with its records, in the order of the log.
type toldCall struct{ records []callRecord }

// callRecord is a record of a call.
type callRecord struct {
	node, call, source string
	rank               int  // of its fidelity, and whether it counts
	better             bool // another source tells the call better
	output             int64
	at                 time.Time
	said               [len(callValues)]string
}

// callValues are the values that can differ between records of one call.
var callValues = [...]string{
	"model", "uncached_input", "cache_read", "cache_write_5m", "cache_write_1h", "cache_write", "output", "reasoning", "stop_reason",
}

// validateTellings checks that each source of [pack.Header.Retold] tells the log of the source that counts,
// or a part of it. Pseudonyms say nothing about logs.
func validateTellings(h pack.Header) error {
	retold := make(map[told]bool)
	for _, r := range h.Retold {
		retold[told{r.Source, r.Call}] = true
	}
	for _, r := range h.Retold {
		switch {
		case h.Rules < 3:
			return fmt.Errorf("pack %s: want rules 3 for tellings", h.ID)
		case h.Rules < 4 && (r.Call != "" || r.ByCall != ""):
			return fmt.Errorf("pack %s: want rules 4 for calls that slices of a log cut", h.ID)
		case (r.Call == "") != (r.ByCall == ""):
			return fmt.Errorf("pack %s: the source %q tells a call for a log", h.ID, clip(r.By, 200))
		case retold[told{r.By, r.ByCall}]:
			return fmt.Errorf("pack %s: the source %q counts and does not count", h.ID, clip(r.By, 200))
		}
		mine, told := telling.Parse(r.Source)
		other, tells := telling.Parse(r.By)
		if !h.RedactIDs && (!told || !tells || r.Call == "" && mine.Log != other.Log && !other.IsSliceOf(mine)) {
			return fmt.Errorf("pack %s: the source %q does not tell the log of %q", h.ID, clip(r.By, 200), clip(r.Source, 200))
		}
	}
	return nil
}

func (t *tellings) begin(h pack.Header) {
	t.by, t.count, t.calls = make(map[told]told), make(map[told]uint64), make(map[messageKey]*toldCall)
	for _, r := range h.Retold {
		t.by[told{r.Source, r.Call}] = told{r.By, r.ByCall}
	}
}

// of returns what does not count and has the fact: its source, or the record of its call. It returns false
// for a fact that counts.
func (t *tellings) of(e *schema.Event, fact schema.Fact) (of told, better bool) {
	of.source = e.Source
	if _, better = t.by[of]; better {
		return of, true
	}
	switch f := fact.(type) {
	case *schema.AssemblyCreated:
		of.call = f.CallID
	case *schema.UsageRecorded:
		of.call = f.CallID
	}
	_, better = t.by[of]
	return of, better
}

// toldBy returns the source that tells a fact better, "" for a fact that counts.
func (t *tellings) toldBy(e *schema.Event, fact schema.Fact) string {
	of, _ := t.of(e, fact)
	return t.by[of].source
}

// leavesOut reports whether documents leave out a fact, because another source tells its log or its call
// better. Views of a ledger leave out the same types, which are those of an import.
func (t *tellings) leavesOut(e *schema.Event, fact schema.Fact) bool {
	of, better := t.of(e, fact)
	if !better {
		return false
	}
	switch fact.(type) {
	case *schema.ScopeOpened, *schema.ItemAdded, *schema.ItemUpdated, *schema.ItemRemoved, *schema.LogAppended, *schema.AssemblyCreated,
		*schema.UsageRecorded, *schema.ElisionApplied, *schema.ElisionReloaded, *schema.CompactionStarted, *schema.CompactionCompleted,
		*schema.CompactionFailed, *schema.CompactionDiscarded, *schema.SummaryCreated, *schema.SummaryRefreshed:
		t.count[of]++
		return true
	}
	return false
}

// see keeps a record of a call.
func (t *tellings) see(node string, recorded time.Time, e *schema.Event, f *schema.UsageRecorded) {
	key := messageKey{e.AttemptID, cmp.Or(f.ProviderMessageID, f.CallID)}
	call := t.calls[key]
	if call == nil {
		if len(t.calls) >= maxCalls {
			return
		}
		call = &toldCall{}
		t.calls[key] = call
		t.order = append(t.order, key)
	}
	r := callRecord{node: node, call: f.CallID, source: e.Source, rank: 2 * fidelity(e, f.Known).Rank(), output: -1, at: recorded}
	if _, r.better = t.of(e, f); r.better {
		r.rank++
	}
	if f.Usage.Output != nil {
		r.output = *f.Usage.Output
	}
	u := &f.Usage
	r.said[0], r.said[len(r.said)-1] = f.Model, f.StopReason
	for i, n := range []*int64{u.UncachedInput, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, u.CacheWrite, u.Output, u.Reasoning} {
		if n != nil {
			r.said[i+1] = thousands(uint64(max(0, *n)))
		}
	}
	call.records = append(call.records, r)
}

// fidelity returns how a record is known. Older records do not say it.
func fidelity(e *schema.Event, known schema.Known) schema.Fidelity {
	switch {
	case known.Fidelity != "":
		return known.Fidelity
	case strings.HasPrefix(e.Source, telling.ImportSource):
		return schema.FidelityReconstructed
	}
	return schema.FidelityStated
}

// join puts the records of calls that do not count to those that count.
func (t *tellings) join(h pack.Header) {
	at := make(map[told]messageKey)
	for _, key := range t.order {
		for _, r := range t.calls[key].records {
			at[told{r.source, r.call}] = key
		}
	}
	for _, r := range h.Retold {
		from, have := at[told{r.Source, r.Call}]
		to, tells := at[told{r.By, r.ByCall}]
		if r.Call == "" || !have || !tells || from == to {
			continue
		}
		for _, r := range t.calls[from].records {
			at[told{r.source, r.call}] = to
		}
		t.calls[to].records = append(t.calls[to].records, t.calls[from].records...)
		t.calls[from].records = nil
	}
}

// compareTellings adds edges from each record of a call to the record that counts, if another source
// made that one. Records that differ are contradictions.
func compareTellings(b *Builder) {
	b.tellings.join(b.header)
	for _, key := range b.tellings.order {
		records := b.tellings.calls[key].records
		if len(records) == 0 {
			continue
		}
		slices.SortStableFunc(records, func(x, y callRecord) int {
			return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(y.output, x.output), x.at.Compare(y.at))
		})
		best := records[0]
		if b.tally.calls++; best.better {
			continue // a call that the telling that counts does not have
		}
		for i := range records {
			r := &records[i]
			if r.source == best.source {
				continue
			}
			b.tally.toldAgain++
			differs := r.differs(&best)
			if differs == "" {
				b.edge(r.node, best.node, "supports")
				continue
			}
			b.edge(r.node, best.node, "contradicts")
			b.tally.contradictions = append(b.tally.contradictions, contradiction{
				edge: "contradiction:" + strings.TrimPrefix(r.node, string(recordKind)+":"), claim: evidenceID(usageKind, best.call), node: r.node, notes: differs,
			})
		}
	}
}

// contradiction is a record of a call that differs from the record that counts.
type contradiction struct{ edge, claim, node, notes string }

// differs names the values of r that differ from those of the record that counts, "" if none does.
func (r *callRecord) differs(best *callRecord) string {
	var list []string
	for i, name := range callValues {
		if r.said[i] != "" && best.said[i] != "" && r.said[i] != best.said[i] {
			list = append(list, fmt.Sprintf("%s is %s, and %s in the record that counts", name, clip(r.said[i], 100), clip(best.said[i], 100)))
		}
	}
	return strings.Join(list, "; ")
}

// contradictions returns the end of the source map.
func contradictions(b *Builder) []byte {
	if len(b.tally.contradictions) == 0 {
		return []byte("\n],\"contradictions\":[]}\n")
	}
	text := []byte("\n],\"contradictions\":[")
	for i, c := range b.tally.contradictions {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, '\n'), b.line.begin().text("edge_id", c.edge).text("claim_id", c.claim).text("provenance_node_id", c.node).
			text("relationship", "contradicts").text("notes", c.notes).end()...)
	}
	return append(text, "\n]}\n"...)
}

// tellingsDocument returns the tellings for pack.json, nil if each log is told once.
func tellingsDocument(b *Builder) []byte {
	if len(b.header.Retold) == 0 {
		return nil
	}
	text := []byte{'['}
	for i, r := range b.header.Retold {
		if i > 0 {
			text = append(text, ',')
		}
		var o object
		text = append(text, o.begin().text("source", r.Source).text("call_id", r.Call).text("counts", r.By).text("counts_call_id", r.ByCall).
			count("records", b.tellings.count[told{r.Source, r.Call}]).end()...)
	}
	return append(text, ']')
}

// tellingsText returns the lines about tellings for people.
func tellingsText(b *Builder) string {
	var out strings.Builder
	var cut uint64
	for _, r := range b.header.Retold {
		if r.Call != "" {
			cut += b.tellings.count[told{r.Source, r.Call}]
			continue
		}
		fmt.Fprintf(&out, "- %s of the source `%s`, which the source\n  `%s` tells better: documents use the latter\n",
			plural(b.tellings.count[told{r.Source, ""}], "record"), line(r.Source, 200), line(r.By, 200))
	}
	if cut > 0 {
		fmt.Fprintf(&out, "- %s of calls that another part of the log tells, too: documents use that part\n", plural(cut, "record"))
	}
	if b.tally.toldAgain > 0 {
		fmt.Fprintf(&out, "- %s of %s that another source recorded, too; %s differ: source-map.json names the values\n",
			plural(b.tally.toldAgain, "record"), plural(b.tally.calls, "call"), thousands(uint64(len(b.tally.contradictions))))
	}
	return out.String()
}
