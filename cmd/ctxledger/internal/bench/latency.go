package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Latency is the time from publishing to queryable, at one rate.
//
// Events are due at an even pace. Every 20 ms the due events go to the stream as one atomic
// batch. Smaller batches would load NATS with a folder and an fsync per batch. A client of the
// SDK waits up to 100 ms. The time of an event starts when the event is due, so a slow publisher
// does not hide a wait.
//
// An event is queryable when a query sees its range in the table commits, which is written after
// the rows of every other table. The query runs every 20 ms; more queries would use the
// processors that are measured. The figures are therefore up to 40 ms and one query's time too
// long, and never too short. The first second is left out.
type Latency struct {
	Setting string  `json:"setting"`  // setting of the projector: default, or low latency
	Load    float64 `json:"load"`     // part of the drain rate; 0 for a fixed rate
	Linger  float64 `json:"linger_s"` // linger of the projector
	Rate    float64 `json:"events_per_second"`
	// Achieved is the rate at which events became queryable. If Achieved is well below Rate, the
	// load was too high, and the percentiles are not useful.
	Achieved float64 `json:"achieved_per_second"`
	Events   int     `json:"events"`
	P50      float64 `json:"p50_s"`
	P99      float64 `json:"p99_s"`
	Max      float64 `json:"max_s"`
}

const (
	// lowLatencyLinger and lowLatencyRate are the linger and the rate of the low-latency setting.
	lowLatencyLinger = 20 * time.Millisecond
	lowLatencyRate   = 2000

	publishEvery = 20 * time.Millisecond
	askEvery     = 20 * time.Millisecond
	warmUp       = time.Second
	stuckAfter   = 30 * time.Second
)

// loads returns the rates to measure. drain is the rate of the drain.
func loads(drain float64) (list []Latency) {
	c := projector.DefaultConfig(nil, nil)
	for _, part := range []float64{0.25, 0.5, 0.8} {
		list = append(list, Latency{Setting: "default", Load: part, Rate: part * drain, Linger: c.Linger.Seconds()})
	}
	return append(list, Latency{Setting: "low latency", Rate: lowLatencyRate, Linger: lowLatencyLinger.Seconds()})
}

// latency publishes at the rate of want with a running projector. The ledger must have no lag.
func (s *servers) latency(ctx context.Context, c Config, l *ledger.Ledger, want Latency, messages *ring) (Latency, error) {
	pc := projector.DefaultConfig(s.js, l)
	pc.Keys, pc.Ring, pc.Log = mix.Keys, mix.Ring, c.Log
	pc.Linger = time.Duration(want.Linger * float64(time.Second))
	ctx, end, err := projecting(ctx, pc)
	if err != nil {
		return want, err
	}
	defer end(nil)
	level, err := streamio.ReadLevel(ctx, s.js, l, schema.EventStream)
	if err != nil {
		return want, err
	}
	want.Events = int(want.Rate * c.Latency.Seconds())
	due := pace{begin: time.Now(), rate: want.Rate}
	published := make(chan error, 1)
	go func() { published <- s.publish(ctx, due, want.Events, messages) }()
	waits, last, err := s.watch(ctx, level, due, want.Events)
	if err != nil {
		end(err) // also ends the publisher
	}
	if err := cmp.Or(err, <-published); err != nil {
		return want, err
	}
	want.Achieved = float64(want.Events) / last.Sub(due.begin).Seconds()
	want.P50, want.P99, want.Max = percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 1)
	return want, nil
}

// pace computes the due time of the i-th event.
type pace struct {
	begin time.Time
	rate  float64
}

func (p pace) due(i int) time.Time {
	return p.begin.Add(time.Duration(float64(i) / p.rate * float64(time.Second)))
}

// dueBy returns the number of events that are due at a time.
func (p pace) dueBy(t time.Time) int { return int(t.Sub(p.begin).Seconds()*p.rate) + 1 }

func (s *servers) publish(ctx context.Context, due pace, n int, messages *ring) error {
	publisher := publish.New(s.js, 0)
	for sent := 0; sent < n; {
		for now := min(n, due.dueBy(time.Now())); sent < now; sent++ {
			if err := publisher.Send(ctx, messages.next()); err != nil {
				return fmt.Errorf("publish: %w", err)
			}
		}
		if err := publisher.Flush(ctx); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if err := sleep(ctx, publishEvery); err != nil {
			return err
		}
	}
	return nil
}

// committed returns the last sequence in the table commits, at least seen. committed reads only
// new rows, and with few threads, because the query shares the processors with the measured
// processes.
func (s *servers) committed(ctx context.Context, incarnation uuid.UUID, seen uint64) (last uint64, err error) {
	ctx = clickhouse.Context(ctx,
		clickhouse.WithSettings(clickhouse.Settings{"max_threads": 1, "send_profile_events": 0}),
		clickhouse.WithParameters(clickhouse.Parameters{"incarnation": incarnation.String(), "seen": strconv.FormatUint(seen, 10)}))
	if err := s.admin.QueryRow(ctx, statement("committed")).Scan(&last); err != nil {
		return 0, fmt.Errorf("look for commits: %w", err)
	}
	return max(last, seen), nil
}

// watch returns the waits until each of n events after a level was queryable, in seconds. last is
// the time of the last event.
func (s *servers) watch(ctx context.Context, level streamio.Level, due pace, n int) (waits []float64, last time.Time, err error) {
	last = time.Now()
	through := level.Last
	for seen := 0; seen < n; {
		if through, err = s.committed(ctx, level.Incarnation, through); err != nil {
			return nil, last, err
		}
		now := time.Now()
		switch visible := int(through) - int(level.Last); {
		case visible > seen:
			for ; seen < min(visible, n); seen++ {
				if at := due.due(seen); at.Sub(due.begin) >= warmUp || n < int(2*due.rate) {
					waits = append(waits, now.Sub(at).Seconds())
				}
			}
			last = now
		case now.Sub(last) > stuckAfter:
			return nil, last, errors.New("the projector makes no progress")
		}
		if err := sleep(ctx, askEvery); err != nil {
			return nil, last, err
		}
	}
	return waits, last, nil
}

// percentile sorts the values and returns the percentile.
func percentile(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(part*float64(len(values))))]
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ring returns messages without the cost of making events. ring repeats the same messages with
// new ids.
type ring struct {
	messages []schema.Message
	given    int
}

func newRing(seed uint64, n int) *ring {
	r, g := &ring{messages: make([]schema.Message, n)}, mix.New(seed)
	for i := range r.messages {
		r.messages[i] = g.Next().Binary()
	}
	return r
}

func (r *ring) next() schema.Message {
	m := r.messages[r.given%len(r.messages)]
	m.Header = maps.Clone(m.Header) // a batch adds headers
	id := []string{fmt.Sprintf("%s-%d", m.Header["ce-id"][0], r.given/len(r.messages))}
	m.Header["ce-id"], m.Header[schema.MsgIDHeader] = id, id
	r.given++
	return m
}
