package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Soak is the result of a long load.
type Soak struct {
	Machine Machine `json:"machine"`
	// Drain is the rate of a drain before the load, 0 if the rate was given.
	Drain    float64 `json:"drain_events_per_second"`
	Rate     float64 `json:"events_per_second"`
	Achieved float64 `json:"achieved_per_second"` // rate at which events became queryable
	Seconds  float64 `json:"seconds"`
	Events   int     `json:"events"`
	// The percentiles of the time from due to queryable, as in Latency.
	P50 float64 `json:"p50_s"`
	P99 float64 `json:"p99_s"`
	Max float64 `json:"max_s"`
	// Parts is the largest number of active parts of each table at one time.
	Parts   map[string]int `json:"most_parts"`
	Peak    Processes      `json:"peak_bytes"`
	CPU     Processes      `json:"cpu_seconds"`
	Samples []SoakSample   `json:"samples"`
}

// SoakSample holds the figures of one interval of a soak.
type SoakSample struct {
	At       float64   `json:"at_s"` // end of the interval
	Achieved float64   `json:"achieved_per_second"`
	P50      float64   `json:"p50_s"`
	P99      float64   `json:"p99_s"`
	Max      float64   `json:"max_s"`
	Parts    int       `json:"most_parts"` // largest number of parts of any table in the interval
	Table    string    `json:"most_parts_table"`
	Memory   Processes `json:"resident_bytes"` // memory at the end of the interval
}

// SoakConfig configures the load, in addition to Config. Rounds and Latency of Config are not
// used.
type SoakConfig struct {
	Config
	// Rate is in events per second. 0 means half of the rate of a drain of Config.Events, which
	// runs first.
	Rate float64
	// Duration is the duration of the load. Defaults to 10 minutes.
	Duration time.Duration
}

// DefaultSoakConfig returns the configuration of the published figures.
func DefaultSoakConfig(dir string) SoakConfig {
	return SoakConfig{Config: DefaultConfig(dir), Duration: 10 * time.Minute}
}

// Validate returns an error for the first invalid field. Validate changes nothing.
func (c SoakConfig) Validate() error {
	switch {
	case c.Rate < 0:
		return errors.New("the rate must not be negative")
	case c.Duration < time.Second:
		return errors.New("the duration must be a second or more")
	}
	return c.Config.Validate()
}

const (
	sampleEvery = 10 * time.Second
	partsEvery  = time.Second
	soakRing    = 2000 // few messages, because they are in the client's memory
)

// RunSoak publishes at an even pace with a running projector, both in this process.
func RunSoak(ctx context.Context, c SoakConfig) (r Soak, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	s, err := startServers(ctx, c.Config)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r.Machine, r.Rate = s.machine(), c.Rate
	l, err := soakLedger(ctx, s, c, &r)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if r.Machine.ClickHouse, err = l.Version(); err != nil {
		return r, err
	}
	r.Events = int(r.Rate * c.Duration.Seconds())
	messages := newRing(c.Seed+1, soakRing)
	if err := s.settle(ctx); err != nil {
		return r, err
	}
	s.resetPeaks()
	cpu := s.cpuSeconds()
	if err := publishFor(ctx, s, c, l, messages, &r); err != nil {
		return r, fmt.Errorf("soak: %w", err)
	}
	r.Peak, r.CPU = s.peakBytes(), s.cpuSeconds().minus(cpu)
	return r, nil
}

// soakLedger returns a ledger with migrated tables, and sets the rate.
func soakLedger(ctx context.Context, s *servers, c SoakConfig, r *Soak) (*ledger.Ledger, error) {
	if c.Rate > 0 {
		l, _, err := s.freshLedger(ctx)
		return l, err
	}
	if _, err := preload(ctx, s.js, c.Seed, c.Events, c.Progress); err != nil {
		return nil, err
	}
	drain, l, err := s.drainRound(ctx, drainWay, c.Config, "")
	r.Drain, r.Rate = drain.PerSecond, drain.PerSecond/2
	return l, err
}

// publishFor publishes, measures the time until events are queryable, and samples.
func publishFor(ctx context.Context, s *servers, c SoakConfig, l *ledger.Ledger, messages *ring, r *Soak) error {
	pc := projector.DefaultConfig(s.js, l)
	pc.Keys, pc.Ring, pc.Log = mix.Keys, mix.Ring, c.Log
	ctx, end, err := projecting(ctx, pc)
	if err != nil {
		return err
	}
	defer end(nil)
	level, err := streamio.ReadLevel(ctx, s.js, l, schema.EventStream)
	if err != nil {
		return err
	}
	w := &soakWatch{servers: s, report: r, due: pace{begin: time.Now(), rate: r.Rate}, progress: func(done int) {
		c.progress("soaking", int64(done), int64(r.Events))
	}}
	r.Parts = make(map[string]int)
	published := make(chan error, 1)
	go func() { published <- s.publish(ctx, w.due, r.Events, messages) }()
	err = w.watch(ctx, level)
	if err != nil {
		end(err)
	}
	return cmp.Or(err, <-published)
}

// projecting runs a projector until end is called. projecting returns when the projector is
// ready. The context ends when the projector ends.
func projecting(ctx context.Context, c projector.Config) (_ context.Context, end func(error), err error) {
	p, err := projector.New(c)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(running); err != nil {
			cancel(fmt.Errorf("projector: %w", err))
		}
	}()
	end = func(why error) {
		stop()
		<-ended
		cancel(why)
	}
	for !p.Status().Ready {
		if err := sleep(ctx, publishEvery); err != nil {
			end(err)
			return nil, nil, err
		}
	}
	return ctx, end, nil
}

