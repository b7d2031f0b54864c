package projector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/leak"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// simStream is a stream of events with its consumers. The world's lock guards it.
type simStream struct {
	w           *world
	name        string
	incarnation uuid.UUID
	messages    []*streamio.Message
	last        uint64
	first       uint64
	consumers   map[string]*simConsumed
	made        int
	ever        []ledger.Position // every message of this incarnation, also replaced ones
	// The reasons for which messages are gone.
	deleted map[simPlace]bool // by a person
	purged  map[simPlace]bool // by a limit
	undone  map[simPlace]bool // by a restore of an older copy
	removed map[simPlace]bool // by a projector
	// The same of the stream before the current one.
	goneBefore   map[simPlace]bool // by a limit or a person
	undoneBefore map[simPlace]bool
}

// simPlace identifies one message, also if another message had its sequence before.
type simPlace struct {
	incarnation uuid.UUID
	seq         uint64
	at          int64
}

func placeIn(p ledger.Position) simPlace {
	return simPlace{p.Incarnation, p.StreamSeq, p.RecordedAt.UnixNano()}
}

// simContent is the content of a message.
type simContent struct {
	id       decode.Identity
	identity uint64
	digest   [32]byte
	valid    bool
	table    string // the table with the row of its fact
	withheld []privacy.Withheld
	simSent
}

// simConsumed is the server's state of a consumer.
type simConsumed struct {
	next      uint64 // the next sequence to deliver
	delivered uint64
}

func newSimStream(w *world, name string) *simStream {
	s := &simStream{w: w, name: name}
	s.renew()
	return s
}

// renew replaces the stream by an empty one of another incarnation.
func (s *simStream) renew() {
	r := s.w.rollLocked("incarnation" + s.name)
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	s.goneBefore, s.undoneBefore = maps.Clone(s.purged), s.undone
	maps.Copy(s.goneBefore, s.deleted)
	s.incarnation, s.messages, s.ever, s.first, s.last = id, nil, nil, 1, 0
	s.consumers = make(map[string]*simConsumed)
	s.deleted, s.purged, s.undone, s.removed = make(map[simPlace]bool), make(map[simPlace]bool), make(map[simPlace]bool), make(map[simPlace]bool)
}

// simSent is a message to publish.
type simSent struct {
	schema.Message
	secret    int // the number of its secret; -1 for none
	withholds int // the number of the secret that it withholds; -1 for none
}

func (s *simStream) append(m simSent) {
	s.last++
	s.messages = append(s.messages, s.place(s.last, m))
	s.settleFirst()
}

// place gives a message a new and unique place.
func (s *simStream) place(seq uint64, m simSent) *streamio.Message {
	at := ledger.Position{Incarnation: s.incarnation, StreamSeq: seq, RecordedAt: time.Now().Add(time.Duration(s.made)).UTC()}
	s.made++ // no two messages have the same time
	s.ever = append(s.ever, at)
	msg := &streamio.Message{Subject: m.Subject, Header: m.Header, Data: m.Data, Position: at, Rules: ledger.NewestRules}
	content := &simContent{simSent: m}
	if p := decode.One(msg); len(p.Violations) == 0 {
		content.id, content.identity, content.digest, content.valid = p.Identity(), p.Hash, p.Digest, true
		content.table = "log_items"
		if content.withheld = leak.Of(p.Envelope, p.Fact); len(content.withheld) > 0 {
			content.table = "redactions"
		}
	}
	s.w.all[placeIn(at)] = content
	return msg
}

// holds returns the message of a sequence, or nil.
func (s *simStream) holds(seq uint64) *streamio.Message {
	if i, ok := s.at(seq); ok {
		return s.messages[i]
	}
	return nil
}

func (s *simStream) at(seq uint64) (int, bool) {
	return slices.BinarySearchFunc(s.messages, seq, func(m *streamio.Message, seq uint64) int { return cmp.Compare(m.Position.StreamSeq, seq) })
}

// take removes the message of a sequence and records the reason.
func (s *simStream) take(seq uint64, why map[simPlace]bool) bool {
	i, ok := s.at(seq)
	if ok {
		why[placeIn(s.messages[i].Position)] = true
		s.messages = slices.Delete(s.messages, i, i+1)
		s.settleFirst()
	}
	return ok
}

func (s *simStream) settleFirst() {
	s.first = s.last + 1
	if len(s.messages) > 0 {
		s.first = s.messages[0].Position.StreamSeq
	}
}

