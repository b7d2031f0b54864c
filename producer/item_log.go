package producer

import (
	"net/url"
	"strings"
	"sync"

	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
)

// threadKey names a thread of a session.
type threadKey struct{ session, thread string }

// itemLog numbers the entries of one thread's append-only item log, from 0.
type itemLog struct {
	mu        sync.Mutex       // held while an entry is recorded, to record entries in order of position
	next      int64            // the next entry's position
	tokens    int64            // tokens of all entries
	positions map[string]int64 // position of the newest entry, by item id
	root      facts.Lineage    // lineage of the calls that root runs make on the thread
	// summaries are the recorded summaries of the thread's items, by id.
	summaries map[string]arrival
	stubs     map[string]window.Elided // items that the ladder shortened and no later call sent whole, by item id
	elided    map[string]elided        // items that are not in the window in full, by item id
}

// append passes the next position to record. The position is used if record succeeds.
func (l *itemLog) append(id string, tokens int64, record func(position int64) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := record(l.next); err != nil {
		return err
	}
	if l.positions == nil {
		l.positions = make(map[string]int64)
	}
	l.positions[id] = l.next
	l.next++
	l.tokens += tokens
	return nil
}

// position returns the position of an item in the log, or nil.
func (l *itemLog) position(id string) *int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if position, ok := l.positions[id]; ok {
		return &position
	}
	return nil
}

// summary returns the recorded form of a summary, if it is recorded.
func (l *itemLog) summary(id string) (a arrival, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, known = l.summaries[id]
	return a, known
}

// keepSummary remembers a recorded summary.
func (l *itemLog) keepSummary(a arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.summaries == nil {
		l.summaries = make(map[string]arrival)
	}
	l.summaries[a.item.ID] = a
}

// stretch is the part of the log that a window was projected from.
type stretch struct {
	first  *int64 // position of the earliest entry in the window; nil if unknown
	next   int64  // position after the newest entry
	sent   int64  // number of entries from first on that are in the window
	tokens int64  // tokens of the whole log
}

func (l *itemLog) stretch(items []window.Item) stretch {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := stretch{next: l.next, tokens: l.tokens}
	for _, item := range items {
		if position, ok := l.positions[item.ID]; ok {
			s.sent++
			if s.first == nil || position < *s.first {
				s.first = &position
			}
		}
	}
	return s
}

// forget removes all state of items and keeps the numbering.
func (l *itemLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.positions, l.stubs, l.summaries, l.elided = nil, nil, nil, nil
}

// log returns the one item log of a thread, which all its runs share.
func (c *Client) log(session, thread string) *itemLog {
	c.logsMu.Lock()
	defer c.logsMu.Unlock()
	key := threadKey{session, thread}
	if c.logs[key] == nil {
		c.logs[key] = new(itemLog)
	}
	return c.logs[key]
}

// Forget frees the client's memory of a session's items, about 100 bytes each. Call it when
// the session is idle or has ended. If the session continues, its sequences and positions
// continue too. Only an elision of a forgotten item omits the item's position in the log.
func (c *Client) Forget(session string) {
	c.logsMu.Lock()
	defer c.logsMu.Unlock()
	for key, log := range c.logs {
		if key.session == session {
			log.forget()
		}
	}
}

// resume continues with the sequences of the outbox.
func (c *Client) resume(box publish.Outbox) error {
	marks, err := box.Marks()
	if err != nil {
		return err
	}
	for name, value := range marks {
		parts := strings.Split(name, " ")
		for i := range parts {
			if parts[i], err = url.PathUnescape(parts[i]); err != nil {
				return err
			}
		}
		switch {
		case len(parts) == 3 && parts[0] == publish.SequenceMark && parts[1] == c.source:
			c.sequences[parts[2]] = value
		case len(parts) == 4 && parts[0] == publish.PositionMark && parts[1] == c.source:
			c.logs[threadKey{parts[2], parts[3]}] = &itemLog{next: value + 1}
		}
	}
	return nil
}
