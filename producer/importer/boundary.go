package importer

import (
	"fmt"
	"maps"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

const (
	// maxRefs and maxRefBytes bound a list of references in one event. A
	// longer list becomes one reference to the stretch of the log.
	maxRefs     = 500
	maxRefBytes = 40 << 10
	// maxElided is how many results one elision event lists; a longer pass is
	// split into parts that say so.
	maxElided = 150
)

// compaction is a window that something shorter stands for from now on.
type compaction struct {
	id       string
	retained func(*entry) bool // entries that stay as they are
	summary  schema.Ref        // "" when the log has none
	method   schema.CompactionMethod
	trigger  schema.CompactionTrigger
	policy   string // replacement policy where no tail is retained
	before   *int64 // tokens, as the log says
	after    *int64
	extra    map[string]any // of the fact's metadata

	summarizer string // the call that wrote the summary, "" when it is not told
}

// compaction emits the fact that a summary now stands for the window so far,
// and ends the window.
func (w *writer) compaction(o *origin, c *compaction) error {
	t := o.thread
	source, tail := t.log.compact(t.key.thread, c.retained)
	t.covered = &source
	fact := &schema.CompactionCompleted{Common: schema.Common{Metadata: o.metadata()}, Compaction: schema.Compaction{
		CompactionID: c.id, Scope: "thread",
		SourceItemRefs: source.refs(), SourceWindow: source.window(), SummaryRef: c.summary,
		Method: c.method, Trigger: c.trigger, ReplacementPolicy: c.policy,
		RetainedTailRefs: (&stretch{thread: t.key.thread, entries: tail}).refs(),
		TokensBefore:     c.before, TokensAfter: c.after, SummarizerCallID: c.summarizer,
	}}
	if tail.len() > 0 {
		fact.ReplacementPolicy += "_keep_tail"
	}
	if source.partial {
		fact.Metadata["partial_window"] = true
	}
	maps.Copy(fact.Metadata, c.extra)
	w.report.boundary(t.key.session, c.id, boundaryCompaction)
	return w.orProblem(o, w.fact(o, fact, "", c.id, string(fact.SummaryRef)))
}

// refs lists the stretch's items, or refers to it as a whole when it is long.
func (s *stretch) refs() []schema.Ref {
	if s.entries.len() == 0 {
		return nil
	}
	bytes := 0
	for _, e := range s.entries.all() {
		bytes += len(e.item) + 3
	}
	if s.entries.len() > maxRefs || bytes > maxRefBytes {
		return []schema.Ref{s.ref()}
	}
	refs := make([]schema.Ref, s.entries.len())
	for i, e := range s.entries.all() {
		refs[i] = schema.Ref(e.item)
	}
	return refs
}

// ref refers to the stretch as a range of positions of the thread's item log,
// or to the thread alone when this log holds nothing of the stretch.
func (s *stretch) ref() schema.Ref {
	members := map[string]any{"id": s.thread, "kind": "log_range", "thread_id": s.thread}
	if n := s.entries.len(); n > 0 {
		first, last := s.entries.at(0).position, s.entries.at(n-1).position
		members["id"] = fmt.Sprintf("%s@%d-%d", s.thread, first, last)
		members["first_position"], members["last_position"], members["item_count"] = first, last, n
	}
	object, err := json.Marshal(members, json.Deterministic(true))
	if err != nil { // strings and integers always encode
		return schema.Ref(s.thread)
	}
	return schema.Ref(object)
}

// summaryText gathers what the items of a summary have in common.
type summaryText struct {
	tokens  int64
	known   bool
	size    int64
	pieces  int
	digest  string // of the only piece
	text    strings.Builder
	unknown bool
}

func (s *summaryText) add(p *piece, item *schema.ItemAdded) {
	if p.layer != layerSummary {
		return
	}
	s.pieces++
	if p.text == nil || p.withheld {
		s.unknown = true
		return
	}
	s.size += *p.size
	s.digest = item.ContentDigest
	if s.text.Len() < maxInlineBytes {
		s.text.WriteString(*p.text)
	}
	if item.TokenEstimate == nil {
		s.unknown = true
		return
	}
	s.known = true
	s.tokens += *item.TokenEstimate
}

// summary emits the summary that a record holds, after its items. It covers
// what the thread's last compaction replaced.
func (w *writer) summary(o *origin, id string, text *summaryText) error {
	t := o.thread
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
	covered := &stretch{thread: t.key.thread}
	if t.covered != nil {
		covered, t.covered = t.covered, nil
	}
	fact.SourceItemRefs = []schema.Ref{covered.ref()}
	if n := covered.entries.len(); n > 0 {
		fact.CoversThroughPosition = &covered.entries.at(n - 1).position
	}
	w.report.boundary(t.key.session, id, boundarySummary)
	if w.opts.StoreText && text.size > 0 && text.size < maxInlineBytes {
		inline := *fact
		inline.Content = text.text.String()
		if err := w.fact(o, &inline, "", id); err != errFactTooLarge {
			return err
		}
	}
	return w.orProblem(o, w.fact(o, fact, "", id))
}

// elision is a pass that put stubs in the place of items.
type elision struct {
	id      string
	policy  string
	trigger string
	level   schema.ElisionLevel
	items   []schema.Elided // at least one
	before  *int64          // tokens of the items
	after   *int64
	saved   *int64
	extra   map[string]any // of the facts' metadata
}

// elision emits the fact that items were replaced by stubs, in parts where
// there are many.
func (w *writer) elision(o *origin, e *elision) error {
	w.report.boundary(o.thread.key.session, e.id, boundaryElision)
	parts := (len(e.items) + maxElided - 1) / maxElided
	for part := range parts {
		fact := &schema.ElisionApplied{Common: schema.Common{Metadata: o.metadata()}, Elision: schema.Elision{
			PassID: e.id, Policy: e.policy, Trigger: e.trigger, Level: e.level,
			ElidedItemRefs: e.items[part*maxElided : min((part+1)*maxElided, len(e.items))],
		}}
		maps.Copy(fact.Metadata, e.extra)
		if parts > 1 {
			fact.PassID = fmt.Sprintf("%s:%d", e.id, part+1)
			fact.Metadata["part"], fact.Metadata["parts"] = part+1, parts
		}
		if part == 0 { // the totals of the pass stand once
			fact.TokensBefore, fact.TokensAfter, fact.TokensSaved = e.before, e.after, e.saved
		}
		if err := w.orProblem(o, w.fact(o, fact, "", e.id, fmt.Sprint(part))); err != nil {
			return err
		}
	}
	return nil
}
