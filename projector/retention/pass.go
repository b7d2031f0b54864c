package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A Pass applies the policy of an installation once. It may be repeated after every error. Passes of
// several processes do no harm.
type Pass struct {
	JetStream jetstream.JetStream // required
	Tables    shardmap.Tables     // required
	// Owner names the process in the leases. Required.
	Owner string
	// Timing is the timing of the leases. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Log receives the messages for the operator. Nil discards them.
	Log *slog.Logger
	// Metrics counts the failures of Follow. Nil counts nothing.
	Metrics *metrics.Metrics
	// Every is the pause of Follow between two passes. Defaults to a minute.
	Every time.Duration
	// Steps runs the steps of the pass. Nil runs them in order.
	Steps steps.Walker
}

// Done is what a pass has done.
type Done struct {
	Streams []Removed `json:"streams"`
	// What lost its content in the tables.
	Emptied        uint64 `json:"emptied_events"`
	EmptiedRefused uint64 `json:"emptied_quarantined_messages"`
	// The rows of decisions that left the tables.
	Decisions uint64 `json:"removed_decisions"`
}

// Removed is what a pass has removed from one stream.
type Removed struct {
	Stream string `json:"stream"`
	State
	Messages uint64 `json:"removed_messages"`
	Bytes    uint64 `json:"removed_bytes"`
	Lasting  int    `json:"copied_facts"` // that never expire
}

// ErrBusy means that a backup, a restore or a rebuild runs, or another pass.
var ErrBusy = errors.New("a backup, a restore or a rebuild is running, and needs the messages of the streams: try again after it")

// Run removes what the policy lets go. Errors: [ErrBusy], or an error of a server.
func (p Pass) Run(ctx context.Context) (Done, error) { return p.run(ctx, new(memory)) }

// run is Run for a process that remembers what it has done.
func (p Pass) run(ctx context.Context, past *memory) (done Done, err error) {
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	p.Timing = cmp.Or(p.Timing, lease.DefaultTiming)
	if p.Steps == nil {
		p.Steps = steps.InOrder{}
	}
	kv, err := lease.OpenBucket(ctx, p.JetStream)
	if err != nil {
		return done, err
	}
	policy, err := ReadPolicy(ctx, kv)
	if err != nil || policy.IsZero() {
		return done, err
	}
	held := ctx
	for _, key := range []string{lease.RebuildKey, lease.BackupKey} {
		own, next, err := lease.Claim{KV: kv, Key: key, Owner: p.Owner, Timing: p.Timing, Log: p.Log}.AcquireFree(held, ErrBusy)
		if err != nil {
			return done, err
		}
		defer own.End(ctx, nil)
		held = next
	}
	if err := p.Tables.Unmoved(held, p.JetStream); err != nil {
		return done, err
	}
	streams, err := read(held, p.JetStream, p.Tables, kv, policy, p.Log)
	if err != nil {
		return done, err
	}
	oldest := streams[0].source.Info.TimeStamp // of the first message that stays, in all streams
	firsts := make(map[uuid.UUID]uint64)
	for i := range streams {
		removed, err := p.remove(held, &streams[i])
		if err != nil {
			return done, err
		}
		done.Streams = append(done.Streams, removed)
		firsts[streams[i].source.Incarnation] = removed.First
		if !removed.FirstAt.IsZero() && removed.FirstAt.Before(oldest) { // zero in an empty stream
			oldest = removed.FirstAt
		}
	}
	if err := p.removeCopies(held, oldest); err != nil {
		return done, err
	}
	t := tablesPass{Pass: p, policy: policy, now: streams[0].source.Info.TimeStamp, oldest: oldest, firsts: firsts, past: past}
	err = t.run(held, &done)
	return done, err
}