// purge drops all messages before seq.
func (s *simStream) purge(seq uint64) {
	i, _ := s.at(seq)
	for _, m := range s.messages[:i] {
		s.purged[placeIn(m.Position)] = true
	}
	s.messages = slices.Clone(s.messages[i:])
	s.settleFirst()
}

// restore restores an older copy, which ends at seq.
func (s *simStream) restore(seq uint64) {
	for _, at := range s.ever {
		if at.StreamSeq > seq {
			s.undone[placeIn(at)] = true
		}
	}
	i, _ := s.at(seq + 1)
	s.messages, s.last = slices.Clone(s.messages[:i]), seq
	s.settleFirst()
	s.consumers = make(map[string]*simConsumed)
}

// replace puts another message in a place.
func (s *simStream) replace(seq uint64, m simSent) {
	if i, ok := s.at(seq); ok {
		s.undone[placeIn(s.messages[i].Position)] = true
		s.messages[i] = s.place(seq, m)
		s.consumers = make(map[string]*simConsumed)
	}
}

func (s *simStream) info() *jetstream.StreamInfo {
	var deleted []uint64
	for seq := s.first; seq <= s.last; seq++ {
		if s.holds(seq) == nil {
			deleted = append(deleted, seq)
		}
	}
	return &jetstream.StreamInfo{
		Config: jetstream.StreamConfig{Name: s.name, Metadata: map[string]string{streamio.IncarnationKey: s.incarnation.String(), streamio.RulesKey: streamio.NewRules().String(), schema.PartitionsKey: fmt.Sprint(len(s.w.streams))}},
		State:  jetstream.StreamState{FirstSeq: s.first, LastSeq: s.last, Msgs: uint64(len(s.messages)), Deleted: deleted},
	}
}

// simJetStream is a process's client. Methods that the projector does not call are nil.
type simJetStream struct {
	jetstream.JetStream
	*process
}

// Conn is nil: a process of the simulation has no connection, so its lease ends by the expiry.
func (j simJetStream) Conn() *nats.Conn { return nil }

func (j simJetStream) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s := &simStreamClient{process: j.process}
	for _, stream := range j.w.streams {
		if stream.name == name {
			s.of = stream
		}
	}
	if s.of == nil { // no installation of the simulation has a retention
		return nil, jetstream.ErrStreamNotFound
	}
	_, err := s.Info(ctx)
	return s, err
}

// simNames lists the streams. The server always answers.
type simNames struct{ all chan string }

func (j simJetStream) StreamNames(context.Context, ...jetstream.StreamListOpt) jetstream.StreamNameLister {
	l := simNames{make(chan string, len(j.w.streams))}
	for _, s := range j.w.streams {
		l.all <- s.name
	}
	close(l.all)
	return l
}

func (l simNames) Name() <-chan string { return l.all }
func (l simNames) Err() error          { return nil }

func (j simJetStream) KeyValue(ctx context.Context, _ string) (jetstream.KeyValue, error) {
	return simKeyValue{process: j.process}, j.call(ctx, "nats", "bucket", func(*rand.Rand) error { return nil })
}

func (j simJetStream) PublishMsg(ctx context.Context, msg *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return &jetstream.PubAck{}, j.call(ctx, "nats", "publish", func(*rand.Rand) error {
		if r, whole, ok := quarantine.ReadCopy(msg.Header, msg.Data); ok && whole {
			j.w.copies[placeIn(r.Position())] = true
		}
		return nil
	})
}

type simStreamClient struct {
	jetstream.Stream
	*process
	of     *simStream
	cached *jetstream.StreamInfo
	looked simPlace // the message that GetMsg found last
}

func (s *simStreamClient) CachedInfo() *jetstream.StreamInfo { return s.cached }

func (s *simStreamClient) Info(ctx context.Context, _ ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	err := s.call(ctx, "nats", "info", func(*rand.Rand) error {
		s.cached = s.of.info()
		return nil
	})
	return s.cached, err
}

func (s *simStreamClient) GetMsg(ctx context.Context, seq uint64, _ ...jetstream.GetMsgOpt) (msg *jetstream.RawStreamMsg, err error) {
	err = s.call(ctx, "nats", "get message", func(*rand.Rand) error {
		m := s.of.holds(seq)
		if m == nil {
			return jetstream.ErrMsgNotFound
		}
		s.looked = placeIn(m.Position)
		msg = &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: seq, Time: m.Position.RecordedAt, Header: m.Header, Data: m.Data}
		return nil
	})
	return msg, err
}

