package projector

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// Signing says when the heads of a stream's log are signed, and where they go beside
// the table checkpoints and the stream CTX_CHECKPOINTS. Who projects signs, when
// the log has grown by Every leaves or the stream's time has gone on by Interval,
// and when no event has come for a second.
type Signing struct {
	// Every defaults to 10,000 leaves.
	Every int64
	// Interval defaults to 10 s.
	Interval time.Duration
	// Sinks get each head, too.
	Sinks []HeadSink
}

// HeadSink is a place outside for signed heads: a head that only its author holds
// proves nothing against the author. Put may take its time and may fail: nothing
// waits for it, it is tried again, by then perhaps with a newer head, and the log
// and the metrics say so.
type HeadSink struct {
	Name string
	Put  func(ctx context.Context, stream string, note []byte) error
}

const (
	// headIdle is how long no commit comes before the last one's head is signed.
	headIdle = time.Second
	// headPatience bounds what one sink takes for a head.
	headPatience = 30 * time.Second
	// headEnd is what is left for the last head of a projector that ends.
	headEnd = 2 * time.Second
)

// committedLog is a log as of a commit.
type committedLog struct {
	ledger.Log
	at time.Time // of the commit's last message
}

// A herald signs the heads of a stream's log and takes them where they go, in a
// goroutine of its own, so that no commit waits for it. What it has not got to when
// a newer one comes it leaves away.
type herald struct {
	p      *Projector
	sinks  []HeadSink
	latest chan committedLog  // the newest that it has not seen; one sends
	cancel context.CancelFunc // of what is under way
	done   chan struct{}
}

// newHerald returns nil where nothing is to be signed: without a ring, and for the
// tables of a rebuild.
func (p *Projector) newHerald(ctx context.Context) *herald {
	if p.config.Ring == nil || p.beside != nil || p.translog.None() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &herald{p: p, latest: make(chan committedLog, 1), cancel: cancel, done: make(chan struct{})}
	h.sinks = append([]HeadSink{{Name: "stream", Put: h.toStream}}, p.config.Heads.Sinks...)
	go func() {
		defer close(h.done)
		h.run(ctx)
	}()
	return h
}

// tell lets the herald know of a commit. Calls come one after the other.
func (h *herald) tell(log ledger.Log, at time.Time) {
	if h == nil || log.IsZero() {
		return
	}
	select {
	case <-h.latest:
	default:
	}
	h.latest <- committedLog{log, at}
}

// close has the last head signed, if that can be done soon, and ends the herald.
func (h *herald) close() {
	if h != nil {
		h.cancel()
		close(h.latest)
		<-h.done
	}
}

func (h *herald) run(ctx context.Context) {
	every, interval := h.p.config.Heads.Every, h.p.config.Heads.Interval
	var newest, signed committedLog
	var out *outgoing // of the newest that was signed, until it is everywhere
	wait := headIdle
	idle := time.NewTimer(wait)
	defer idle.Stop()
	for {
		more, due := true, false
		var next committedLog
		select {
		case next, more = <-h.latest:
			if more {
				newest = next
				due = newest.Tree.Size-signed.Tree.Size >= every || newest.at.Sub(signed.at) >= interval
				idle.Reset(wait)
			}
		case <-idle.C:
			due = true
		}
		if !more { // somebody waits for the end
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), headEnd)
			defer cancel()
			ctx = closing
		}
		if !more || due {
			if newest.Root != signed.Root {
				if made, ok := h.sign(ctx, newest); ok {
					out, signed = made, newest
				}
			}
			if out != nil && h.take(ctx, out) {
				out, wait = nil, headIdle
			} else if out != nil {
				wait = min(2*wait, time.Minute)
			}
			idle.Reset(wait)
		}
		if !more {
			return
		}
	}
}

// outgoing is a signed head on its way.
type outgoing struct {
	head       ledger.SignedHead
	checkpoint proof.Checkpoint
	took       map[string]bool // by sinks
}

// sign makes the signed head of a log, unless the table has it from before.
func (h *herald) sign(ctx context.Context, log committedLog) (*outgoing, bool) {
	p := h.p
	ring, err := p.config.Ring()
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	signer, err := ring.Signer()
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	c := proof.Checkpoint{Origin: proof.Origin(p.config.Stream, p.source.Incarnation.String()), Size: log.Tree.Size, Root: log.Root}
	note, err := c.Sign(signer)
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	last, found, err := p.config.Ledger.LastHead(ctx, p.source.Incarnation, c.Size)
	if err == nil && found && last.Size == c.Size {
		if opened, err := proof.Open(last.Note, ring.Verifiers()); err == nil && opened.Checkpoint == c {
			return nil, true // by a projector before this one
		}
	}
	return &outgoing{
		head:       ledger.SignedHead{Incarnation: p.source.Incarnation, Size: c.Size, Note: note, RecordedAt: log.at},
		checkpoint: c, took: make(map[string]bool),
	}, true
}

// take brings a head to where it is not yet, and reports whether it is everywhere.
func (h *herald) take(ctx context.Context, out *outgoing) (everywhere bool) {
	everywhere = true
	sinks := append([]HeadSink{{Name: "table", Put: func(ctx context.Context, _ string, _ []byte) error {
		return h.p.config.Ledger.KeepHead(ctx, out.head, out.checkpoint)
	}}}, h.sinks...)
	for _, sink := range sinks {
		if out.took[sink.Name] {
			continue
		}
		if err := h.put(ctx, sink, out.head.Note); err != nil {
			everywhere = false
			if !errors.Is(err, context.Canceled) {
				h.failed(sink.Name, err)
			}
			continue
		}
		out.took[sink.Name] = true
		h.p.meter().head(sink.Name, nil)
	}
	return everywhere
}

func (h *herald) put(ctx context.Context, sink HeadSink, note []byte) error {
	ctx, cancel := context.WithTimeout(ctx, headPatience)
	defer cancel()
	return sink.Put(ctx, h.p.config.Stream, note)
}

func (h *herald) failed(to string, err error) {
	h.p.meter().head(to, err)
	h.p.config.Log.Warn("a head of the transparency log is not where it should be; it is tried again", "event", "head_failed", "to", to, "error", err)
}

// toStream publishes a head to the stream of heads. Its id keeps a second try from
// being another message.
func (h *herald) toStream(ctx context.Context, stream string, note []byte) error {
	subject := headSubject + stream
	_, err := h.p.config.JetStream.Publish(ctx, subject, note, jetstream.WithMsgID(subject+":"+fmt.Sprintf("%x", sha256.Sum256(note))), jetstream.WithExpectStream(schema.CheckpointStream))
	if err != nil {
		return fmt.Errorf("publish to %s: %w", schema.CheckpointStream, err)
	}
	return nil
}

// headSubject is what the subjects of heads begin with; the stream's name follows.
const headSubject = "ctx.checkpoints."
