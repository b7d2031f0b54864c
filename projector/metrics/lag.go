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

// Lag is the distance of the ledger behind the stream.
type Lag struct {
	Events    uint64        // sequences that are not in the ledger, with deleted ones
	Age       time.Duration // of the oldest event that is not in the ledger; 0 when level
	Committed uint64        // last sequence that is in the ledger
	Behind    int           // replicas of the stream that lack messages or do not answer
	Bytes     uint64        // that the stream takes, in one replica
	Limit     int64         // of the stream in bytes; at most 0 for no limit
}

// LagMeter measures the lag independently of the projector. LagMeter asks the stream, and it
// asks the ledger if another process writes. LagMeter therefore also measures while the ledger
// is down and while another process holds the lease. Only Measure writes. The other methods are
// safe for concurrent use.
type LagMeter struct {
	latest atomic.Pointer[measurement]

	// The last known commit, which only grows.
	incarnation uuid.UUID
	committed   uint64
}

// A LagSource names the stream and the ledger to measure.
type LagSource struct {
	JetStream jetstream.JetStream
	Stream    string
	Ledger    interface {
		LastCommit(ctx context.Context, incarnation uuid.UUID) (ledger.Range, bool, error)
	}
	// Committed returns the last committed sequence. Committed returns false if another process
	// writes, and the ledger is asked instead.
	Committed func() (uint64, bool)
}

type measurement struct {
	Lag
	at time.Time
}

// ledgerPatience is the time limit of the query to the ledger. The client limits the request to
// the stream.
const ledgerPatience = 2 * time.Second

// Now returns the last measured lag. If the ledger was behind, it adds the time since the
// measurement to the age. Now returns false if the lag is unknown.
//
// Both times of an age come from the NATS server. The projector's clock only measures the time
// since.
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

// Behind reports whether the ledger was behind at the last measurement.
func (l *LagMeter) Behind() bool {
	m := l.latest.Load()
	return m != nil && m.Events > 0
}

// Follow measures at an interval until ctx ends.
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

// note stores a measurement. After a failed measurement, a ledger that was behind stays behind.
// A level ledger becomes unknown.
func (l *LagMeter) note(lag Lag, err error) {
	switch {
	case err == nil:
		l.latest.Store(&measurement{lag, time.Now()})
	case !l.Behind():
		l.latest.Store(nil)
	}
}

// Measure asks the stream, and the ledger if another process writes.
func (l *LagMeter) Measure(ctx context.Context, from LagSource) (Lag, error) {
	stream, incarnation, err := streamio.OpenStream(ctx, from.JetStream, from.Stream)
	if err != nil {
		return Lag{}, err
	}
	if err := l.learnCommitted(ctx, from, incarnation); err != nil {
		return Lag{}, err
	}
	info := stream.CachedInfo()
	lag := Lag{
		Committed: l.committed, Events: info.State.LastSeq - min(info.State.LastSeq, l.committed),
		Behind: len(streamio.ReplicasIn(info).Behind), Bytes: info.State.Bytes, Limit: info.Config.MaxBytes,
	}
	if lag.Events == 0 {
		return lag, nil
	}
	oldest, err := streamio.NextMessage(ctx, stream, l.committed)
	if err != nil {
		return Lag{}, err
	}
	if oldest == nil {
		lag.Events = 0 // all remaining messages are deleted
		return lag, nil
	}
	lag.Age = max(0, info.TimeStamp.Sub(oldest.Time))
	return lag, nil
}

// learnCommitted gets the last committed sequence. The writer knows it, and other processes ask
// the ledger. If the ledger does not answer, nothing is committed either.
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
