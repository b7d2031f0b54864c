// Package hole finds sequences that a producer has used and whose events are missing.
package hole

import (
	"time"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/schema"
)

// A Finder finds sequences that a producer has used and whose events are missing. An event is
// missing if it is not recorded, refused, declared as dropped or erased. A late event closes
// its hole. A hole that stays open for holePatience of the stream's time counts as lost, until
// its event arrives. A Finder starts empty with each projector, and clears its memory above
// mostSessions sessions, because it is an alarm. The view check_sequence_gaps is the complete
// account. Not safe for concurrent use.
type Finder struct {
	sessions map[producerSession]*usedSequences
	opened   []openedHole // in the order of the stream
	Lost     uint64       // sequences
	Found    uint64       // sequences that were lost and arrived later
}

// openedHole is the time of the stream at which a session missed sequences. The sequences may have
// arrived since.
type openedHole struct {
	producerSession
	at time.Time
}

// producerSession is the scope of a producer's sequences.
type producerSession struct{ tenant, Source, Session string }

// usedSequences are the sequences of one session, from the first one seen.
type usedSequences struct {
	next    int64
	missing []missingSequences
	lost    []missingSequences // counted as lost
}

// missingSequences is a stretch of sequences, both ends included.
type missingSequences struct {
	first, last int64
	since       time.Time // of the stream
}

const (
	// holePatience is longer than the time that a producer needs to send again.
	holePatience = 5 * time.Minute
	// mostSessions limits the memory of a Finder.
	mostSessions = 100_000
)

// Lost is a stretch of sequences that count as lost.
type Lost struct {
	producerSession
	First, Last int64
}

// Observe reads messages in the order of the stream, including refused ones, and returns the
// sequences lost since the last call.
func (g *Finder) Observe(messages []decode.Event) (lost []Lost) {
	if g.sessions == nil || len(g.sessions) > mostSessions {
		g.sessions, g.opened = make(map[producerSession]*usedSequences), nil
	}
	for _, e := range messages {
		if e.Envelope == nil || e.Reintroduced {
			continue
		}
		tenant := schema.TenantOf(e.Tenant)
		if e.Envelope.Sequence != nil {
			g.use(producerSession{tenant, e.Envelope.Source, e.Envelope.SessionID}, *e.Envelope.Sequence, *e.Envelope.Sequence, e.Position.RecordedAt)
		}
		if len(e.Violations) > 0 {
			continue
		}
		switch fact := e.Fact.(type) {
		case *schema.FactsDropped:
			for _, of := range fact.Sequences {
				for _, r := range of.Ranges {
					g.use(producerSession{tenant, of.Source, e.Envelope.SessionID}, r[0], r[1], e.Position.RecordedAt)
				}
			}
		case *schema.ErasureApplied:
			for _, r := range fact.Records {
				if r.SourceSequence != nil {
					g.close(producerSession{tenant, r.Source, r.SessionID}, *r.SourceSequence, *r.SourceSequence)
				}
			}
		}
	}
	if len(messages) == 0 {
		return nil
	}
	return g.giveUp(messages[len(messages)-1].Position.RecordedAt.Add(-holePatience))
}

// use records that the sequences from first to last are used.
func (g *Finder) use(key producerSession, first, last int64, at time.Time) {
	u := g.sessions[key]
	if u == nil {
		g.sessions[key] = &usedSequences{next: last + 1}
		return
	}
	if first > u.next {
		u.missing = append(u.missing, missingSequences{u.next, first - 1, at})
		g.opened = append(g.opened, openedHole{key, at})
	}
	u.next = max(u.next, last+1)
	g.close(key, first, last)
}

// close records that the sequences from first to last are not missing.
func (g *Finder) close(key producerSession, first, last int64) {
	u := g.sessions[key]
	if u == nil {
		return
	}
	u.missing, _ = except(u.missing, first, last)
	var found uint64
	u.lost, found = except(u.lost, first, last)
	g.Lost, g.Found = g.Lost-found, g.Found+found
}

// except removes the sequences from first to last from stretches, and returns the number of
// removed sequences.
func except(list []missingSequences, first, last int64) (left []missingSequences, out uint64) {
	for _, m := range list {
		if last < m.first || first > m.last {
			left = append(left, m)
			continue
		}
		out += uint64(min(last, m.last) - max(first, m.first) + 1)
		if m.first < first {
			left = append(left, missingSequences{m.first, first - 1, m.since})
		}
		if last < m.last {
			left = append(left, missingSequences{last + 1, m.last, m.since})
		}
	}
	return left, out
}

// giveUp removes and returns the stretches that have been missing since before.
func (g *Finder) giveUp(before time.Time) (lost []Lost) {
	for len(g.opened) > 0 && g.opened[0].at.Before(before) {
		key := g.opened[0].producerSession
		g.opened = g.opened[1:]
		u := g.sessions[key]
		for len(u.missing) > 0 && u.missing[0].since.Before(before) {
			m := u.missing[0]
			lost = append(lost, Lost{key, m.first, m.last})
			g.Lost += uint64(m.last - m.first + 1)
			u.missing, u.lost = u.missing[1:], append(u.lost, m)
		}
	}
	return lost
}
