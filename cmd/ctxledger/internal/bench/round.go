package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Round is one way through the whole stream.
type Round struct {
	Seconds   float64   `json:"seconds"`
	PerSecond float64   `json:"events_per_second"`
	Batches   int       `json:"batches"`
	CPU       Processes `json:"cpu_seconds"`
	Peak      Processes `json:"peak_bytes"`

	parts map[string]Table // parts at the end of the way
}

// measure runs a way through the events in a separate process. The result includes the time and
// the deferred work.
func (s *servers) measure(ctx context.Context, way WayConfig) (r Round, found wayEnded, err error) {
	way.NATS = s.child.url
	client, err := s.startWay(ctx, way)
	if err != nil {
		return r, found, err
	}
	s.client = client
	defer func() {
		s.client = nil
		err = errors.Join(err, client.stop())
	}()
	if err := s.settle(ctx); err != nil {
		return r, found, err
	}
	s.resetPeaks()
	before, began := s.cpuSeconds(), time.Now()
	if found, err = client.goWay(ctx); err != nil {
		return r, found, err
	}
	took := time.Since(began).Seconds()
	r = Round{Seconds: took, PerSecond: float64(way.Events) / took, Peak: s.peakBytes()}
	if r.parts, err = tableParts(ctx, s); err != nil {
		return r, found, err
	}
	if err := s.settle(ctx); err != nil {
		return r, found, err
	}
	r.CPU = s.cpuSeconds().minus(before)
	return r, found, nil
}

func (s *servers) rawRound(ctx context.Context, n int) (r Round, err error) {
	dsn, err := s.freshDatabase(ctx)
	if err != nil {
		return r, err
	}
	conn, err := connect(dsn)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := conn.Exec(ctx, statement("create_raw")); err != nil {
		return r, fmt.Errorf("create the raw table: %w", err)
	}
	r, found, err := s.measure(ctx, WayConfig{Way: rawWay, ClickHouse: dsn, Events: n})
	if err != nil {
		return r, fmt.Errorf("raw copy: %w", err)
	}
	r.Batches = found.Inserts
	var rows uint64
	if err := conn.QueryRow(ctx, statement("count_raw")).Scan(&rows); err != nil || rows != uint64(n) {
		return r, errors.Join(fmt.Errorf("raw copy: %d rows of %d messages", rows, n), err)
	}
	return r, nil
}

// drainRound projects the stream into a new ledger and leaves the ledger open. way is drainWay or
// unloggedWay.
func (s *servers) drainRound(ctx context.Context, way string, c Config, profile string) (r Round, l *ledger.Ledger, err error) {
	fresh, dsn, err := s.freshLedger(ctx)
	if err != nil {
		return r, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("drain: %w", err), fresh.Close())
		}
	}()
	r, found, err := s.measure(ctx, WayConfig{Way: way, ClickHouse: dsn, Events: c.Events, Profile: profile})
	if err != nil {
		return r, nil, err
	}
	if st := found.Status; st.Events != uint64(c.Events) || st.Quarantined+st.Duplicates+st.UnknownKeys > 0 {
		return r, nil, fmt.Errorf("of %d events %d are in the ledger, %d in quarantine, %d duplicates, %d of unknown keys", c.Events, st.Events, st.Quarantined, st.Duplicates, st.UnknownKeys)
	}
	r.Batches = int(r.parts["commits"].PartsMade)
	return r, fresh, nil
}

// freshLedger returns a ledger with empty tables and no lease, and the address of the tables.
func (s *servers) freshLedger(ctx context.Context) (l *ledger.Ledger, dsn string, err error) {
	if dsn, err = s.freshDatabase(ctx); err != nil {
		return nil, "", err
	}
	if err := s.js.DeleteKeyValue(ctx, lease.Bucket); err != nil && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, "", fmt.Errorf("drop the leases: %w", err)
	}
	if _, err := streamio.EnsureStreams(ctx, s.js); err != nil {
		return nil, "", err
	}
	if l, err = ledger.Open(ctx, dsn); err != nil {
		return nil, "", err
	}
	if _, err := shadow.Of(l).Migrate(ctx); err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	return l, dsn, nil
}

// Summary holds the median of each figure over the rounds.
type Summary struct {
	PerSecond     float64   `json:"events_per_second"`
	CPUPerMillion Processes `json:"cpu_seconds_per_million_events"`
	// Peak is the maximum over all rounds, not the median.
	Peak   Processes `json:"peak_bytes"`
	Rounds []Round   `json:"rounds"`
}

func summarise(rounds []Round, events int) Summary {
	s := Summary{Rounds: rounds, PerSecond: median(rounds, func(r Round) float64 { return r.PerSecond })}
	for i, at := range s.CPUPerMillion.each() {
		*at = known(rounds, func(r Round) *float64 { p := r.CPU.times(1e6 / float64(events)); return *p.each()[i] }, middle)
	}
	for i, at := range s.Peak.each() {
		*at = known(rounds, func(r Round) *float64 { return *r.Peak.each()[i] }, slices.Max)
	}
	return s
}

// known applies f to a figure of all rounds if every round has the figure.
func known(rounds []Round, figure func(Round) *float64, f func([]float64) float64) *float64 {
	var values []float64
	for _, r := range rounds {
		if v := figure(r); v != nil {
			values = append(values, *v)
		}
	}
	if len(values) < len(rounds) {
		return nil
	}
	return new(f(values))
}

func median(rounds []Round, figure func(Round) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = figure(r)
	}
	return middle(values)
}

// middle sorts the values and returns their median.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
