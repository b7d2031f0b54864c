package mix

import (
	"container/heap"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// Mark is part of every id of a [Corpus] that no other session has: of sessions,
// runs, sources and events, and of what belongs to imported ones. Ids without it,
// such as turn-3, recur in every session. Who swaps it in all texts of a session's
// events for eight other hexadecimal digits has another session.
const Mark = "5eedc0de"

var markBytes, _ = hex.DecodeString(Mark)

// CorpusConfig says what is in a corpus.
type CorpusConfig struct {
	Seed    uint64
	Events  int
	Tenants int           // the first has the most sessions, the n-th an n-th of them
	Span    time.Duration // about how long it takes from the first event to the last
}

// Validate says what is wrong with c and changes nothing.
func (c CorpusConfig) Validate() error {
	switch {
	case c.Events < 1:
		return errors.New("the number of events must be above zero")
	case c.Tenants < 1 || c.Tenants > mostTenants:
		return fmt.Errorf("the number of tenants must be from 1 to %d", mostTenants)
	case c.Span < time.Second:
		return errors.New("the time that the corpus spans must be a second or more")
	}
	return nil
}

// mostTenants keeps a text in which a tenant stands as short as others are.
const mostTenants = 1000

// Corpus makes the events of an installation in use: sessions begin at random
// times and last as long as it comes, most of them a few minutes and a few of them
// days, and an event comes when it happened. What [New] makes in a fixed order at
// an even pace has another purpose. Of real session logs (211 calls) it has how
// often the cache goes cold and how often a window is compacted or elided.
// Not safe for concurrent use.
type Corpus struct {
	config    CorpusConfig
	generator *Generator
	weights   float64 // of all tenants
	underWay  sessionHeap
	next      time.Time // when a session begins
	last      time.Time // of the last event
	made      int
}

// NewCorpus returns the corpus of a configuration, which must be valid. The same
// one gives the same events, byte for byte.
func NewCorpus(c CorpusConfig) *Corpus {
	o := &Corpus{config: c, generator: newGenerator(c.Seed), next: begin, last: begin}
	o.generator.corpus = o
	for i := range c.Tenants {
		o.generator.tenants = append(o.generator.tenants, newTenant(tenantName(i)))
		o.weights += 1 / float64(i+1)
	}
	return o
}

func tenantName(i int) string {
	if i < len(tenants) {
		return tenants[i].name
	}
	return fmt.Sprintf("tenant-%d", i+1)
}

// Keys returns the tenants' keys, by which a projector recognises what the
// redactions among the events withhold.
func (o *Corpus) Keys() ([]schema.KeyRing, error) { return keysOf(o.generator.tenants), nil }

// Events is how many there are.
func (o *Corpus) Events() int { return o.config.Events }

// Span is how long it took from the begin to behind the last event that Next has
// returned.
func (o *Corpus) Span() time.Duration { return o.last.Sub(begin) + time.Millisecond }

// Next returns the next event, and nil after the last.
func (o *Corpus) Next() *schema.Event {
	if o.made == o.config.Events {
		return nil
	}
	o.made++
	for len(o.underWay) == 0 || !o.underWay[0].queue[0].Time.Before(o.next) {
		if s := o.generator.beginAt(o.next); s.ready() {
			heap.Push(&o.underWay, s)
		}
		sessions := max(1, float64(o.config.Events)/meanLength)
		o.next = o.next.Add(time.Duration(o.generator.random.ExpFloat64() * float64(o.config.Span) / sessions))
	}
	s := o.underWay[0]
	e, _ := s.take()
	o.last = e.Time
	if s.ready() {
		heap.Fix(&o.underWay, 0)
	} else {
		heap.Pop(&o.underWay)
	}
	return e
}

// sessionHeap has the session with the earliest event first.
type sessionHeap []*session

func (h sessionHeap) Len() int           { return len(h) }
func (h sessionHeap) Less(i, j int) bool { return h[i].queue[0].Time.Before(h[j].queue[0].Time) }
func (h sessionHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *sessionHeap) Push(x any) { *h = append(*h, x.(*session)) }

// Pop implements heap.Interface.
func (h *sessionHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// tenant draws whose session the next one is.
func (g *Generator) tenant() *tenant {
	if g.corpus == nil {
		return g.tenants[g.random.IntN(len(g.tenants))]
	}
	at := g.random.Float64() * g.corpus.weights
	for i, t := range g.tenants {
		if at -= 1 / float64(i+1); at < 0 {
			return t
		}
	}
	return g.tenants[len(g.tenants)-1]
}

func (g *Generator) newSession(at time.Time) *session {
	return &session{random: g.random, clock: at, tenant: g.tenant(), corpus: g.corpus}
}

// mark begins an id that would otherwise be the same in each copy of a corpus.
func (s *session) mark() string {
	if s.corpus == nil {
		return ""
	}
	return Mark + "-"
}

// lengths are Pareto's: a session is longer than n times the least with the
// probability n^-tail.
type lengths struct {
	least, most float64
	tail        float64
}

// The real sessions have 13, 49, 149 and 280 calls. The longest are kept within
// what a corpus can hold a few of.
var (
	importedLengths = lengths{15, 2500, 1.05}
	liveLengths     = lengths{2, 150, 1.3}
)

// meanLength is about how many events a session has in the mean; how often one begins
// follows from it. In a quick corpus of 10,750,000 events it was 685.
const meanLength = 560

// length returns how long a session is: from least to most, or by its shape in a
// corpus.
func (s *session) length(least, most int, shape lengths) int {
	if s.corpus == nil {
		return s.between(least, most)
	}
	return int(math.Min(shape.most, shape.least*math.Pow(1-s.random.Float64(), -1/shape.tail)))
}

// Of a thousand calls, how often the cache goes cold before one because it was
// idle, and how often because results were elided.
const (
	idlePerMille  = 58
	elidePerMille = 5
)

// breakCache lets what the provider has of the window go cold once in a while.
func (i *imported) breakCache() {
	prefix := i.between(11_000, 12_000) // what other sessions keep warm
	switch {
	case i.cached <= prefix:
	case i.chance(idlePerMille):
		before := i.clock
		i.pass(301*time.Second, 32*time.Minute)
		i.gap = i.clock.Sub(before)
		i.lost, i.cached = i.cached-prefix, prefix
	case len(i.results) > 8 && i.chance(elidePerMille):
		i.elide()
		i.lost, i.cached = (i.cached-prefix)/2, prefix
	}
}

// elide records that the older results of the window became stubs.
func (i *imported) elide() {
	id := i.uuid().String()
	f := &schema.ElisionApplied{Common: i.origin(id), Elision: schema.Elision{
		PassID: id, Policy: "microcompact", Trigger: "auto", TokensBefore: new(int64(i.cached)), TokensSaved: new(int64(i.cached / 8)),
	}}
	for _, call := range i.results[:len(i.results)-4] {
		f.ElidedItemRefs = append(f.ElidedItemRefs, schema.Elided{ItemRef: schema.Ref(call + ":result"), ToolCallID: call})
	}
	i.results = i.results[len(i.results)-4:]
	i.record(f)
}

// billed is what a provider bills that caches by itself: all of the last window,
// unless it has changed or has been forgotten.
func (l *live) billed() schema.ProviderUsage {
	now, read := l.tokens(), 0
	if l.seen > 0 && !l.chance(idlePerMille) {
		read = min(l.seen, now)
	}
	l.seen = now
	return schema.ProviderUsage{
		UncachedInput: new(int64(now - read)), CacheRead: new(int64(read)), CacheWrite5m: new(int64(0)), CacheWrite1h: new(int64(0)), Output: new(int64(l.between(20, 600))),
	}
}
