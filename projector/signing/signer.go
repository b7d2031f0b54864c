package signing

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/schema"
)

// Config sets when the tree heads of a stream's transparency log are signed, and their
// additional destinations. The table checkpoints and the stream CTX_CHECKPOINTS always receive
// the heads. The projector signs when the transparency log has grown by Every leaves, or the
// stream's time has advanced by Interval. The projector also signs when no event has arrived
// for a second.
type Config struct {
	// Every defaults to 10,000 leaves.
	Every int64
	// Interval defaults to 10 s.
	Interval time.Duration
	// Sinks also receive each head.
	Sinks []Sink
}

// Sink is an external destination for signed heads. A head that only its author keeps proves
// nothing against the author. Put may be slow and may fail: no commit waits for it. A failed
// Put is repeated, perhaps with a newer head. The log and the metrics report the failure.
type Sink struct {
	Name string
	Put  func(ctx context.Context, stream string, note []byte) error
}

const (
	// headIdle is the pause between commits after which the last commit's head is signed.
	headIdle = time.Second
	// headPatience is the time limit of one sink for a head.
	headPatience = 30 * time.Second
	// headEnd is the time limit for the last head when a projector ends.
	headEnd = 2 * time.Second
)

// committedLog is a transparency log as of a commit.
type committedLog struct {
	ledger.Log
	at time.Time // the time of the commit's last message
}

// A Target is the transparency log whose tree heads are signed, with the destinations.
type Target struct {
	Config
	Ring        func() (proof.Ring, error)
	JetStream   jetstream.JetStream
	Ledger      *ledger.Ledger
	Stream      string
	Incarnation uuid.UUID
	Meter       metrics.Meter
	Log         *slog.Logger
}

// A Signer signs the tree heads of a stream's transparency log and sends them to the
// destinations. The Signer has a separate goroutine, so no commit waits for it. A newer head
// replaces one that is still unsigned. A nil Signer signs nothing.
type Signer struct {
	Target
	sinks  []Sink
	origin string             // of the heads; "" before the first
	latest chan committedLog  // the newest commit that run has not read; one goroutine sends
	cancel context.CancelFunc // cancels current work
	done   chan struct{}
}

// Start signs until Close is called. The end of ctx does not stop it.
func Start(ctx context.Context, t Target) *Signer {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	h := &Signer{Target: t, latest: make(chan committedLog, 1), cancel: cancel, done: make(chan struct{})}
	h.sinks = append([]Sink{{Name: "stream", Put: h.toStream}}, t.Sinks...)
	go func() {
		defer close(h.done)
		h.run(ctx)
	}()
	return h
}

// Committed passes a commit to the signer. Calls must not overlap.
func (h *Signer) Committed(log ledger.Log, at time.Time) {
	if h == nil || log.IsZero() {
		return
	}
	select {
	case <-h.latest:
	default:
	}
	h.latest <- committedLog{log, at}
}

// Close has the last head signed within headEnd, and ends the signer.
func (h *Signer) Close() {
	if h != nil {
		h.cancel()
		close(h.latest)
		<-h.done
	}
}

func (h *Signer) run(ctx context.Context) {
	every, interval := h.Every, h.Interval
	var newest, signed committedLog
	var out *outgoing // the newest signed head, until all destinations have it
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
		if !more { // the caller of Close waits
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

// outgoing is a signed head in delivery.
type outgoing struct {
	head       translog.SignedHead
	checkpoint proof.Checkpoint
	took       map[string]bool // the sinks that have it
}

// sign makes the signed head of a transparency log, unless the table already holds it.
func (h *Signer) sign(ctx context.Context, log committedLog) (*outgoing, bool) {
	ring, err := h.Ring()
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	signer, err := ring.Signer()
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	c := proof.Checkpoint{Origin: h.origin, Size: log.Tree.Size, Root: log.Root}
	if c.Origin == "" {
		c.Origin, err = h.originOf(ctx, c, ring)
		if errors.Is(err, errCatchingUp) {
			return nil, false
		}
		if err != nil {
			h.failed("sign", err)
			return nil, false
		}
		h.origin = c.Origin
	}
	note, err := c.Sign(signer)
	if err != nil {
		h.failed("sign", err)
		return nil, false
	}
	last, found, err := translog.Of(h.Ledger).LastHead(ctx, h.Incarnation, c.Size)
	if err == nil && found && last.Size == c.Size {
		if opened, err := proof.Open(last.Note, ring.Verifiers()); err == nil && opened.Checkpoint == c {
			return nil, true // signed by an earlier projector
		}
	}
	return &outgoing{
		head:       translog.SignedHead{Incarnation: h.Incarnation, Size: c.Size, Note: note, RecordedAt: log.at},
		checkpoint: c, took: make(map[string]bool),
	}, true
}

// take sends a head to the destinations that lack it, and reports whether all have it.
func (h *Signer) take(ctx context.Context, out *outgoing) (everywhere bool) {
	everywhere = true
	sinks := append([]Sink{{Name: "table", Put: func(ctx context.Context, _ string, _ []byte) error {
		return translog.Of(h.Ledger).KeepHead(ctx, out.head, out.checkpoint)
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
		h.Meter.Head(sink.Name, nil)
	}
	return everywhere
}

func (h *Signer) put(ctx context.Context, sink Sink, note []byte) error {
	ctx, cancel := context.WithTimeout(ctx, headPatience)
	defer cancel()
	return sink.Put(ctx, h.Stream, note)
}

func (h *Signer) failed(to string, err error) {
	h.Meter.Head(to, err)
	h.Log.Warn("a head of the transparency log could not be signed or delivered, and will be tried again", "event", "head_failed", "to", to, "error", err)
}

// toStream publishes a head to the stream of heads.
func (h *Signer) toStream(ctx context.Context, stream string, note []byte) error {
	return Publish(ctx, h.JetStream, stream, note)
}

// Publish puts a signed head into the stream of heads, from which the next signer continues. The message
// id prevents a second message after a retry.
func Publish(ctx context.Context, js jetstream.JetStream, stream string, note []byte) error {
	subject := headSubject + stream
	_, err := js.Publish(ctx, subject, note, jetstream.WithMsgID(subject+":"+fmt.Sprintf("%x", sha256.Sum256(note))), jetstream.WithExpectStream(schema.CheckpointStream))
	if err != nil {
		return fmt.Errorf("publish to %s: %w", schema.CheckpointStream, err)
	}
	return nil
}

// headSubject is the prefix of the subjects of heads. The stream's name follows.
const headSubject = "ctx.checkpoints."
