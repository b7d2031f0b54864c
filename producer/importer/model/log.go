package model

import (
	"sort"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/schema"
)

// Entry is one entry of a thread's item log, reduced to the fields that windows need.
type Entry struct {
	position int64
	item     string
	Record   uint64 // hash of the record's id
	toolCall uint64 // hash of the tool call's id, 0 without one
	Text     uint64 // hash of the text, 0 when the log does not hold it
	tokens   int64  // unknown when negative
	Layer    layer
}

const unknownTokens = -1

// packed is a count in the form of an entry: negative when unknown.
func packed(tokens *int64) int64 {
	if tokens == nil {
		return unknownTokens
	}
	return *tokens
}

// size returns the tokens of the entry, nil when unknown.
func (e *Entry) size() *int64 {
	if e.tokens < 0 {
		return nil
	}
	tokens := e.tokens
	return &tokens
}

// ItemLog is a thread's append-only log, and the stretch of it that the next call's window is
// projected from.
type ItemLog struct {
	next    int64
	begin   int64               // first position
	Partial bool                // the window begins before the log
	Gap     bool                // the log lacks records in the middle of the window
	left    int64               // position after the last entry that a user left to return to an earlier one
	Window  hashset.List[Entry] // in order of position
	sizes   layerSizes          // of the window
	stale   bool                // sizes must be summed again
	Results map[uint64]ResultAt // hash of a tool call's id → its result, for the whole log; nil if not needed
	prompts []int64             // positions where a user's turns begin, without turns that were rolled back
	After   map[uint64]int64    // hash of a record's id → position of the entry after it, for the whole log; nil if not needed
}

// ResultAt is the position and the size of a tool call's result.
type ResultAt struct {
	Position int64
	Tokens   int64 // unknown when negative
}

// append adds an entry at the next position and returns the position. seen puts the entry into
// the window, too.
func (l *ItemLog) append(seen bool, e Entry) int64 {
	e.position = l.next
	l.next++
	if !seen {
		return e.position
	}
	l.Window.Add(e)
	l.sizes[e.Layer].Add(&e)
	if l.Results != nil && e.Layer == LayerToolResults {
		if _, known := l.Results[e.toolCall]; !known {
			l.Results[e.toolCall] = ResultAt{e.position, e.tokens}
		}
	}
	return e.position
}

// Passed notes that the entries of a record are in the log.
func (l *ItemLog) Passed(record string) { l.After[HashOf(record)] = l.next }

// Follows notes a record that follows another. If the log lacks the other record, the window has a
// gap.
func (l *ItemLog) Follows(parent string) {
	if _, known := l.After[HashOf(parent)]; !known && l.next > l.begin {
		l.Gap = true
	}
}

// Unsee removes the entries of a record from the window.
func (l *ItemLog) Unsee(record string) {
	gone := HashOf(record)
	_, l.Window = l.split(func(e *Entry) bool { return e.Record == gone })
	l.stale = true
}

// Skipped notes a record without entries. Its position is the position of its parent.
func (l *ItemLog) Skipped(record, parent string) {
	at, known := l.After[HashOf(parent)]
	if !known {
		at = l.next
	}
	l.After[HashOf(record)] = at
}

// Rewind removes entries from the window after a user returned to an earlier record and continued
// there. If the earlier record is before the window's start, Rewind removes nothing, because that
// window is no longer known.
func (l *ItemLog) Rewind(parent string) {
	at, known := l.After[HashOf(parent)]
	if !known || at == l.next || l.Window.Len() == 0 || at <= l.Window.At(0).position {
		return
	}
	l.cut(at)
}

// cut ends the window before position at.
func (l *ItemLog) cut(at int64) {
	if keep := sort.Search(l.Window.Len(), func(i int) bool { return l.Window.At(i).position >= at }); keep < l.Window.Len() {
		l.Window.Cut(keep)
		l.left = l.next
	}
	l.stale = true
}

// Prompt notes that a user's turn begins at the next entry.
func (l *ItemLog) Prompt() {
	if n := len(l.prompts); n == 0 || l.prompts[n-1] < l.next {
		l.prompts = append(l.prompts, l.next)
	}
}

// RollBack removes the last turns from the window.
func (l *ItemLog) RollBack(turns int64) {
	if turns <= 0 || len(l.prompts) == 0 {
		return
	}
	first := max(len(l.prompts)-int(min(turns, int64(len(l.prompts)))), 0)
	at := l.prompts[first]
	l.prompts = l.prompts[:first]
	l.cut(at)
}

