package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/internal/idtable"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// tally holds the counts for the ends of the documents.
type tally struct {
	records, events, erased, withheld, unread   uint64
	traced, redactions, omissions, drops, seals uint64
	assemblies, calls, toldAgain                uint64
	contradictions                              []contradiction
}

// scopeIDs holds the common value of each correlation id over all records.
type scopeIDs struct {
	value   [20]string
	several [20]bool
}

func (s *scopeIDs) see(c *schema.Correlation) {
	for i, f := range schema.CorrelationFields {
		id := *f.Of(c)
		switch {
		case id == "" || s.several[i] || s.value[i] == id:
		case s.value[i] == "":
			s.value[i] = id
		default:
			s.several[i] = true
		}
	}
}

// scopeColumns are the correlation ids in a scope of Agent Evidence.
var scopeColumns = []string{"runtime_id", "session_id", "thread_id", "turn_id", "task_id", "run_id", "attempt_id", "step_id", "tool_call_id", "action_id", "context_id"}

// scopeDocument returns the scope with every id that all records of the pack share.
func scopeDocument(b *Builder) []byte {
	var o object
	o.begin().text("scope_id", evidenceID(kind(b.header.Scope.Kind), scopeID(b.header.Scope)))
	s := b.header.Scope
	asked := map[string]string{"session_id": s.Session, "run_id": s.Run, "turn_id": s.Turn, "task_id": s.Task, "attempt_id": s.Attempt}
	for i, f := range schema.CorrelationFields {
		if !slices.Contains(scopeColumns, f.Column) {
			continue
		}
		id := b.scope.value[i]
		if b.scope.several[i] {
			id = ""
		}
		if id = cmp.Or(asked[f.Column], id); id != "" {
			o.text(f.Column, plainID(id))
		}
	}
	return slices.Clone(o.end())
}

// maxGaps bounds the open gaps that the pack lists. Further gaps are only counted.
const maxGaps = 1000

// gap is an open question for missing context.
type gap struct {
	log              int
	index            int64
	at               time.Time
	status           schema.MissingStatus
	id, owner, label string
}

// gaps holds the latest state of the open gaps.
type gaps struct {
	open map[uint64]gap
	more uint64 // number of open gaps beyond maxGaps
}

func (g *gaps) see(log int, r *pack.Record, fact schema.Fact) {
	var m *schema.Missing
	switch f := fact.(type) {
	case *schema.MissingDetected:
		m = &f.Missing
	case *schema.MissingRequested:
		m = &f.Missing
	case *schema.MissingResolved:
		m = &f.Missing
	default:
		return
	}
	key := idtable.Hash(m.MissingID)
	before, known := g.open[key]
	if m.Status == schema.StatusResolved {
		delete(g.open, key)
		return
	}
	if !known && len(g.open) >= maxGaps {
		g.more++
		return
	}
	g.open[key] = gap{
		log: log, index: r.LogIndex, at: r.Event.Time, status: m.Status, id: m.MissingID,
		owner: clip(cmp.Or(m.RequestedFrom.ID(), before.owner), 256), label: clip(cmp.Or(m.UserSummary, m.Question, before.label), 256),
	}
}

// list returns the open gaps in the order of their latest records.
func (g *gaps) list() []gap {
	var list []gap
	for _, open := range g.open {
		list = append(list, open)
	}
	slices.SortFunc(list, func(x, y gap) int { return cmp.Or(cmp.Compare(x.log, y.log), cmp.Compare(x.index, y.index)) })
	return list
}

// clip shortens a text to n runes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-1]) + "…"
}

// maxConflicts bounds the selections that are named as broken.
const maxConflicts = 100

// conservation checks that candidates = selected + omitted.
type conservation struct {
	checked, unstated, broken uint64
	named                     []string // records of broken selections
}

func (c *conservation) see(record string, fact schema.Fact) {
	f, ok := fact.(*schema.SelectionCompleted)
	if !ok {
		return
	}
	if f.Parts != nil && *f.Parts > 1 || len(f.Candidates) == 0 {
		c.unstated++ // one of several parts, or without candidates to compare with
		return
	}
	c.checked++
	decided := make(map[string]int, len(f.Candidates))
	for i := range f.Selected {
		decided[f.Selected[i].ItemRef.ID()]++
	}
	sound := true
	for i := range f.Omitted {
		decided[f.Omitted[i].ItemRef.ID()]++
		sound = sound && f.Omitted[i].Reason != ""
	}
	considered := make(map[string]bool, len(f.Candidates))
	for _, candidate := range f.Candidates {
		considered[candidate.ID()] = true
		sound = sound && decided[candidate.ID()] == 1
	}
	for id := range decided {
		sound = sound && considered[id]
	}
	if sound {
		return
	}
	if c.broken++; len(c.named) < maxConflicts {
		c.named = append(c.named, record)
	}
}

func plural(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %ss", thousands(n), one)
}

// thousands formats n with commas.
func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
