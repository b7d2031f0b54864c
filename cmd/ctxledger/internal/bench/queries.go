package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	answer "github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// QueriesConfig configures the queries. Start from DefaultQueriesConfig.
type QueriesConfig struct {
	// Only lists queries of the catalogue and commands (window, why, diff). Empty means all.
	Only []string
	// Samples is the number of turns and sessions for each narrow query. Defaults to 20.
	Samples int
	// Rounds is the number of warm runs of a wide query with each of its arguments. Defaults to
	// 3.
	Rounds int
	// MaxTime limits a query. After a timeout, later queries of the same scope are skipped.
	// Defaults to a minute, the limit of a user.
	MaxTime time.Duration
	// Progress receives the progress. Nil reports nothing.
	Progress Progress
}

// DefaultQueriesConfig returns the configuration of the published figures.
func DefaultQueriesConfig() QueriesConfig {
	return QueriesConfig{Samples: 20, Rounds: 3, MaxTime: read.DefaultLimits().Time}
}

// Validate returns an error for the first invalid field. Validate changes nothing.
func (c QueriesConfig) Validate() error {
	switch {
	case c.Samples < 1:
		return errors.New("the number of samples must be above zero")
	case c.Rounds < 1:
		return errors.New("the number of rounds must be above zero")
	case c.MaxTime < time.Second:
		return errors.New("the time for a query must be a second or more")
	}
	for _, name := range c.Only {
		if _, err := queries.Get(name); err != nil && !isCommand(name) {
			return err
		}
	}
	return nil
}

func (c QueriesConfig) wants(name string) bool {
	return len(c.Only) == 0 || slices.Contains(c.Only, name)
}

// QueriesReport is the result of [RunQueries].
type QueriesReport struct {
	ClickHouse string `json:"clickhouse"`
	Database   string `json:"database"`
	Events     uint64 `json:"events"`
	Sessions   uint64 `json:"sessions"`
	Tenants    uint64 `json:"tenants"`
	Bytes      uint64 `json:"bytes"` // on disk
	Parts      uint64 `json:"parts"`
	// CachesDropped reports whether the server's caches were dropped before each cold run, which
	// needs a right of the user. Otherwise a cold run is the first run with its arguments.
	CachesDropped bool           `json:"caches_dropped"`
	Queries       []QueryFigures `json:"queries"`
	// Over is the number of queries over their time limit.
	Over int `json:"over"`
	// Left is the number of queries that an interruption skipped.
	Left int `json:"left,omitzero"`
}

// QueryFigures are the figures of one query in one scope, or of a command with all its queries.
// Times are measured by a client on the same machine that reads the whole result.
type QueryFigures struct {
	Query string     `json:"query"` // "ctxledger" and the name for a command
	Scope Scope      `json:"scope"`
	Bar   float64    `json:"bar_s"`
	Cold  Percentile `json:"cold"`
	Warm  Percentile `json:"warm"`
	// CPU, rows and bytes read, and memory are the highest of all runs.
	CPU    float64 `json:"cpu_s"`
	Rows   uint64  `json:"rows_read"`
	Bytes  uint64  `json:"bytes_read"`
	Memory int64   `json:"peak_memory_bytes"`
	Result int     `json:"result_rows"` // the largest result
	// Over reports whether the warm 95th percentile is over the time limit, or an error occurred.
	Over  bool   `json:"over"`
	Error string `json:"error,omitzero"`
}

// Percentile of some runs, in seconds.
type Percentile struct {
	Runs int     `json:"runs"`
	P50  float64 `json:"p50_s"`
	P95  float64 `json:"p95_s"`
}

func percentiles(seconds []float64) Percentile {
	return Percentile{Runs: len(seconds), P50: percentile(seconds, 0.5), P95: percentile(seconds, 0.95)}
}

// RunQueries runs every query of the catalogue in each of its scopes, and the queries of the
// commands about a turn. RunQueries uses the database of dsn and the limits of a user's query.
// When ctx ends the run early, the report holds the results so far, and the error is ctx's cause.
func RunQueries(ctx context.Context, c QueriesConfig, dsn string) (r QueriesReport, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	l, err := ledger.Open(ctx, dsn)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	conn, err := connect(dsn)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if r.ClickHouse, err = l.Version(); err != nil {
		return r, err
	}
	if err := conn.QueryRow(ctx, statement("queries_corpus")).Scan(&r.Database, &r.Events, &r.Sessions, &r.Tenants, &r.Bytes, &r.Parts); err != nil {
		return r, fmt.Errorf("read the corpus: %w", err)
	}
	d, err := draw(ctx, conn, c.Samples)
	if err != nil {
		return r, err
	}
	var list []questions
	for _, q := range queries.All() {
		if c.wants(q.Name) {
			list = append(list, d.questions(q)...)
		}
	}
	list = append(list, d.commands(c.wants)...)
	a := asker{config: c, ledger: l, conn: conn}
	if r.CachesDropped, err = a.mayDrop(ctx); err != nil {
		return r, err
	}
	a.dropFirst = r.CachesDropped
	for i, q := range list {
		if c.Progress != nil {
			c.Progress("asking "+q.name, int64(i), int64(len(list)))
		}
		f := a.ask(ctx, q)
		if ctx.Err() != nil {
			r.Left = len(list) - i
			return r, context.Cause(ctx)
		}
		if f.Over {
			r.Over++
		}
		r.Queries = append(r.Queries, f)
	}
	return r, nil
}

