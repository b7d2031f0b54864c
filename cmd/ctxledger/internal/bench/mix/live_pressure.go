package mix

import (
	"fmt"

	"github.com/ctxledger/ctxledger/schema"
)

// rungs are the names of the ladder, from the first.
var rungs = []string{"drop_retrieved", "trim_messages", "summarize_messages", "compact_tool_outputs", "context_limit"}

// press climbs the ladder if the window does not fit, and returns the omitted pieces. press
// records every rung, also rungs that are not needed.
func press(l *live, before int) (omitted []piece) {
	if l.fits() {
		return nil
	}
	omitted = dropMemory(l)
	outcome := schema.OutcomeInsufficient
	if l.fits() {
		outcome = schema.OutcomeApplied
	}
	rung(l, 1, outcome, before, omitted)
	if outcome == schema.OutcomeApplied {
		skip(l, 2)
		return omitted
	}
	from := l.tokens()
	rung(l, 2, schema.OutcomeInsufficient, from, nil)
	replaced := compact(l)
	rung(l, 3, schema.OutcomeApplied, from, replaced)
	skip(l, 4)
	return append(omitted, replaced...)
}

func (l *live) fits() bool { return l.tokens() <= limitTokens && len(l.window) <= mostPieces }

func rung(l *live, step int, outcome schema.PressureOutcome, before int, touched []piece) {
	call := l.callID()
	f := &schema.PressureApplied{
		PressureID: fmt.Sprintf("pressure:%s:%d", call, step), CallID: call, Step: new(int64(step)), Name: rungs[step-1], Policy: "pressure_ladder",
		Model: model, Outcome: outcome, TokensBefore: new(int64(before)), TokensAfter: new(int64(l.tokens())), LimitTokens: new(int64(limitTokens)),
	}
	for _, p := range touched {
		f.ItemRefs = append(f.ItemRefs, schema.Ref(p.id))
	}
	if outcome == schema.OutcomeInsufficient && len(touched) == 0 {
		f.Reason = "nothing may be left out"
	}
	l.record(f)
}

// skip records the rungs from first on as not needed.
func skip(l *live, first int) {
	for step := first; step <= len(rungs); step++ {
		rung(l, step, schema.OutcomeSkipped, l.tokens(), nil)
	}
}

// dropMemory leaves out one piece from memory, if there is one.
func dropMemory(l *live) []piece {
	for _, p := range l.window {
		if p.layer == "memory" {
			l.drop(p.id)
			return []piece{p}
		}
	}
	return nil
}

// compact replaces the older part of the window by a summary, and returns the replaced pieces.
func compact(l *live) (replaced []piece) {
	call := l.callID()
	tail := l.tail()
	kept := l.window[:0:0]
	for i, p := range l.window {
		if p.position < 0 || i >= tail {
			kept = append(kept, p)
		} else {
			replaced = append(replaced, p)
		}
	}
	refs, tokens := make([]schema.Ref, len(replaced)), 0
	for i, p := range replaced {
		refs[i], tokens = schema.Ref(p.id), tokens+p.tokens
	}
	id, after := "summary-"+call, l.between(180, 420)
	first, last := replaced[0], replaced[len(replaced)-1]
	lost := []string{"file contents; they can be read again"}
	l.record(&schema.CompactionCompleted{Compaction: schema.Compaction{
		CompactionID: "compaction-" + call, CallID: call, Scope: "thread", SourceItemRefs: refs,
		SourceWindow: &schema.SourceWindow{
			ThreadID: l.ids.ThreadID, FirstItemRef: schema.Ref(first.id), LastItemRef: schema.Ref(last.id),
			ItemCount: new(int64(len(replaced))), Tokens: new(int64(tokens)),
		},
		SummaryRef: schema.Ref(id), Method: schema.MethodStructuredDigest, Trigger: schema.TriggerTokenPressure, LossNotes: lost,
		ReplacementPolicy: "replace_window", TokensBefore: new(int64(tokens)), TokensAfter: new(int64(after)),
	}})
	l.record(&schema.SummaryCreated{Summary: schema.Summary{
		SummaryID: id, SummaryKind: "thread_summary", Tokens: new(int64(after)), SourceItemRefs: refs, CoversThroughPosition: new(last.position), LossNotes: lost,
	}})
	l.window = append(kept, piece{id, "summary", "system", after, last.position})
	return replaced
}

// tail is the start of the part of the window that a compaction keeps.
func (l *live) tail() int {
	i, tokens := len(l.window), 0
	for i > 0 && len(l.window)-i < piecesKept && tokens < limitTokens/2 {
		i--
		tokens += l.window[i].tokens
	}
	return i
}

// elide shortens the results of earlier turns.
func elide(l *live) {
	f := &schema.ElisionApplied{Elision: schema.Elision{
		PassID: fmt.Sprintf("elision:turn-%d", l.turn), Policy: "before_last_user", Trigger: "user_message", Level: schema.ElideOffloaded,
		FirstChangedPosition: new(int64(l.between(900, 4000))),
	}}
	var before, after int64
	for i, p := range l.window {
		const stub = 14
		if p.layer != "tool_results" || p.tokens <= stub {
			continue
		}
		f.ElidedItemRefs = append(f.ElidedItemRefs, schema.Elided{
			ItemRef: schema.Ref(p.id), Position: new(p.position), Level: schema.ElideOffloaded,
			TokensBefore: new(int64(p.tokens)), TokensAfter: new(int64(stub)), ReloadRef: schema.Ref("file:" + l.path()),
		})
		before, after = before+int64(p.tokens), after+stub
		l.window[i].tokens = stub
	}
	if len(f.ElidedItemRefs) == 0 {
		return
	}
	f.TokensBefore, f.TokensAfter, f.TokensSaved = new(before), new(after), new(before-after)
	l.record(f)
}
