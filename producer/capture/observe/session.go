package observe

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// Limits of a session's state.
const (
	maxThreads = 32   // threads with windows; the least recently used loses its window
	maxAnswers = 4    // answers of a thread that can be summaries
	maxLines   = 4096 // lines of an answer that are kept
)

// Session is the state of one session. The zero value with an ID is a new session.
type Session struct {
	ID string `json:"id"`
	// Sequence is the last sequence that the facts of the session used. The caller counts it.
	Sequence int64 `json:"sequence"`
	// Epoch is part of the ids of events, if it is not "". A caller that has lost the state of
	// a session sets it, so its events have other ids.
	Epoch   string            `json:"epoch,omitempty"`
	Threads []*thread         `json:"threads,omitempty"` // the most recently used first
	Items   sums              `json:"items,omitempty"`   // all items of the session
	Chains  map[string]*chain `json:"responses,omitempty"`
	Order   []string          `json:"response_order,omitempty"` // ids of Chains, oldest first
}

// window is an ordered list of blocks.
type window struct {
	Blocks []block `json:"blocks,omitempty"`
}

// chain is what a request gets that continues a response: the messages of the response's window,
// and its answer.
type chain struct {
	window
	Thread string `json:"thread,omitempty"`
}

// block is a block of a window without its content.
type block struct {
	Sum    uint64        `json:"s"` // hash of the canonical bytes, the role and the layer
	Digest string        `json:"d"` // equality digest
	Item   string        `json:"i"`
	Layer  dialect.Layer `json:"l"`
	Kind   string        `json:"k"`
	Role   string        `json:"r,omitempty"`
	Tool   string        `json:"t,omitempty"` // id of the tool call
	Tokens int64         `json:"n"`           // unknown if negative
	InTurn bool          `json:"p,omitempty"` // a message block
}

// tokens returns the tokens of the block, nil if they are unknown.
func (b *block) tokens() *int64 {
	if b.Tokens < 0 {
		return nil
	}
	n := b.Tokens
	return &n
}

// answer is an answer of a model that a later window may hold.
type answer struct {
	Call  string `json:"c"`
	Sum   uint64 `json:"s"` // hash of the text
	Lines hashes `json:"l"` // hashes of the lines, without those that clients drop
}

// hashes are numbers that encode as base64.
type hashes []uint64

// MarshalText encodes the numbers.
func (h hashes) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(h))
	for _, n := range h {
		raw = binary.LittleEndian.AppendUint64(raw, n)
	}
	return base64.RawStdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText decodes the numbers.
func (h *hashes) UnmarshalText(text []byte) error {
	raw, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return fmt.Errorf("decode hashes: %d bytes", len(raw))
	}
	*h = make(hashes, 0, len(raw)/8)
	for ; len(raw) > 0; raw = raw[8:] {
		*h = append(*h, binary.LittleEndian.Uint64(raw))
	}
	return nil
}

// sums maps the hash of an item id to the sum of the item's first block.
type sums map[uint64]uint64

// MarshalText encodes the pairs in the order of their keys.
func (s sums) MarshalText() ([]byte, error) {
	list := make(hashes, 0, 2*len(s))
	for key := range s {
		list = append(list, key)
	}
	slices.Sort(list)
	pairs := make(hashes, 0, 2*len(s))
	for _, key := range list {
		pairs = append(pairs, key, s[key])
	}
	return pairs.MarshalText()
}

// UnmarshalText decodes the pairs.
func (s *sums) UnmarshalText(text []byte) error {
	var pairs hashes
	if err := pairs.UnmarshalText(text); err != nil {
		return err
	}
	*s = make(sums, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		(*s)[pairs[i]] = pairs[i+1]
	}
	return nil
}

// use moves a thread to the front and drops the windows of the threads that were not used for
// the longest time.
func (s *Session) use(t *thread) {
	if i := slices.Index(s.Threads, t); i >= 0 {
		s.Threads = slices.Delete(s.Threads, i, i+1)
	}
	s.Threads = slices.Insert(s.Threads, 0, t)
	if len(s.Threads) > maxThreads {
		s.Threads = slices.Delete(s.Threads, maxThreads, len(s.Threads))
	}
}

// Clone returns a copy that changes independently.
func (s *Session) Clone() *Session {
	c := *s
	c.Items, c.Chains, c.Order = maps.Clone(s.Items), maps.Clone(s.Chains), slices.Clone(s.Order)
	c.Threads = make([]*thread, len(s.Threads))
	for i, t := range s.Threads {
		own := *t
		own.Blocks = slices.Clone(t.Blocks)
		own.Answers, own.Open, own.OpenFor = slices.Clone(t.Answers), slices.Clone(t.Open), slices.Clone(t.OpenFor)
		c.Threads[i] = &own
	}
	return &c
}

// Forget drops the windows of the session, and keeps which items it has.
func (s *Session) Forget() { s.Threads, s.Chains, s.Order = nil, nil, nil }

// Print is what sessions need of a window to recognise it. Make it with [Read].
type Print struct {
	previous string
	blocks   []seen
}

// Read returns the print of an exchange's window.
func Read(x *dialect.Exchange) Print {
	return Print{x.Request.Previous, new(Session).read(new(Reader), "", x.Request.Blocks)}
}

// Continues returns how many messages the window shares with a thread of the session, and at
// least 1 if it continues a response or a compaction of the session. 0 means that the window
// belongs to another session.
func (s *Session) Continues(p Print) (most int) {
	if p.previous != "" {
		if s.Chains[p.previous] != nil {
			return 1
		}
		return 0
	}
	for _, t := range s.Threads {
		most = max(most, messagesShared(t.Blocks, p.blocks))
		if _, found := t.summaryIn(p.blocks); found {
			most = max(most, 1)
		}
	}
	return most
}
