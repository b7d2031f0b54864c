package mix

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/schema"
)

// session is one running session: its ids, and the events that are made but not returned yet.
type session struct {
	random   *rand.Rand
	ids      schema.Correlation
	source   string
	clock    time.Time
	tenant   *tenant
	corpus   *Corpus // nil for a session of a [Generator] without a corpus
	sequence int64
	queue    []*schema.Event
	// goOn makes the next events and reports false at the end of the session.
	goOn func() bool
}

// take returns the session's next event, and false when the session has ended.
func (s *session) take() (*schema.Event, bool) {
	if !s.ready() {
		return nil, false
	}
	e := s.queue[0]
	s.queue = s.queue[1:]
	return e, true
}

// ready fills the queue with the next event, and reports false when the session has ended.
func (s *session) ready() bool {
	for len(s.queue) == 0 {
		if !s.goOn() {
			return false
		}
	}
	return true
}

// record makes an event of a fact at the session's time. with changes the ids of the event.
func (s *session) record(fact schema.Fact, with ...func(*schema.Correlation)) {
	s.clock = s.clock.Add(time.Duration(1+s.random.IntN(400)) * time.Microsecond)
	ids := s.ids
	for _, change := range with {
		change(&ids)
	}
	e, err := schema.NewEvent(fact, s.id(), s.source, s.clock, ids)
	if err != nil {
		panic(fmt.Sprintf("mix: %v", err)) // JSON can encode all values of these facts
	}
	s.sequence++
	e.Sequence = new(s.sequence)
	s.queue = append(s.queue, e)
}

func toolCall(id string) func(*schema.Correlation) {
	return func(c *schema.Correlation) { c.ToolCallID = id }
}

// pass advances the time.
func (s *session) pass(least, most time.Duration) {
	s.clock = s.clock.Add(least + time.Duration(s.random.Int64N(int64(most-least))))
}

// between returns a number from least to most, more often a small number.
func (s *session) between(least, most int) int {
	x := s.random.Float64()
	return least + int(x*x*float64(most-least+1))
}

// chance reports true with a probability of perMille in a thousand.
func (s *session) chance(perMille int) bool { return s.random.IntN(1000) < perMille }

func pick[T any](s *session, list []T) T { return list[s.random.IntN(len(list))] }

// id is a UUID of version 7 at the session's time.
func (s *session) id() string {
	id := s.uuid()
	ms := s.clock.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	if s.corpus != nil {
		copy(id[16-len(markBytes):], markBytes)
	}
	return id.String()
}

// uuid returns a UUID of version 4.
func (s *session) uuid() (id uuid.UUID) {
	s.fill(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	if s.corpus != nil {
		copy(id[:], markBytes)
	}
	return id
}

func (s *session) fill(b []byte) {
	for i := 0; i < len(b); i += 8 {
		x := s.random.Uint64()
		for j := i; j < min(i+8, len(b)); j, x = j+1, x>>8 {
			b[j] = byte(x)
		}
	}
}

func (s *session) hex(bytes int) string {
	b := make([]byte, bytes)
	s.fill(b)
	return hex.EncodeToString(b)
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// token returns an id in the form of model providers, such as toolu_01Jz….
func (s *session) token(prefix string) string {
	b := make([]byte, 22)
	for i := range b {
		b[i] = base62[s.random.IntN(len(base62))]
	}
	if s.corpus != nil {
		copy(b, Mark)
	}
	return prefix + string(b)
}

// digest returns a random value in the form of a keyed digest.
func (s *session) digest() string { return "hmac-sha256:" + s.tenant.key.ID + ":" + s.hex(32) }

var (
	folders = []string{"internal/window", "internal/store", "pkg/client", "cmd/server", "web/src/views", "docs", "deploy/charts", "test/integration"}
	names   = []string{"budget", "reader", "handler", "migrate", "session", "parser", "retry", "config", "metrics", "router", "cache", "schema"}
	endings = []string{".go", ".go", ".go", "_test.go", ".ts", ".md", ".yaml", ".sql"}
)

// path returns a file of the repository that the agents work in.
func (s *session) path() string {
	return pick(s, folders) + "/" + pick(s, names) + pick(s, endings)
}
