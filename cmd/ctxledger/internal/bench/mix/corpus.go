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

// Mark is part of each id of a [Corpus] that only one session has. These are ids of sessions,
// runs, sources, events and imported content. Ids without Mark, such as turn-3, occur in every
// session. To make another session, replace Mark in all texts of a session's events by eight
// other hexadecimal digits.
const Mark = "5eedc0de"

var markBytes, _ = hex.DecodeString(Mark)

// CorpusConfig configures a corpus.
type CorpusConfig struct {
	Seed    uint64
	Events  int
	Tenants int           // the first has the most sessions, the n-th an n-th of that number
	Span    time.Duration // approximate time from the first event to the last
}

// Validate returns an error for the first invalid field. Validate changes nothing.
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

// mostTenants limits the length of texts that contain a tenant.
const mostTenants = 1000

// Corpus makes the events of an installation in use. Sessions begin at random times and have
// random lengths, mostly a few minutes, sometimes days. Events are ordered by time. The events of
// [New] have a fixed order and an even pace instead. The frequencies of cold caches, compactions
// and elisions come from real session logs. Not safe for concurrent use.
type Corpus struct {
	config    CorpusConfig
	generator *Generator
	weights   float64 // sum over all tenants
	underWay  sessionHeap
	next      time.Time // start of the next session
	last      time.Time // time of the last event
	made      int
}

// NewCorpus returns the corpus of a valid configuration. The same configuration gives the same
// events, byte for byte.
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

// Keys returns the tenants' keys. With the keys, a projector recognises the values that
// redactions withhold.
func (o *Corpus) Keys() ([]schema.KeyRing, error) { return keysOf(o.generator.tenants), nil }

// Events returns the number of events.
func (o *Corpus) Events() int { return o.config.Events }

// Span returns the time from the begin to 1 ms after the last event of Next.
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

// sessionHeap is a heap of sessions by the time of their next event.
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

// tenant draws the tenant of the next session.
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

// mark returns the first part of an id that must differ in each copy of a corpus.
func (s *session) mark() string {
	if s.corpus == nil {
		return ""
	}
	return Mark + "-"
}

// lengths is a Pareto distribution: a session is longer than n times the least length with the
// probability n^-tail.
type lengths struct {
	least, most float64
	tail        float64
}

// The distributions follow real sessions. The longest sessions are shortened, so a corpus can
// hold several of them.
var (
	importedLengths = lengths{15, 2500, 1.05}
	liveLengths     = lengths{2, 150, 1.3}
)

// meanLength is the approximate mean number of events of a session. The start times of sessions
// depend on it.
const meanLength = 560

// length returns the length of a session: from least to most, or by shape in a corpus.
func (s *session) length(least, most int, shape lengths) int {
	if s.corpus == nil {
		return s.between(least, most)
	}
	return int(math.Min(shape.most, shape.least*math.Pow(1-s.random.Float64(), -1/shape.tail)))
}

// The number of cold caches in a thousand calls, by cause: a pause, or an elision of results.
const (
	idlePerMille  = 58
	elidePerMille = 5
)

// breakCache sometimes drops the provider's cache of the window.
func (i *imported) breakCache() {
	prefix := i.between(11_000, 12_000) // part that other sessions keep in the cache
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

// elide records that stubs replaced the older results of the window.
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

// billed returns the usage of a provider with automatic caching. The cache holds the whole last
// window, unless the window has changed or the cache has expired.
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