// remove removes the first messages of a stream.
func (p Pass) remove(ctx context.Context, s *stream) (done Removed, err error) {
	done = Removed{Stream: s.source.Info.Config.Name, State: s.State}
	before := s.source.Info.State
	if s.Through < before.FirstSeq {
		return done, nil
	}
	err = p.Steps.Walk(ctx, []steps.Step{
		{Verb: "keep what never expires", Do: func(ctx context.Context) (err error) {
			done.Lasting, err = p.keepLasting(ctx, &s.source, s.Through)
			return err
		}},
		{Verb: "remove", Do: func(ctx context.Context) error {
			return removeThrough(ctx, s.source.Stream, s.Through)
		}},
	}, steps.Take)
	if err != nil {
		return done, err
	}
	info, err := s.source.StillThere(ctx)
	if err != nil {
		return done, err
	}
	done.Messages, done.Bytes = before.Msgs-min(info.State.Msgs, before.Msgs), before.Bytes-min(info.State.Bytes, before.Bytes)
	done.First, done.FirstAt, done.State.Bytes = info.State.FirstSeq, info.State.FirstTime, info.State.Bytes
	p.Log.Info("removed messages by the retention", "event", "retention", "stream", done.Stream, "through", s.Through, "messages", done.Messages, "bytes", done.Bytes)
	return done, nil
}

// purgePatience bounds a purge, in which the server removes about a million messages a second by their subject. The
// client gives up after five seconds otherwise. If a server ends before its reply, the wait is in vain.
const purgePatience = time.Minute

// removeThrough removes the messages of a stream up to a sequence.
//
// A stream that is emptied is purged by its subjects. If its last message was deleted before, a purge by
// the sequence alone does not last: some seconds later the server reads the messages from its file
// again. Measured with nats-server 2.15.2 and 2.15.3.
func removeThrough(ctx context.Context, stream jetstream.Stream, through uint64) error {
	config := stream.CachedInfo().Config
	_, err := stream.GetMsg(ctx, through+1, jetstream.WithGetMsgSubject(">")) // the next one that is there
	ctx, cancel := context.WithTimeout(ctx, purgePatience)
	defer cancel()
	switch {
	case err == nil:
		err = stream.Purge(ctx, jetstream.WithPurgeSequence(through+1))
	case errors.Is(err, jetstream.ErrMsgNotFound):
		err = nil
		for i := 0; err == nil && i < len(config.Subjects); i++ {
			err = stream.Purge(ctx, jetstream.WithPurgeSequence(through+1), jetstream.WithPurgeSubject(config.Subjects[i]))
		}
	}
	if err != nil {
		return fmt.Errorf("remove the messages of %s up to %d: %w", config.Name, through, err)
	}
	return nil
}

// removeCopies removes the copies of quarantined messages that were made before a time. Their messages
// have left the streams, so no rebuild needs the copies. The table of quarantine keeps them.
func (p Pass) removeCopies(ctx context.Context, before time.Time) error {
	copies, err := p.JetStream.Stream(ctx, schema.QuarantineStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", schema.QuarantineStream, err)
	}
	last, err := lastBefore(ctx, copies, before)
	if err != nil || last < copies.CachedInfo().State.FirstSeq {
		return err
	}
	return removeThrough(ctx, copies, last)
}

// Follow runs a pass at once and then one every Every, until ctx ends. It logs and counts failures, and
// goes on.
func (p Pass) Follow(ctx context.Context) {
	p.Log = cmp.Or(p.Log, slog.New(slog.DiscardHandler))
	p.Every = cmp.Or(p.Every, time.Minute)
	ticker := time.NewTicker(p.Every)
	defer ticker.Stop()
	past := new(memory)
	for {
		if _, err := p.run(ctx, past); err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
			p.Metrics.RetentionFailed()
			p.Log.Warn("the retention could not be applied, and is tried again", "event", "retention_failed", "after", p.Every, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// committedHead returns the last sequence below the newest signed tree head of a stream. signed is
// false if the ledger has no transparency log.
func committedHead(ctx context.Context, l *ledger.Ledger, s *streamio.Source) (through uint64, signed bool, err error) {
	log, err := translog.Of(l).LogAt(ctx, s.Incarnation, 1<<63)
	if err != nil || log.IsZero() {
		return 0, false, err
	}
	head, found, err := translog.Of(l).NewestHead(ctx, s.Incarnation)
	if err != nil || !found {
		return 0, true, err
	}
	through, err = translog.Of(l).CommittedAt(ctx, s.Incarnation, head.Size)
	return through, true, err
}
