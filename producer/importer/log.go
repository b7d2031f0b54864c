package importer

import (
	"sort"

	"github.com/ctxledger/ctxledger/schema"
)

// entry is one entry of a thread's item log, as far as windows need it.
type entry struct {
	position int64
	item     string
	record   uint64 // hash of the record's id
	toolCall uint64 // hash of its id, 0 without one
	text     uint64 // hash of the text, 0 when the log does not hold it
	tokens   int64  // unknown when negative
	layer    layer
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
func (e *entry) size() *int64 {
	if e.tokens < 0 {
		return nil
	}
	tokens := e.tokens
	return &tokens
}

// itemLog is a thread's append-only log and the stretch of it that the next
// call's window is projected from.
type itemLog struct {
	next    int64
	partial bool                // the window begins before the log does
	window  list[entry]         // in order of position
	sizes   layerSizes          // of the window
	stale   bool                // sizes have to be summed again
	results map[uint64]resultAt // tool call, by hash of its id → its result, of the whole log; nil where nobody asks
	prompts []int64             // positions where a user's turns begin, without those rolled back
	after   map[uint64]int64    // record, by hash of its id → position of the entry after it, of the whole log; nil where nobody asks
}

// resultAt is where a tool call's result stands, and how large it is.
type resultAt struct {
	position int64
	tokens   int64 // unknown when negative
}

// append adds an entry at the next position and returns the position.
func (l *itemLog) append(e entry) int64 {
	e.position = l.next
	l.next++
	l.window.add(e)
	l.sizes[e.layer].add(&e)
	if l.results != nil && e.layer == layerToolResults {
		if _, known := l.results[e.toolCall]; !known {
			l.results[e.toolCall] = resultAt{e.position, e.tokens}
		}
	}
	return e.position
}

// passed notes that a record's entries are in the log.
func (l *itemLog) passed(record string) { l.after[hashOf(record)] = l.next }

// skipped notes a record without entries: it stands where its parent stands.
func (l *itemLog) skipped(record, parent string) {
	at, known := l.after[hashOf(parent)]
	if !known {
		at = l.next
	}
	l.after[hashOf(record)] = at
}

// rewind drops from the window what a user left behind by going back to an
// earlier record and prompting from there. Going back beyond the window's
// start drops nothing, since that window cannot be told any more.
func (l *itemLog) rewind(parent string) {
	at, known := l.after[hashOf(parent)]
	if !known || at == l.next || l.window.len() == 0 || at <= l.window.at(0).position {
		return
	}
	l.cut(at)
}

// cut ends the window before the position.
func (l *itemLog) cut(at int64) {
	l.window.cut(sort.Search(l.window.len(), func(i int) bool { return l.window.at(i).position >= at }))
	l.stale = true
}

// prompt notes that a user's turn begins at the next entry.
func (l *itemLog) prompt() {
	if n := len(l.prompts); n == 0 || l.prompts[n-1] < l.next {
		l.prompts = append(l.prompts, l.next)
	}
}

// rollBack drops the last turns from the window.
func (l *itemLog) rollBack(turns int64) {
	if turns <= 0 || len(l.prompts) == 0 {
		return
	}
	first := max(len(l.prompts)-int(min(turns, int64(len(l.prompts)))), 0)
	at := l.prompts[first]
	l.prompts = l.prompts[:first]
	l.cut(at)
}

// start is the position of the window's first entry that the log holds.
func (l *itemLog) start() int64 {
	if l.window.len() == 0 {
		return l.next
	}
	return l.window.at(0).position
}

// first is the position that the window starts at, nil when it is unknown.
func (l *itemLog) first() *int64 {
	if l.partial {
		return nil
	}
	first := l.start()
	return &first
}

// elide marks the result of a tool call as replaced by a stub.
func (l *itemLog) elide(toolCall string) {
	call := hashOf(toolCall)
	for _, e := range l.window.all() {
		if e.toolCall == call && (e.layer == layerToolResults || e.layer == layerMedia) {
			e.layer, e.tokens = layerElided, unknownTokens
			l.stale = true
		}
	}
}

// drop takes entries out of the window and returns them as elided items, with
// their tokens when all are known.
func (l *itemLog) drop(gone func(*entry) bool) (items []schema.Elided, before *int64) {
	dropped, left := l.split(gone)
	items = make([]schema.Elided, 0, dropped.len())
	for _, e := range dropped.all() {
		items = append(items, schema.Elided{ItemRef: schema.Ref(e.item), Position: &e.position, TokensBefore: e.size()})
	}
	l.window, l.stale = left, true
	return items, sumTokens(&dropped)
}

// split parts the window's entries by whether they are in.
func (l *itemLog) split(in func(*entry) bool) (some, others list[entry]) {
	for _, e := range l.window.all() {
		if in(e) {
			some.add(*e)
		} else {
			others.add(*e)
		}
	}
	return some, others
}

// stub puts a stub of the given size in the place of a record's entries and
// returns them as elided items. A stub of several entries counts as the first.
func (l *itemLog) stub(record uint64, tokens *int64, digest string) (items []schema.Elided) {
	for _, e := range l.window.all() {
		if e.record != record {
			continue
		}
		item := schema.Elided{ItemRef: schema.Ref(e.item), TokensBefore: e.size(), TokensAfter: tokens, StubDigest: digest}
		if len(items) > 0 && tokens != nil {
			item.TokensAfter, item.StubDigest = new(int64), ""
		}
		position := e.position
		item.Position = &position
		e.layer, e.tokens, l.stale = layerElided, packed(item.TokensAfter), true
		items = append(items, item)
	}
	return items
}

// layers returns the size of each layer of the window.
func (l *itemLog) layers() *layerSizes {
	if l.stale {
		l.sizes, l.stale = layerSizes{}, false
		for _, e := range l.window.all() {
			l.sizes[e.layer].add(e)
		}
	}
	return &l.sizes
}

// stretch is a part of the log that a summary stands for.
type stretch struct {
	thread  string
	partial bool // it begins before the log does
	entries list[entry]
}

// compact ends the window: what a summary replaces is returned and what
// retained names stays.
func (l *itemLog) compact(thread string, retained func(*entry) bool) (source stretch, tail list[entry]) {
	source.thread, source.partial = thread, l.partial
	l.partial = false
	tail, source.entries = l.split(retained)
	l.window, l.stale = tail, true
	return source, tail
}

// window is the stretch as a reference. Of a partial one neither the number
// of items nor of tokens is known.
func (s *stretch) window() *schema.SourceWindow {
	w := &schema.SourceWindow{ThreadID: s.thread}
	count := int64(s.entries.len())
	if count == 0 {
		return w
	}
	first, last := s.entries.at(0), s.entries.at(int(count)-1)
	w.FirstItemRef, w.LastItemRef = schema.Ref(first.item), schema.Ref(last.item)
	w.FirstPosition, w.LastPosition = &first.position, &last.position
	if !s.partial {
		w.ItemCount, w.Tokens = &count, sumTokens(&s.entries)
	}
	return w
}

// sumTokens is nil when one entry's tokens are unknown.
func sumTokens(entries *list[entry]) *int64 {
	var sum int64
	for _, e := range entries.all() {
		if e.tokens < 0 {
			return nil
		}
		sum += e.tokens
	}
	return &sum
}