// asker runs questions and measures their cost.
type asker struct {
	config QueriesConfig
	ledger *ledger.Ledger
	conn   driver.Conn
	// dropFirst means that caches are dropped before each cold run.
	dropFirst bool
}

// ask runs all samples of q: cold if configured, then warm.
func (a *asker) ask(ctx context.Context, q questions) QueryFigures {
	f := QueryFigures{Query: q.name, Scope: q.scope, Bar: q.bar.Seconds()}
	var cold, warm []float64
	fail := func(err error) QueryFigures {
		f.Error, f.Over = err.Error(), true
		f.Cold, f.Warm = percentiles(cold), percentiles(warm)
		return f
	}
	if q.problem != nil {
		return fail(q.problem)
	}
	rounds := a.config.Rounds
	if q.scope.narrow() {
		rounds = 1
	}
	for i, sample := range q.samples {
		if i < mostCold {
			if a.dropFirst {
				if err := a.dropCaches(ctx); err != nil {
					return fail(err)
				}
			}
			seconds, err := a.run(ctx, sample, &f)
			if err != nil {
				return fail(err)
			}
			cold = append(cold, seconds)
		}
		for range rounds {
			seconds, err := a.run(ctx, sample, &f)
			if err != nil {
				return fail(err)
			}
			warm = append(warm, seconds)
		}
	}
	f.Cold, f.Warm = percentiles(cold), percentiles(warm)
	f.Over = f.Warm.P95 > f.Bar
	return f
}

// mostCold is the number of samples of a question that run cold.
const mostCold = 5

// run runs the queries of a sample one after another. run returns the time until the last row is
// read.
func (a *asker) run(ctx context.Context, sample []asked, f *QueryFigures) (seconds float64, err error) {
	var all cost
	began := time.Now()
	for _, one := range sample {
		if err := a.query(ctx, one, &all); err != nil {
			return 0, err
		}
	}
	seconds = time.Since(began).Seconds()
	f.CPU, f.Memory = max(f.CPU, float64(all.cpu)/1e6), max(f.Memory, all.memory)
	f.Rows, f.Bytes, f.Result = max(f.Rows, all.rows), max(f.Bytes, all.bytes), max(f.Result, all.result)
	return seconds, nil
}

// cost is the total cost of queries that run one after another.
type cost struct {
	rows, bytes uint64 // rows and bytes read
	cpu, memory int64  // microseconds; highest number of bytes
	result      int    // rows of the last result
}

// query runs one query, or the queries of a command, and adds the cost to all.
func (a *asker) query(ctx context.Context, one asked, all *cost) (err error) {
	var lock sync.Mutex // a command runs queries in parallel
	ctx = clickhouse.Context(ctx,
		clickhouse.WithProgress(func(p *clickhouse.Progress) {
			lock.Lock()
			defer lock.Unlock()
			all.rows, all.bytes = all.rows+p.Rows, all.bytes+p.Bytes
		}),
		clickhouse.WithProfileEvents(func(events []clickhouse.ProfileEvent) {
			lock.Lock()
			defer lock.Unlock()
			for _, e := range events {
				switch e.Name {
				case "UserTimeMicroseconds", "SystemTimeMicroseconds":
					all.cpu += e.Value
				case "MemoryTrackerPeakUsage":
					all.memory = max(all.memory, e.Value)
				}
			}
		}))
	if one.command != nil {
		ctx, cancel := context.WithTimeout(ctx, a.config.MaxTime)
		defer cancel()
		all.result, err = one.command(ctx, a.ledger)
		return err
	}
	given, err := one.query.Bind(one.arguments)
	if err != nil {
		return err
	}
	limits := read.DefaultLimits()
	limits.Time = a.config.MaxTime
	result, err := answer.Query(ctx, a.ledger, one.query, given, limits)
	if err != nil {
		return err
	}
	all.result = 0
	for result.Next() {
		all.result++
	}
	return result.Close()
}

// caches are the statements that drop the server's caches of data.
var caches = []string{"queries_drop_marks", "queries_drop_uncompressed", "queries_drop_conditions", "queries_drop_skipping", "queries_drop_mapped"}

// mayDrop drops the caches. mayDrop returns false if the user does not have the right.
func (a *asker) mayDrop(ctx context.Context) (bool, error) {
	err := a.dropCaches(ctx)
	var refused *clickhouse.Exception
	if errors.As(err, &refused) && refused.Code == accessDenied {
		return false, nil
	}
	return err == nil, err
}

const accessDenied = 497

func (a *asker) dropCaches(ctx context.Context) error {
	for _, name := range caches {
		if err := a.conn.Exec(ctx, statement(name)); err != nil {
			return fmt.Errorf("drop the caches: %w", err)
		}
	}
	return nil
}
