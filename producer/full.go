package producer

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/schema"
)

// WhenFull says what becomes of a fact for which there is no room: the queue in
// memory is full, because the stream takes nothing, and neither does the outbox
// if there is one, for want of room or disk.
type WhenFull string

// What becomes of it.
const (
	// Refuse returns ErrQueueFull at once and records nothing. A refused fact uses
	// up no sequence, so it leaves no gap that a check would find: a runtime that
	// goes on without it should say so.
	Refuse WhenFull = ""
	// Block waits for room, until the context ends or the queue was full for
	// Config.BlockFor; from then on it is Refuse, until there was room again. So an
	// outage costs a runtime BlockFor once, not each time.
	Block WhenFull = "block"
	// Drop loses the fact and counts it: the sequence is used up, and the next
	// thing that the session gets into the queue is a context.facts.dropped with
	// the sequences that were lost. A seal, a gap that somebody is asked about and
	// that record itself are refused instead.
	Drop WhenFull = "drop"
)

func (w WhenFull) valid() bool { return w == Refuse || w == Block || w == Drop }

// loss is a closed range of sequences that a session's dropped facts used up.
type loss struct{ first, last int64 }

// lose uses up the next n sequences of a session. The caller holds mu.
func (c *Client) lose(session string, n int64) {
	last := c.sequences[session]
	lost, ok := c.losses[session]
	if !ok {
		lost.first = last + 1
	}
	lost.last = last + n
	c.losses[session], c.sequences[session] = lost, lost.last
	c.dropped += n
}

// droppable reports whether the loss of what is submitted is better than an
// error.
func (s submission) droppable() bool {
	return len(s.facts) > 0 && !slices.ContainsFunc(s.facts, func(fact schema.Fact) bool {
		switch fact.(type) {
		case *schema.EnvelopeCreated, *schema.MissingDetected, *schema.MissingRequested, *schema.FactsDropped:
			return true
		}
		return false
	})
}

// lossEvents records what a session lost and has no record of yet: one event or
// none. The caller holds mu.
func (c *Client) lossEvents(session string) ([]*schema.Event, error) {
	lost, ok := c.losses[session]
	if !ok {
		return nil, nil
	}
	id, err := orNewID("")
	if err != nil {
		return nil, err
	}
	fact := &schema.FactsDropped{
		DropID:    "drop:" + id,
		Sequences: []schema.SequenceRanges{{Source: c.source, Ranges: [][2]int64{{lost.first, lost.last}}}},
		Count:     new(lost.last - lost.first + 1), Reason: "there was no room for them while the stream took none",
	}
	return c.events(context.Background(), fact, schema.Correlation{Tenant: c.config.Tenant, RuntimeID: c.config.Runtime, SessionID: session})
}

// recordLosses records what was lost, of each session, where there is room.
func (c *Client) recordLosses() {
	c.mu.Lock()
	var sessions []string
	for session := range c.losses {
		sessions = append(sessions, session)
	}
	c.mu.Unlock()
	for _, session := range sessions {
		if c.queue(context.Background(), schema.Correlation{SessionID: session}, submission{}, nil) != nil {
			return // tried again when there is more room
		}
	}
}

func (c *Client) hasLosses() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.losses) > 0
}

// Dropped counts the facts that the client gave up since it was made: those that
// WhenFull dropped, and those that the server refuses for themselves and for
// ever, such as one beyond a limit that was lowered after it was recorded. For
// each there is a context.facts.dropped.
func (c *Client) Dropped() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.transport.(interface{ Refused() int64 }); ok {
		return c.dropped + t.Refused()
	}
	return c.dropped
}

// TakenIDs counts the facts that were acknowledged as duplicates of other messages when
// they were sent for the first time. They were sent again under random message ids, so
// none is lost. Where it is not 0, somebody publishes under this producer's source and
// ids, or a fact was recorded twice under one id.
func (c *Client) TakenIDs() int64 {
	if t, ok := c.transport.(interface{ TakenIDs() int64 }); ok {
		return t.TakenIDs()
	}
	return 0
}