func (s *simStreamClient) SecureDeleteMsg(ctx context.Context, seq uint64) error {
	return s.call(ctx, "nats", "delete message", func(*rand.Rand) error {
		why, fault := s.of.removed, "value deleted"
		if m := s.of.holds(seq); m != nil && seq == s.looked.seq && placeIn(m.Position) != s.looked {
			// The stream was made anew or restored since the projector looked at this place. A deletion by the
			// sequence has no condition, so it takes another message, as a person may.
			why, fault = s.of.deleted, "another message deleted"
		}
		if !s.of.take(seq, why) {
			return jetstream.ErrMsgNotFound
		}
		s.w.faults[fault]++
		return nil
	})
}

func (s *simStreamClient) CreateConsumer(ctx context.Context, config jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	c := &simConsumer{process: s.process, of: s.of}
	return c, s.call(ctx, "nats", "create consumer", func(*rand.Rand) error {
		s.of.made++
		c.name = fmt.Sprint("consumer-", s.of.made)
		s.of.consumers[c.name] = &simConsumed{next: config.OptStartSeq}
		return nil
	})
}

func (s *simStreamClient) DeleteConsumer(ctx context.Context, name string) error {
	return s.call(ctx, "nats", "delete consumer", func(*rand.Rand) error {
		delete(s.of.consumers, name)
		return nil
	})
}

// simConsumer is the client of one consumer, and the iterator over it.
type simConsumer struct {
	jetstream.Consumer
	*process
	of   *simStream
	name string
}

func (c *simConsumer) CachedInfo() *jetstream.ConsumerInfo {
	return &jetstream.ConsumerInfo{Name: c.name}
}

func (c *simConsumer) Info(ctx context.Context) (info *jetstream.ConsumerInfo, err error) {
	err = c.call(ctx, "nats", "consumer info", func(*rand.Rand) error {
		stream := c.of
		consumed := stream.consumers[c.name]
		if consumed == nil {
			return jetstream.ErrConsumerNotFound
		}
		i, _ := stream.at(consumed.next)
		info = &jetstream.ConsumerInfo{Name: c.name, NumPending: uint64(len(stream.messages) - i)}
		info.Delivered.Consumer = consumed.delivered
		return nil
	})
	return info, err
}

func (c *simConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return &simMessages{simConsumer: c}, nil
}

// simMessages delivers the available messages. simMessages gives up after a short wait, like
// the client of a caller with a deadline.
type simMessages struct {
	jetstream.MessagesContext
	*simConsumer
}

func (*simMessages) Stop() {}

func (m *simMessages) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	if err := m.gate(); err != nil {
		return nil, err
	}
	r := m.w.roll(m.process.name + "next")
	if msg := m.take(r); msg != nil {
		return msg, nil
	}
	select {
	case <-m.w.over:
	case <-time.After(50*time.Millisecond + time.Duration(r.Int64N(int64(50*time.Millisecond)))):
	}
	if msg := m.take(r); msg != nil {
		return msg, nil
	}
	return nil, nats.ErrTimeout
}

func (m *simMessages) take(r *rand.Rand) jetstream.Msg {
	w := m.w
	w.mu.Lock()
	defer w.mu.Unlock()
	consumed := m.of.consumers[m.name]
	if consumed == nil || time.Now().Before(w.down["nats"]) {
		return nil
	}
	i, _ := m.of.at(consumed.next)
	if i == len(m.of.messages) {
		return nil
	}
	msg := m.of.messages[i]
	consumed.next = msg.Position.StreamSeq + 1
	consumed.delivered++
	if !w.calm && r.Float64() < w.odds.missed {
		w.faults["message missed"]++
		return nil
	}
	return simMsg{of: msg, delivered: consumed.delivered}
}

type simMsg struct {
	jetstream.Msg
	of        *streamio.Message
	delivered uint64
}

func (m simMsg) Subject() string      { return m.of.Subject }
func (m simMsg) Headers() nats.Header { return m.of.Header }
func (m simMsg) Data() []byte         { return m.of.Data }
func (m simMsg) Metadata() (*jetstream.MsgMetadata, error) {
	return &jetstream.MsgMetadata{
		Sequence: jetstream.SequencePair{Consumer: m.delivered, Stream: m.of.Position.StreamSeq}, Timestamp: m.of.Position.RecordedAt,
	}, nil
}
