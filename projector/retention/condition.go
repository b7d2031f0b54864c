package retention

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A Bound is what keeps the next message in its stream.
type Bound string

const (
	ByPolicy Bound = "policy"    // the policy does not let it go yet
	ByCommit Bound = "commit"    // no commit before the last one has it
	ByHead   Bound = "tree head" // no signed tree head has it
	ByBackup Bound = "backup"    // no full backup has it
)

// State is the state of a stream under a policy.
type State struct {
	First   uint64    `json:"first_sequence"` // that the stream has
	FirstAt time.Time `json:"first_at"`       // its time; zero if the stream is empty
	Bytes   uint64    `json:"bytes"`          // that the stream takes
	Through uint64    `json:"through"`        // the last sequence that may leave
	Kept    Bound     `json:"kept_by"`        // what keeps the next message
}

// patience is how long messages may stay beyond the age of a policy. A pass runs every minute, and waits
// for a backup or a rebuild.
const patience = 15 * time.Minute

// Overdue reports whether the stream is far beyond the policy at a time: by more than a quarter of an
// hour, or by half of its bytes. Messages of the last commit may be older.
func (s State) Overdue(p Policy, now time.Time) bool {
	late := p.AgeSeconds > 0 && !s.FirstAt.IsZero() && now.Sub(s.FirstAt) > p.Age()+patience
	large := p.Bytes > 0 && s.Bytes/3 > p.Bytes/2
	return (late || large) && (s.Through >= s.First || s.Kept == ByHead || s.Kept == ByBackup)
}

// bounds are the last sequences that may leave a stream, by what needs the later ones. Nil needs none.
type bounds struct {
	policy       uint64
	commit       uint64
	head, backup *uint64
}

// through returns the last sequence that may leave, and what keeps the next one.
func (b bounds) through() (uint64, Bound) {
	through, by := b.policy, ByPolicy
	if b.commit < through {
		through, by = b.commit, ByCommit
	}
	if b.head != nil && *b.head < through {
		through, by = *b.head, ByHead
	}
	if b.backup != nil && *b.backup < through {
		through, by = *b.backup, ByBackup
	}
	return through, by
}

// stream is an open stream with its state.
type stream struct {
	source streamio.Source
	State
}

// ReadStates returns the state of each stream of events under the policy of the installation.
func ReadStates(ctx context.Context, js jetstream.JetStream, t shardmap.Tables, kv jetstream.KeyValue) (map[string]State, error) {
	policy, err := ReadPolicy(ctx, kv)
	if err != nil {
		return nil, err
	}
	list, err := read(ctx, js, t, kv, policy, slog.New(slog.DiscardHandler))
	states := make(map[string]State, len(list))
	for _, s := range list {
		states[s.source.Info.Config.Name] = s.State
	}
	return states, err
}

func read(ctx context.Context, js jetstream.JetStream, t shardmap.Tables, kv jetstream.KeyValue, policy Policy, log *slog.Logger) (list []stream, err error) {
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return nil, err
	}
	var backups map[string]uint64
	if policy.AfterBackup {
		if backups, err = backedUp(ctx, kv); err != nil {
			return nil, err
		}
	}
	for _, of := range streams {
		l := t.Of(of.Name)
		source, err := streamio.OpenSource(ctx, js, of.Name, t, log)
		if err != nil {
			return nil, err
		}
		s := stream{source: source, State: State{First: source.Info.State.FirstSeq, FirstAt: source.Info.State.FirstTime, Bytes: source.Info.State.Bytes}}
		b, err := boundsOf(ctx, l, &source)
		if err != nil {
			return nil, t.Failed(l, err)
		}
		if policy.AfterBackup {
			b.backup = new(backups[source.Incarnation.String()])
		}
		if b.policy, err = allowed(ctx, &source, policy.Of(of.Tenant), b); err != nil {
			return nil, err
		}
		s.Through, s.Kept = b.through()
		list = append(list, s)
	}
	return list, nil
}

// boundsOf returns the bounds by the commits and the heads. The policy lets everything go.
func boundsOf(ctx context.Context, l *ledger.Ledger, s *streamio.Source) (b bounds, err error) {
	b.policy = math.MaxUint64
	last, found, err := l.LastCommit(ctx, s.Incarnation)
	if err != nil {
		return b, err
	}
	if found {
		b.commit = last.First - 1
	}
	head, signed, err := committedHead(ctx, l, s)
	if err != nil {
		return b, err
	}
	if signed {
		b.head = &head
	}
	return b, nil
}

// allowed returns the last sequence that the policy lets go. Messages beyond the other bounds are not
// read: while many wait for a backup, each pass would read them all.
func allowed(ctx context.Context, s *streamio.Source, policy Policy, others bounds) (through uint64, err error) {
	if policy.AgeSeconds > 0 {
		if through, err = lastBefore(ctx, s.Stream, s.Info.TimeStamp.Add(-policy.Age())); err != nil {
			return 0, err
		}
	}
	if excess := s.Info.State.Bytes - min(policy.Bytes, s.Info.State.Bytes); policy.Bytes > 0 && excess > 0 {
		most, _ := others.through()
		over, err := lastOf(ctx, s.Stream, excess, most)
		if err != nil {
			return 0, err
		}
		through = max(through, over)
	}
	return through, nil
}

// lastBefore returns the sequence before the first message that was stored at a time or later.
func lastBefore(ctx context.Context, stream jetstream.Stream, at time.Time) (uint64, error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &at, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return 0, fmt.Errorf("look for the messages of %s since %s: %w", stream.CachedInfo().Config.Name, at.Format(time.RFC3339), err)
	}
	defer streamio.Forget(ctx, stream, consumer)
	return consumer.CachedInfo().Delivered.Stream, nil
}

// What a message takes in a stream beside its subject, its headers and its data, and what headers take.
const messageOverhead, headersOverhead = 34, 12

// lastOf returns the last of the first messages of a stream that together take at least this many bytes.
// It returns more than most if these messages go beyond most.
func lastOf(ctx context.Context, stream jetstream.Stream, bytes, most uint64) (last uint64, err error) {
	if stream.CachedInfo().State.FirstSeq > most {
		return math.MaxUint64, nil
	}
	err = streamio.Each(ctx, stream, streamio.Selection{HeadersOnly: true}, func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
		last = meta.Sequence.Stream
		size := sizeOf(msg)
		if size >= bytes || last > most {
			return errEnough
		}
		bytes -= size
		return nil
	})
	if err := enough(err); err != nil {
		return 0, fmt.Errorf("read the oldest messages of %s: %w", stream.CachedInfo().Config.Name, err)
	}
	return last, nil
}

// sizeHeader is the header in which the server gives the size of the data that it leaves out.
const sizeHeader = "Nats-Msg-Size"

// sizeOf returns about what the message takes in its stream.
func sizeOf(msg jetstream.Msg) uint64 {
	size := messageOverhead + headersOverhead + len(msg.Subject())
	for name, values := range msg.Headers() {
		for _, value := range values {
			if name == sizeHeader {
				data, _ := strconv.Atoi(value)
				size += data
			} else {
				size += len(name) + len(value) + len(": \r\n")
			}
		}
	}
	return uint64(size)
}
