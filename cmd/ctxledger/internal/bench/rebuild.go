package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/ctxledger/ctxledger/projector/rebuild"
)

// RebuildReport is the result of RunRebuild.
type RebuildReport struct {
	Machine Machine   `json:"machine"`
	Stream  Preloaded `json:"stream"`
	Drain   Summary   `json:"drain"`
	Rebuild Summary   `json:"rebuild"`
	// Steps are the times of each rebuild, by round.
	Steps []RebuildSteps `json:"rebuild_steps"`
	// Ratio is the rebuild's time divided by the drain's time, as the median of the rounds.
	Ratio float64 `json:"ratio"`
}

// RebuildSteps are the times of one rebuild, in seconds. The total includes time between the
// steps.
type RebuildSteps struct {
	Project float64 `json:"project_s"` // projection into the second set of tables
	Compare float64 `json:"compare_s"` // comparison of both sets
	Swap    float64 `json:"swap_s"`    // time with the leases held: no projector runs
	Rows    uint64  `json:"rows_compared"`
	Tables  int     `json:"tables_compared"`

	Messages uint64 `json:"messages"` // number of projected messages
	Swapped  bool   `json:"swapped"`
}

func stepsOf(done rebuild.Rebuilt) RebuildSteps {
	return RebuildSteps{
		Project: done.Projecting.Seconds(), Compare: done.Compared.Took.Seconds(), Swap: done.Swapping.Seconds(),
		Rows: done.Compared.Rows, Tables: done.Compared.Tables, Messages: done.Messages, Swapped: done.Swapped,
	}
}

// RunRebuild drains the stream into new tables and rebuilds these tables, in alternation. A
// difference after a rebuild is an error.
func RunRebuild(ctx context.Context, c Config) (r RebuildReport, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	s, err := startServers(ctx, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r.Machine = s.machine()
	if r.Stream, err = preload(ctx, s.js, c.Seed, c.Events, c.Progress); err != nil {
		return r, err
	}
	var drains, rebuilds []Round
	for i := range c.Rounds {
		c.progress("draining and rebuilding", int64(2*i), int64(2*c.Rounds))
		drain, l, err := s.drainRound(ctx, drainWay, c, "")
		if err != nil {
			return r, err
		}
		if r.Machine.ClickHouse, err = l.Version(); err != nil {
			return r, errors.Join(err, l.Close())
		}
		c.progress("draining and rebuilding", int64(2*i+1), int64(2*c.Rounds))
		profile := ""
		if i == c.Rounds-1 {
			profile = c.Profile
		}
		if err := l.Close(); err != nil {
			return r, err
		}
		rebuild, steps, err := s.rebuildRound(ctx, c, profile)
		if err != nil {
			return r, err
		}
		drains, rebuilds, r.Steps = append(drains, drain), append(rebuilds, rebuild), append(r.Steps, steps)
	}
	r.Drain, r.Rebuild, r.Ratio = summarise(drains, c.Events), summarise(rebuilds, c.Events), middle(ratios(drains, rebuilds))
	return r, nil
}

// rebuildRound rebuilds the ledger that a drain has filled.
func (s *servers) rebuildRound(ctx context.Context, c Config, profile string) (Round, RebuildSteps, error) {
	dsn, err := InDatabase(s.engine.ClickHouseDSN(), database)
	if err != nil {
		return Round{}, RebuildSteps{}, err
	}
	round, found, err := s.measure(ctx, WayConfig{Way: rebuildWay, ClickHouse: dsn, Events: c.Events, Profile: profile})
	if err != nil {
		return round, found.Rebuilt, fmt.Errorf("rebuild: %w", err)
	}
	if done := found.Rebuilt; done.Messages != uint64(c.Events) || !done.Swapped {
		return round, done, fmt.Errorf("rebuild: %d of %d events; swapped: %v", done.Messages, c.Events, done.Swapped)
	}
	round.Batches = int(round.parts["commits"].PartsMade)
	return round, found.Rebuilt, nil
}

// WriteTable writes the report for people.
func (r *RebuildReport) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	writeSetting(t, r.Machine, r.Stream)
	writeRates(t, rate{"drain", r.Drain}, rate{"rebuild", r.Rebuild})
	fmt.Fprintf(t, "ratio of the times\t%.2f\n\n", r.Ratio)
	fmt.Fprintln(t, "rebuild\tproject s\tcompare s\tswap s\tall s\tdrain s\trows compared\ttables")
	for i, s := range r.Steps {
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.2f\t%.1f\t%.1f\t%d\t%d\n", i+1, s.Project, s.Compare, s.Swap,
			r.Rebuild.Rounds[i].Seconds, r.Drain.Rounds[i].Seconds, s.Rows, s.Tables)
	}
	return t.Flush()
}
