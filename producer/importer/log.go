package importer

import (
	"cmp"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/schema"
)

// entry is one entry of a thread's item log, as far as windows need it.
type entry struct {
	position int64
	item     string
	record   uint64 // hash of the record's id
	toolCall uint64 // hash of its id, 0 without one
	layer    string
	tokens   *int64 // nil when unknown
	text     uint64 // hash of the text, 0 when the log does not hold it
}

// itemLog is a thread's append-only log and the stretch of it that the next
// call's window is projected from.
type itemLog struct {
	next    int64
	partial bool                 // the window begins before the log does
	window  []entry              // in order of position
	sizes   map[string]layerSize // of the window, nil when they have to be summed again
	results map[uint64]resultAt  // tool call, by hash of its id → its result, of the whole log
	prompts []int64              // positions where a user's turns begin, without those rolled back
	after   map[uint64]int64     // record, by hash of its id → position of the entry after it, of the whole log
}

func newItemLog() itemLog {
	return itemLog{results: make(map[uint64]resultAt), after: make(map[uint64]int64)}
}

// resultAt is where a tool call's result stands, and how large it is.
type resultAt struct {
	position int64
	tokens   *int64 // nil when unknown
}

// append adds an entry at the next position and returns the position.
func (l *itemLog) append(e entry) int64 {
	e.position = l.next
	l.next++
	l.window = append(l.window, e)
	if l.sizes != nil {
		l.sizes[e.layer] = l.sizes[e.layer].with(e)
	}
	if _, known := l.results[e.toolCall]; e.layer == layerToolResults && !known {
		l.results[e.toolCall] = resultAt{e.position, e.tokens}
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
	if !known || at == l.next || len(l.window) == 0 || at <= l.window[0].position {
		return
	}
	end, _ := slices.BinarySearchFunc(l.window, at, func(e entry, at int64) int { return cmp.Compare(e.position, at) })
	l.window, l.sizes = l.window[:end], nil
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
	end, _ := slices.BinarySearchFunc(l.window, at, func(e entry, at int64) int { return cmp.Compare(e.position, at) })
	l.window, l.sizes = l.window[:end], nil
}

// start is the position of the window's first entry that the log holds.
func (l *itemLog) start() int64 {
	if len(l.window) == 0 {
		return l.next
	}
	return l.window[0].position
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
	for i := range l.window {
		if e := &l.window[i]; e.toolCall == call && (e.layer == layerToolResults || e.layer == layerMedia) {
			e.layer, e.tokens = layerElided, nil
			l.sizes = nil
		}
	}
}

// drop takes entries out of the window and returns them as elided items, with
// their tokens when all are known.
func (l *itemLog) drop(gone func(entry) bool) (items []schema.Elided, before *int64) {
	var dropped, left []entry
	for _, e := range l.window {
		if gone(e) {
			dropped = append(dropped, e)
			items = append(items, schema.Elided{ItemRef: schema.Ref(e.item), Position: &e.position, TokensBefore: e.tokens})
		} else {
			left = append(left, e)
		}
	}
	l.window, l.sizes = left, nil
	return items, sumTokens(dropped)
}

// stub puts a stub of the given size in the place of a record's entries and
// returns them as elided items. A stub of several entries counts as the first.
func (l *itemLog) stub(record uint64, tokens *int64, digest string) (items []schema.Elided) {
	for i := range l.window {
		e := &l.window[i]
		if e.record != record {
			continue
		}
		item := schema.Elided{ItemRef: schema.Ref(e.item), Position: &e.position, TokensBefore: e.tokens, TokensAfter: tokens, StubDigest: digest}
		if len(items) > 0 && tokens != nil {
			item.TokensAfter, item.StubDigest = new(int64), ""
		}
		position := e.position
		item.Position = &position
		e.layer, e.tokens, l.sizes = layerElided, item.TokensAfter, nil
		items = append(items, item)
	}
	return items
}

// layerSize is how much of a window one layer fills.
type layerSize struct {
	items   int64
	tokens  int64
	unknown bool  // at least one item of unknown size
	changes int64 // sum over positions, so that an exchanged item is seen
}

func (s layerSize) with(e entry) layerSize {
	s.items++
	s.changes += e.position
	if e.tokens == nil {
		s.unknown = true
	} else {
		s.tokens += *e.tokens
	}
	return s
}

// layers returns the size of each layer of the window. The map is the
// caller's.
func (l *itemLog) layers() map[string]layerSize {
	if l.sizes == nil {
		l.sizes = make(map[string]layerSize)
		for _, e := range l.window {
			l.sizes[e.layer] = l.sizes[e.layer].with(e)
		}
	}
	return maps.Clone(l.sizes)
}

// stretch is a part of the log that a summary stands for.
type stretch struct {
	thread  string
	partial bool // it begins before the log does
	entries []entry
}

// compact ends the window: what a summary replaces is returned and what
// retained names stays.
func (l *itemLog) compact(thread string, retained func(entry) bool) (source stretch, tail []entry) {
	source.thread, source.partial = thread, l.partial
	l.partial = false
	for _, e := range l.window {
		if retained(e) {
			tail = append(tail, e)
		} else {
			source.entries = append(source.entries, e)
		}
	}
	l.window, l.sizes = tail, nil
	return source, tail
}

// window is the stretch as a reference. Of a partial one neither the number
// of items nor of tokens is known.
func (s stretch) window() *schema.SourceWindow {
	w := &schema.SourceWindow{ThreadID: s.thread}
	if len(s.entries) == 0 {
		return w
	}
	first, last := s.entries[0], s.entries[len(s.entries)-1]
	count := int64(len(s.entries))
	w.FirstItemRef, w.LastItemRef = schema.Ref(first.item), schema.Ref(last.item)
	w.FirstPosition, w.LastPosition = &first.position, &last.position
	if !s.partial {
		w.ItemCount, w.Tokens = &count, sumTokens(s.entries)
	}
	return w
}

// sumTokens is nil when one entry's tokens are unknown.
func sumTokens(entries []entry) *int64 {
	var sum int64
	for _, e := range entries {
		if e.tokens == nil {
			return nil
		}
		sum += *e.tokens
	}
	return &sum
}
