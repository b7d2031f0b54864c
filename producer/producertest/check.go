package producertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// Check tests the recording against these rules and reports each violation:
//
//   - Sequences are contiguous for each source and session, from 1. Sequences that a fact
//     declares as dropped count as used.
//   - Conservation: over all parts of a selection in one attempt, candidates = selected +
//     omitted. Not checked in a session with dropped facts.
//   - An envelope lists exactly the sequences of its turn's facts, except dropped ones, and
//     is the last.
//   - An injection names an assembly of its attempt that was recorded before it. Not
//     checked in a session with dropped facts.
//
// Send already checks each event against the contract. A turn that was never sealed is no
// violation.
func (r *Recorder) Check(t testing.TB) {
	t.Helper()
	events := r.Events()
	whole := withoutLosses(events)
	for _, breach := range slices.Concat(sequenceGaps(events), tornTurns(events), unconserved(whole), unassembled(whole)) {
		t.Errorf("producertest: %s", breach)
	}
}

// A lane is one series of sequences.
type lane struct{ source, session string }

func laneOf(e Event) lane { return lane{e.Source, e.SessionID} }

// droppedIn returns the sequences that are declared as dropped.
func droppedIn(events Events) map[lane]map[int64]bool {
	dropped := make(map[lane]map[int64]bool)
	for _, e := range events {
		fact, ok := e.Fact.(*schema.FactsDropped)
		if !ok {
			continue
		}
		for _, s := range fact.Sequences {
			key := lane{s.Source, e.SessionID}
			if dropped[key] == nil {
				dropped[key] = make(map[int64]bool)
			}
			for _, n := range expanded(s.Ranges) {
				dropped[key][n] = true
			}
		}
	}
	return dropped
}

// withoutLosses leaves out the sessions with dropped facts.
func withoutLosses(events Events) Events {
	lossy := make(map[string]bool)
	for _, e := range events.Of(schema.TypeFactsDropped) {
		lossy[e.SessionID] = true
	}
	return events.where(func(e Event) bool { return !lossy[e.SessionID] })
}

func sequenceGaps(events Events) (breaches []string) {
	dropped := droppedIn(events)
	last := make(map[lane]int64)
	for _, e := range events {
		if e.Sequence == nil {
			continue
		}
		key := laneOf(e)
		next := last[key] + 1
		for dropped[key][next] {
			next++
		}
		if *e.Sequence != next {
			breaches = append(breaches, fmt.Sprintf("session %q: %s has sequence %d, want %d", e.SessionID, e.Fact.EventType(), *e.Sequence, next))
		}
		last[key] = *e.Sequence
	}
	return breaches
}

// expanded returns every number of closed ranges.
func expanded(ranges [][2]int64) (numbers []int64) {
	for _, r := range ranges {
		for n := r[0]; n <= r[1]; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// A decision is a selection that is merged from its parts.
type decision struct {
	candidates, decided map[string]int // number of occurrences of each item
	parts, seen         int64
}

func unconserved(events Events) (breaches []string) {
	type key struct{ session, attempt, selection string }
	decisions := make(map[key]*decision)
	for _, e := range events {
		fact, ok := e.Fact.(*schema.SelectionCompleted)
		if !ok {
			continue
		}
		id := key{e.SessionID, e.AttemptID, fact.SelectionID}
		d := decisions[id]
		if d == nil {
			d = &decision{candidates: make(map[string]int), decided: make(map[string]int), parts: 1}
			decisions[id] = d
		}
		d.seen++
		if fact.Parts != nil {
			d.parts = *fact.Parts
		}
		for _, ref := range fact.Candidates {
			d.candidates[ref.ID()]++
		}
		for _, c := range slices.Concat(fact.Selected, fact.Omitted) {
			d.decided[c.ItemRef.ID()]++
		}
	}
	for id, d := range decisions {
		if d.seen != d.parts {
			breaches = append(breaches, fmt.Sprintf("selection %q is recorded %d times and has %d parts; check that each call has its own id", id.selection, d.seen, d.parts))
		}
		if len(d.candidates) > 0 && !maps.Equal(d.candidates, d.decided) {
			breaches = append(breaches, fmt.Sprintf("selection %q: its candidates are not its selected and omitted items", id.selection))
		}
	}
	slices.Sort(breaches)
	return breaches
}

func tornTurns(events Events) (breaches []string) {
	dropped := droppedIn(events)
	for i, e := range events {
		envelope, ok := e.Fact.(*schema.EnvelopeCreated)
		if !ok || e.TurnID == "" {
			continue
		}
		used := make(map[string][]int64)
		for _, other := range events.Session(e.SessionID).Turn(e.TurnID) {
			if other.Sequence != nil {
				used[other.Source] = append(used[other.Source], *other.Sequence)
			}
		}
		sealed := make(map[string][]int64)
		for _, s := range envelope.Sequences {
			for _, n := range expanded(s.Ranges) {
				if !dropped[lane{s.Source, e.SessionID}][n] {
					sealed[s.Source] = append(sealed[s.Source], n)
				}
			}
		}
		if !maps.EqualFunc(used, sealed, slices.Equal) {
			breaches = append(breaches, fmt.Sprintf("turn %q used the sequences %v, but its envelope lists %v", e.TurnID, used, sealed))
		}
		if after := events[i+1:].Session(e.SessionID).Turn(e.TurnID); len(after) > 0 {
			breaches = append(breaches, fmt.Sprintf("turn %q continues after its envelope with\n%s", e.TurnID, after))
		}
	}
	return breaches
}

func unassembled(events Events) (breaches []string) {
	type key struct{ session, attempt, assembly string }
	known := make(map[key]bool)
	for _, e := range events {
		switch fact := e.Fact.(type) {
		case *schema.AssemblyCreated:
			known[key{e.SessionID, e.AttemptID, fact.AssemblyID}] = true
		case *schema.InjectionApplied:
			if fact.AssemblyID != "" && !known[key{e.SessionID, e.AttemptID, fact.AssemblyID}] {
				breaches = append(breaches, fmt.Sprintf("injection %q names the assembly %q, which was not recorded", fact.InjectionID, fact.AssemblyID))
			}
		}
	}
	return breaches
}