// soakWatch reads the table commits and takes samples.
type soakWatch struct {
	*servers
	report   *Soak
	due      pace
	progress func(done int)

	all    millis // waits of all events
	sample millis // waits since the last sample
	began  time.Time
	counts int // events at the last sample
	most   int
	table  string
}

// millis counts waits by milliseconds. The last element counts all waits of a minute and more.
type millis [60_001]uint32

func (m *millis) add(d time.Duration) { m[min(len(m)-1, max(0, int(d.Milliseconds())))]++ }

// percentiles returns the percentiles in seconds.
func (m *millis) percentiles() (p50, p99, most float64) {
	var n, seen uint64
	for _, c := range m {
		n += uint64(c)
	}
	if n == 0 {
		return 0, 0, 0
	}
	at := func(ms int) float64 { return float64(ms+1) / 1000 }
	for ms, c := range m {
		before := seen
		if seen += uint64(c); c == 0 {
			continue
		}
		if before <= n/2 {
			p50 = at(ms)
		}
		if before <= n*99/100 {
			p99 = at(ms)
		}
		most = at(ms)
	}
	return p50, p99, most
}

func (w *soakWatch) watch(ctx context.Context, level streamio.Level) (err error) {
	w.began = w.due.begin
	last, parts, through := w.began, w.began, level.Last
	for seen := 0; seen < w.report.Events; {
		if through, err = w.committed(ctx, level.Incarnation, through); err != nil {
			return err
		}
		now := time.Now()
		switch visible := min(int(through)-int(level.Last), w.report.Events); {
		case visible > seen:
			for ; seen < visible; seen++ {
				wait := now.Sub(w.due.due(seen))
				w.all.add(wait)
				w.sample.add(wait)
			}
			last = now
			w.progress(seen)
		case now.Sub(last) > stuckAfter:
			return errors.New("the projector makes no progress")
		}
		if now.Sub(parts) >= partsEvery {
			parts = now
			if err := w.lookAtParts(ctx); err != nil {
				return err
			}
		}
		if now.Sub(w.began) >= sampleEvery || seen == w.report.Events {
			w.take(now, seen)
		}
		if err := sleep(ctx, 5*askEvery); err != nil {
			return err
		}
	}
	w.report.Seconds = last.Sub(w.due.begin).Seconds()
	w.report.Achieved = float64(w.report.Events) / w.report.Seconds
	w.report.P50, w.report.P99, w.report.Max = w.all.percentiles()
	return nil
}

func (w *soakWatch) lookAtParts(ctx context.Context) error {
	return scan(ctx, w.admin, "parts_most", func(rows driver.Rows) error {
		var table string
		var n uint64
		if err := rows.Scan(&table, &n); err != nil {
			return err
		}
		w.report.Parts[table] = max(w.report.Parts[table], int(n))
		if int(n) > w.most {
			w.most, w.table = int(n), table
		}
		return nil
	})
}

// take ends a sample.
func (w *soakWatch) take(now time.Time, seen int) {
	s := SoakSample{
		At: now.Sub(w.due.begin).Seconds(), Achieved: float64(seen-w.counts) / now.Sub(w.began).Seconds(),
		Parts: w.most, Table: w.table, Memory: w.read(residentBytes),
	}
	s.P50, s.P99, s.Max = w.sample.percentiles()
	w.report.Samples = append(w.report.Samples, s)
	w.sample, w.began, w.counts, w.most, w.table = millis{}, now, seen, 0, ""
}

// WriteTable writes the report for people.
func (r *Soak) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	m := r.Machine
	fmt.Fprintf(t, "%d cores, %s, %s, NATS %s, ClickHouse %s\n", m.Cores, m.Platform, m.Go, m.NATS, m.ClickHouse)
	fmt.Fprintf(t, "%d events in %.0f s: %.0f events/s were due, %.0f became queryable", r.Events, r.Seconds, r.Rate, r.Achieved)
	if r.Drain > 0 {
		fmt.Fprintf(t, "; a drain made %.0f", r.Drain)
	}
	fmt.Fprintf(t, "\npublish → queryable: p50 %.0f ms, p99 %.0f ms, max %.0f ms\n\n", 1000*r.P50, 1000*r.P99, 1000*r.Max)
	fmt.Fprintln(t, "at s\tevents/s\tp50 ms\tp99 ms\tmax ms\tmost parts\tof table\tMB: client\tNATS\tClickHouse")
	for _, s := range r.Samples {
		fmt.Fprintf(t, "%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t%s", s.At, s.Achieved, 1000*s.P50, 1000*s.P99, 1000*s.Max, s.Parts, s.Table)
		writeMegabytes(t, s.Memory)
	}
	fmt.Fprint(t, "peak\t\t\t\t\t\t")
	writeMegabytes(t, r.Peak)
	fmt.Fprintln(t)
	tables := slices.SortedFunc(maps.Keys(r.Parts), func(a, b string) int { return r.Parts[b] - r.Parts[a] })
	for _, table := range tables {
		fmt.Fprintf(t, "%s\tat most %d parts\n", table, r.Parts[table])
	}
	return t.Flush()
}

func writeMegabytes(w io.Writer, p Processes) {
	for _, value := range p.each() {
		fmt.Fprintf(w, "\t%s", figure(*value, 1e-6, "%.0f"))
	}
	fmt.Fprintln(w)
}
