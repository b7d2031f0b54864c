package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

const (
	// maxRefs and maxRefBytes limit the list of references in one event. A longer list becomes
	// one reference to the stretch of the log.
	maxRefs     = 500
	maxRefBytes = 40 << 10
	// maxElided is the most results that one elision event lists. A longer pass is split into
	// numbered parts.
	maxElided = 150
)

// Compaction is the replacement of a window by shorter content.
type Compaction struct {
	ID       string
	Retained func(*Entry) bool // entries that stay in the window
	Summary  schema.Ref        // "" when the log has no summary
	Method   schema.CompactionMethod
	Trigger  schema.CompactionTrigger
	Policy   string // replacement policy where no tail is retained
	Before   *int64 // tokens, from the log
	After    *int64
	Extra    map[string]any // of the fact's metadata

	Summarizer string // the call that wrote the summary, "" when unknown
}

// Compaction emits the fact that a summary replaces the window so far, and ends the window.
func (w *Writer) Compaction(o *Origin, c *Compaction) error {
	t := o.Thread
	source, tail := t.Log.compact(t.Key.Thread, c.Retained)
	t.covered = &source
	fact := &schema.CompactionCompleted{Common: schema.Common{Metadata: o.metadata()}, Compaction: schema.Compaction{
		CompactionID: c.ID, Scope: "thread",
		SourceItemRefs: slices.DeleteFunc(source.refs(), func(r schema.Ref) bool { return r == c.Summary }),
		SourceWindow:   source.window(), SummaryRef: c.Summary,
		Method: c.Method, Trigger: c.Trigger, ReplacementPolicy: c.Policy,
		RetainedTailRefs: (&stretch{thread: t.Key.Thread, entries: tail}).refs(),
		TokensBefore:     c.Before, TokensAfter: c.After, SummarizerCallID: c.Summarizer,
	}}
	if tail.Len() > 0 {
		fact.ReplacementPolicy += "_keep_tail"
	}
	if source.partial {
		fact.Metadata["partial_window"] = true
	}
	maps.Copy(fact.Metadata, c.Extra)
	w.Report.boundary(t.Key.Session, c.ID, boundaryCompaction)
	return w.orProblem(o, w.fact(o, fact, "", c.ID, string(fact.SummaryRef)))
}

// refs lists the items of the stretch. For a long stretch it returns one reference to the
// stretch.
func (s *stretch) refs() []schema.Ref {
	if s.entries.Len() == 0 {
		return nil
	}
	bytes := 0
	for _, e := range s.entries.All() {
		bytes += len(e.item) + 3
	}
	if s.entries.Len() > maxRefs || bytes > maxRefBytes {
		return []schema.Ref{s.ref()}
	}
	refs := make([]schema.Ref, s.entries.Len())
	for i, e := range s.entries.All() {
		refs[i] = schema.Ref(e.item)
	}
	return refs
}

// ref refers to the stretch as a range of positions of the thread's item log. ref refers only to
// the thread when this log holds no entry of the stretch.
func (s *stretch) ref() schema.Ref {
	members := map[string]any{"id": s.thread, "kind": "log_range", "thread_id": s.thread}
	if n := s.entries.Len(); n > 0 {
		first, last := s.entries.At(0).position, s.entries.At(n-1).position
		members["id"] = fmt.Sprintf("%s@%d-%d", s.thread, first, last)
		members["first_position"], members["last_position"], members["item_count"] = first, last, n
	}
	object, err := json.Marshal(members, json.Deterministic(true))
	if err != nil { // strings and integers always encode
		return schema.Ref(s.thread)
	}
	return schema.Ref(object)
}

// SummaryText collects the totals over the items of a summary.
type SummaryText struct {
	tokens  int64
	known   bool
	size    int64
	pieces  int
	digest  string // digest of the only piece
	text    strings.Builder
	unknown bool
}

func (s *SummaryText) Add(p *Piece, item *schema.ItemAdded) {
	if p.Layer != LayerSummary {
		return
	}
	s.pieces++
	if p.Text == nil || p.withheld {
		s.unknown = true
		return
	}
	s.size += *p.Size
	s.digest = item.ContentDigest
	if s.text.Len() < maxInlineBytes {
		s.text.WriteString(*p.Text)
	}
	if item.TokenEstimate == nil {
		s.unknown = true
		return
	}
	s.known = true
	s.tokens += *item.TokenEstimate
}

// Summary emits the summary of a record, after the items of the summary. The summary covers the
// stretch that the thread's last compaction replaced.
func (w *Writer) Summary(o *Origin, id string, text *SummaryText) error {
	t := o.Thread
	fact := &schema.SummaryCreated{Common: schema.Common{Metadata: o.metadata()}, Summary: schema.Summary{
		SummaryID: id, SummaryKind: "thread_summary", ContentRef: o.ref(),
	}}
	if text.pieces > 0 && (text.size > 0 || !text.unknown) {
		fact.ByteSize = &text.size
	}
	if text.pieces == 1 {
		fact.ContentDigest = text.digest
	}
	if text.known && !text.unknown {
		fact.Tokens = &text.tokens
	}
	covered := &stretch{thread: t.Key.Thread}
	if t.covered != nil {
		covered, t.covered = t.covered, nil
	}
	fact.SourceItemRefs = []schema.Ref{covered.ref()}
	if fact.SourceItemRefs[0].ID() == id { // a log may call a thread and a summary the same
		fact.SourceItemRefs[0] = schema.Ref(covered.thread + "@")
	}
	if n := covered.entries.Len(); n > 0 {
		fact.CoversThroughPosition = &covered.entries.At(n - 1).position
	}
	w.Report.boundary(t.Key.Session, id, boundarySummary)
	if w.Opts.StoreText && text.size > 0 && text.size < maxInlineBytes {
		inline := *fact
		inline.Content = text.text.String()
		if err := w.fact(o, &inline, "", id); err != errFactTooLarge {
			return err
		}
	}
	return w.orProblem(o, w.fact(o, fact, "", id))
}

// Elision is a pass that replaced items by stubs.
type Elision struct {
	ID      string
	Policy  string
	Trigger string
	Level   schema.ElisionLevel
	Items   []schema.Elided // at least one item
	Before  *int64          // tokens of the items
	After   *int64
	Saved   *int64
	Extra   map[string]any // of the facts' metadata
}

// Elision emits the fact that a pass replaced items by stubs. Many items are split into several
// facts.
func (w *Writer) Elision(o *Origin, e *Elision) error {
	w.Report.boundary(o.Thread.Key.Session, e.ID, boundaryElision)
	parts := (len(e.Items) + maxElided - 1) / maxElided
	for part := range parts {
		fact := &schema.ElisionApplied{Common: schema.Common{Metadata: o.metadata()}, Elision: schema.Elision{
			PassID: e.ID, Policy: e.Policy, Trigger: e.Trigger, Level: e.Level,
			ElidedItemRefs: e.Items[part*maxElided : min((part+1)*maxElided, len(e.Items))],
		}}
		maps.Copy(fact.Metadata, e.Extra)
		if parts > 1 {
			fact.PassID = fmt.Sprintf("%s:%d", e.ID, part+1)
			fact.Metadata["part"], fact.Metadata["parts"] = part+1, parts
		}
		if part == 0 { // only the first part holds the totals of the pass
			fact.TokensBefore, fact.TokensAfter, fact.TokensSaved = e.Before, e.After, e.Saved
		}
		if err := w.orProblem(o, w.fact(o, fact, "", e.ID, fmt.Sprint(part))); err != nil {
			return err
		}
	}
	return nil
}
