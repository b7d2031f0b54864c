package mix

import (
	"math/rand/v2"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// concurrent is the number of sessions that run at a time.
const concurrent = 16

// begin is the start of the first session. The mix has no clock.
var begin = time.Date(2026, time.January, 5, 8, 0, 0, 0, time.UTC)

// Generator makes one endless sequence of events. Not safe for concurrent use.
type Generator struct {
	random   *rand.Rand
	tenants  []*tenant
	sessions []*session
	begun    int     // number of sessions so far
	rare     int     // number of rare facts so far, see rare.go
	corpus   *Corpus // corpus of the sessions, or nil
}

// New returns the generator of a seed. The same seed gives the same events, byte for byte.
func New(seed uint64) *Generator {
	g := newGenerator(seed)
	g.tenants = tenants
	for range concurrent {
		g.sessions = append(g.sessions, g.beginSession())
	}
	return g
}

func newGenerator(seed uint64) *Generator {
	return &Generator{random: rand.New(rand.NewPCG(seed, 0x6374786c65646765))}
}

// Next returns the next event. The event passes [schema.Validate].
func (g *Generator) Next() *schema.Event {
	i := g.random.IntN(len(g.sessions))
	for {
		if e, ok := g.sessions[i].take(); ok {
			return e
		}
		g.sessions[i] = g.beginSession()
	}
}

// beginSession begins a live or an imported session in alternation, a few seconds after the
// previous start.
func (g *Generator) beginSession() *session {
	return g.beginAt(begin.Add(time.Duration(g.begun) * 7 * time.Second))
}

func (g *Generator) beginAt(at time.Time) *session {
	g.begun++
	if g.begun%2 == 0 {
		return beginImported(g, at)
	}
	return beginLive(g, at)
}
