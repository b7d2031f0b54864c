package model

import (
	"sort"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/schema"
)

// Entry is one entry of a thread's item log, as far as windows need it.
type Entry struct {
	position int64
	item     string
	Record   uint64 // hash of the record's id
	toolCall uint64 // hash of its id, 0 without one
	Text     uint64 // hash of the text, 0 when the log does not hold it
	tokens   int64  // unknown when negative
	Layer    layer
}

const unknownTokens = -1

// packed is a count as an entry holds it.
func packed(tokens *int64) int64 {
	if tokens == nil {
		return unknownTokens
	}
	return *tokens
}

// size is the entry's tokens, nil when they are unknown.
func (e *Entry) size() *int64 {
	if e.tokens < 0 {
		return nil
	}
	tokens := e.tokens
	return &tokens
}

// ItemLog is a thread's append-only log and the stretch of it that the next
// call's window is projected from.
type ItemLog struct {
	next    int64
	Partial bool                // the window begins before the log does
	Window  hashset.List[Entry] // in order of position
	sizes   layerSizes          // of the window
	stale   bool                // sizes have to be summed again
	Results map[uint64]ResultAt // tool call, by hash of its id → its result, of the whole log; nil where nobody asks
	prompts []int64             // positions where a user's turns begin, without those rolled back
	After   map[uint64]int64    // record, by hash of its id → position of the entry after it, of the whole log; nil where nobody asks
}

// ResultAt is where a tool call's result stands, and how large it is.
type ResultAt struct {
	Position int64
	Tokens   int64 // unknown when negative
}

// append adds an entry at the next position and returns the position.
func (l *ItemLog) append(e Entry) int64 {
	e.position = l.next
	l.next++
	l.Window.Add(e)
	l.sizes[e.Layer].Add(&e)
	if l.Results != nil && e.Layer == LayerToolResults {
		if _, known := l.Results[e.toolCall]; !known {
			l.Results[e.toolCall] = ResultAt{e.position, e.tokens}
		}
	}
	return e.position
}

// Passed notes that a record's entries are in the log.
func (l *ItemLog) Passed(record string) { l.After[HashOf(record)] = l.next }

// Skipped notes a record without entries: it stands where its parent stands.
func (l *ItemLog) Skipped(record, parent string) {
	at, known := l.After[HashOf(parent)]
	if !known {
		at = l.next
	}
	l.After[HashOf(record)] = at
}

// Rewind drops from the window what a user left behind by going back to an
// earlier record and prompting from there. Going back beyond the window's
// start drops nothing, since that window cannot be told any more.
func (l *ItemLog) Rewind(parent string) {
	at, known := l.After[HashOf(parent)]
	if !known || at == l.next || l.Window.Len() == 0 || at <= l.Window.At(0).position {
		return
	}
	l.cut(at)
}

// cut ends the window before the position.
func (l *ItemLog) cut(at int64) {
	l.Window.Cut(sort.Search(l.Window.Len(), func(i int) bool { return l.Window.At(i).position >= at }))
	l.stale = true
}

// Prompt notes that a user's turn begins at the next entry.
func (l *ItemLog) Prompt() {
	if n := len(l.prompts); n == 0 || l.prompts[n-1] < l.next {
		l.prompts = append(l.prompts, l.next)
	}
}

// RollBack drops the last turns from the window.
func (l *ItemLog) RollBack(turns int64) {
	if turns <= 0 || len(l.prompts) == 0 {
		return
	}
	first := max(len(l.prompts)-int(min(turns, int64(len(l.prompts)))), 0)
	at := l.prompts[first]
	l.prompts = l.prompts[:first]
	l.cut(at)
}

// start is the position of the window's first entry that the log holds.
func (l *ItemLog) start() int64 {
	if l.Window.Len() == 0 {
		return l.next
	}
	return l.Window.At(0).position
}

// first is the position that the window starts at, nil when it is unknown.
func (l *ItemLog) first() *int64 {
	if l.Partial {
		return nil
	}
	first := l.start()
	return &first
}

// Elide marks the result of a tool call as replaced by a stub.
func (l *ItemLog) Elide(toolCall string) {
	call := HashOf(toolCall)
	for _, e := range l.Window.All() {
		if e.toolCall == call && (e.Layer == LayerToolResults || e.Layer == LayerMedia) {
			e.Layer, e.tokens = layerElided, unknownTokens
			l.stale = true
		}
	}
}

// Drop takes entries out of the window and returns them as elided items, with
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

// split parts the window's entries by whether they are in.
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

// Stub puts a stub of the given size in the place of a record's entries and
// returns them as elided items. A stub of several entries counts as the first.
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

// stretch is a part of the log that a summary stands for.
type stretch struct {
	thread  string
	partial bool // it begins before the log does
	entries hashset.List[Entry]
}

// compact ends the window: what a summary replaces is returned and what
// retained names stays.
func (l *ItemLog) compact(thread string, retained func(*Entry) bool) (source stretch, tail hashset.List[Entry]) {
	source.thread, source.partial = thread, l.Partial
	l.Partial = false
	tail, source.entries = l.split(retained)
	l.Window, l.stale = tail, true
	return source, tail
}

// window is the stretch as a reference. Of a partial one neither the number
// of items nor of tokens is known.
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

// sumTokens is nil when one entry's tokens are unknown.
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
