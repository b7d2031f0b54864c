package producer

import (
	"context"
	"slices"

	"github.com/ctxledger/ctxledger/schema"
)

// WhenFull selects the handling of a fact when the queue in memory is full. The queue
// becomes full while the stream accepts no events. With an outbox, the queue becomes full
// while the outbox has no space or a disk error.
type WhenFull string

// The modes of WhenFull.
const (
	// Refuse returns ErrQueueFull immediately and records nothing. A refused fact uses no
	// sequence and leaves no hole for a check to find. A runtime that continues without the
	// fact should report it.
	Refuse WhenFull = ""
	// Block waits for room until the context ends or the queue was full for
	// Config.BlockFor. After that it acts as Refuse until there is room again. An outage
	// therefore delays a runtime by BlockFor only once.
	Block WhenFull = "block"
	// Drop loses the fact and counts it: its sequence is used. The next message of the
	// session in the queue is a context.facts.dropped with the lost sequences. A seal, a
	// gap with a waiting owner, and the context.facts.dropped itself are refused instead.
	Drop WhenFull = "drop"
)

func (w WhenFull) valid() bool { return w == Refuse || w == Block || w == Drop }

// loss is a closed range of sequences that a session's dropped facts used up.
type loss struct{ first, last int64 }

// lose uses the next n sequences of a session for dropped facts. The caller holds mu.
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

// droppable reports whether losing the submitted facts is better than an error.
func (s submission) droppable() bool {
	return len(s.facts) > 0 && !slices.ContainsFunc(s.facts, func(fact schema.Fact) bool {
		switch fact.(type) {
		case *schema.EnvelopeCreated, *schema.MissingDetected, *schema.MissingRequested, *schema.FactsDropped:
			return true
		}
		return false
	})
}

// lossEvents records the unrecorded losses of a session: one event or none. The caller
// holds mu.
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

// recordLosses records the losses of each session, as far as there is room.
func (c *Client) recordLosses() {
	c.mu.Lock()
	var sessions []string
	for session := range c.losses {
		sessions = append(sessions, session)
	}
	c.mu.Unlock()
	for _, session := range sessions {
		if c.queue(context.Background(), schema.Correlation{SessionID: session}, submission{}, nil) != nil {
			return // retried when there is more room
		}
	}
}

func (c *Client) hasLosses() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.losses) > 0
}

// Dropped counts the facts that the client has dropped since it was made. Facts are dropped
// by WhenFull, or refused by the server permanently, for example above a limit that was
// lowered later. Each dropped fact has a context.facts.dropped.
func (c *Client) Dropped() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, ok := c.transport.(interface{ Refused() int64 }); ok {
		return c.dropped + t.Refused()
	}
	return c.dropped
}

// TakenIDs counts the facts that were acknowledged as duplicates of other messages on their
// first send. The client sent each such fact again under a random message id, so no fact is
// lost. If the count is not 0, another program publishes under this producer's source and
// ids, or a fact was recorded twice under one id.
func (c *Client) TakenIDs() int64 {
	if t, ok := c.transport.(interface{ TakenIDs() int64 }); ok {
		return t.TakenIDs()
	}
	return 0
}
