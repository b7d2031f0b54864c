package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Lag is how far the ledger is behind the stream.
type Lag struct {
	Events    uint64        // sequences that are not in the ledger; deleted ones among them count
	Age       time.Duration // of the oldest event among them; 0 when level
	Committed uint64        // last sequence that is in the ledger
}

// LagMeter measures the lag apart from the work: by asking the stream, and the
// ledger where this process is not the writer. So it goes on while the ledger
// is down and while another holds the lease. Only measure writes; the rest is
// safe for concurrent use.
type LagMeter struct {
	latest atomic.Pointer[measurement]

	// What the ledger said last, which it can only have grown from.
	incarnation uuid.UUID
	committed   uint64
}

// A LagSource says what is measured.
type LagSource struct {
	JetStream jetstream.JetStream
	Stream    string
	Ledger    interface {
		LastCommit(ctx context.Context, incarnation uuid.UUID) (ledger.Range, bool, error)
	}
	// Committed returns the last committed sequence, and false where another process
	// writes, so that the ledger is asked.
	Committed func() (uint64, bool)
}

type measurement struct {
	Lag
	at time.Time
}

// ledgerPatience bounds the question to the ledger; that to the stream has the
// client's own limit.
const ledgerPatience = 2 * time.Second

// Now returns the lag as it was measured last, with the time since added to
// the age of what was behind then. It returns false where it is not known.
//
// Both times of an age are the NATS server's: the projector's own clock only
// counts what has passed since.
func (l *LagMeter) Now() (Lag, bool) {
	m := l.latest.Load()
	if m == nil {
		return Lag{}, false
	}
	lag := m.Lag
	if lag.Events > 0 {
		lag.Age += time.Since(m.at)
	}
	return lag, true
}

// Behind reports whether something was to do at the last measurement.
func (l *LagMeter) Behind() bool {
	m := l.latest.Load()
	return m != nil && m.Events > 0
}

// Follow measures every so often until ctx ends.
func (l *LagMeter) Follow(ctx context.Context, from LagSource, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		l.note(l.Measure(ctx, from))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// note keeps a measurement. One that failed leaves a ledger that was behind
// behind, and one that was level unknown.
func (l *LagMeter) note(lag Lag, err error) {
	switch {
	case err == nil:
		l.latest.Store(&measurement{lag, time.Now()})
	case !l.Behind():
		l.latest.Store(nil)
	}
}

// Measure asks the stream, and the ledger where another process writes.
func (l *LagMeter) Measure(ctx context.Context, from LagSource) (Lag, error) {
	stream, incarnation, err := streamio.OpenStream(ctx, from.JetStream, from.Stream)
	if err != nil {
		return Lag{}, err
	}
	if err := l.learnCommitted(ctx, from, incarnation); err != nil {
		return Lag{}, err
	}
	info := stream.CachedInfo()
	lag := Lag{Committed: l.committed, Events: info.State.LastSeq - min(info.State.LastSeq, l.committed)}
	if lag.Events == 0 {
		return lag, nil
	}
	oldest, err := streamio.NextMessage(ctx, stream, l.committed)
	if err != nil {
		return Lag{}, err
	}
	if oldest == nil {
		return Lag{Committed: l.committed}, nil // deleted messages, up to the end
	}
	lag.Age = max(0, info.TimeStamp.Sub(oldest.Time))
	return lag, nil
}

// learnCommitted finds out the last committed sequence. The writer knows;
// others ask the ledger, and where it does not answer nobody commits either.
func (l *LagMeter) learnCommitted(ctx context.Context, from LagSource, incarnation uuid.UUID) error {
	if committed, writer := from.Committed(); writer {
		l.incarnation, l.committed = incarnation, committed
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerPatience)
	defer cancel()
	last, _, err := from.Ledger.LastCommit(ctx, incarnation)
	if err == nil {
		l.incarnation, l.committed = incarnation, last.Last
	} else if l.incarnation == incarnation {
		err = nil
	}
	return err
}