// start is the position of the first entry of the window that is in the log.
func (l *ItemLog) start() int64 {
	if l.Window.Len() == 0 {
		return l.next
	}
	return l.Window.At(0).position
}

// first is the start position of the window, nil when unknown.
func (l *ItemLog) first() *int64 {
	if l.Partial {
		return nil
	}
	first := l.start()
	return &first
}

// Elide marks the result of a tool call as a stub.
func (l *ItemLog) Elide(toolCall string) {
	call := HashOf(toolCall)
	for _, e := range l.Window.All() {
		if e.toolCall == call && (e.Layer == LayerToolResults || e.Layer == LayerMedia) {
			e.Layer, e.tokens = layerElided, unknownTokens
			l.stale = true
		}
	}
}

// Drop removes entries from the window and returns them as elided items. Drop returns the sum of
// their tokens when all are known.
func (l *ItemLog) Drop(gone func(*Entry) bool) (items []schema.Elided, before *int64) {
	dropped, left := l.split(gone)
	items = make([]schema.Elided, 0, dropped.Len())
	for _, e := range dropped.All() {
		items = append(items, schema.Elided{ItemRef: schema.Ref(e.item), Position: &e.position, TokensBefore: e.size()})
	}
	l.Window, l.stale = left, true
	return items, sumTokens(&dropped)
}

// split divides the window's entries by the predicate in.
func (l *ItemLog) split(in func(*Entry) bool) (some, others hashset.List[Entry]) {
	for _, e := range l.Window.All() {
		if in(e) {
			some.Add(*e)
		} else {
			others.Add(*e)
		}
	}
	return some, others
}

// Stub replaces the entries of a record by a stub of the given size. Stub returns the entries as
// elided items. One stub for several entries counts as the first entry.
func (l *ItemLog) Stub(record uint64, tokens *int64, digest string) (items []schema.Elided) {
	for _, e := range l.Window.All() {
		if e.Record != record {
			continue
		}
		item := schema.Elided{ItemRef: schema.Ref(e.item), TokensBefore: e.size(), TokensAfter: tokens, StubDigest: digest}
		if len(items) > 0 && tokens != nil {
			item.TokensAfter, item.StubDigest = new(int64), ""
		}
		position := e.position
		item.Position = &position
		e.Layer, e.tokens, l.stale = layerElided, packed(item.TokensAfter), true
		items = append(items, item)
	}
	return items
}

// layers returns the size of each layer of the window.
func (l *ItemLog) layers() *layerSizes {
	if l.stale {
		l.sizes, l.stale = layerSizes{}, false
		for _, e := range l.Window.All() {
			l.sizes[e.Layer].Add(e)
		}
	}
	return &l.sizes
}

// stretch is a part of the log that a summary replaces.
type stretch struct {
	thread  string
	partial bool // the stretch begins before the log
	entries hashset.List[Entry]
}

// compact ends the window. compact returns the entries that a summary replaces and keeps the
// entries of retained.
func (l *ItemLog) compact(thread string, retained func(*Entry) bool) (source stretch, tail hashset.List[Entry]) {
	source.thread, source.partial = thread, l.Partial
	l.Partial, l.Gap = false, false
	tail, source.entries = l.split(retained)
	l.Window, l.stale = tail, true
	return source, tail
}

// window is the stretch as a reference. For a partial stretch the numbers of items and tokens are
// unknown.
func (s *stretch) window() *schema.SourceWindow {
	w := &schema.SourceWindow{ThreadID: s.thread}
	count := int64(s.entries.Len())
	if count == 0 {
		return w
	}
	first, last := s.entries.At(0), s.entries.At(int(count)-1)
	w.FirstItemRef, w.LastItemRef = schema.Ref(first.item), schema.Ref(last.item)
	w.FirstPosition, w.LastPosition = &first.position, &last.position
	if !s.partial {
		w.ItemCount, w.Tokens = &count, sumTokens(&s.entries)
	}
	return w
}

// sumTokens returns the sum of the tokens, nil when the tokens of one entry are unknown.
func sumTokens(entries *hashset.List[Entry]) *int64 {
	var sum int64
	for _, e := range entries.All() {
		if e.tokens < 0 {
			return nil
		}
		sum += e.tokens
	}
	return &sum
}
