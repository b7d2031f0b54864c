package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// AllConfig has a config for each suite that [RunAll] runs. Start from DefaultAllConfig.
type AllConfig struct {
	Projector Config
	Rebuild   Config
	Soak      SoakConfig
	Corpus    string     // folder of the corpus that the queries are asked about
	Seed      SeedConfig // of the corpus
	Queries   QueriesConfig
	// Only these suites; empty is all.
	Only []string
	// Suite is called with the name of each suite before it begins. Nil is quiet.
	Suite func(name string)
}

// DefaultAllConfig returns sizes that take less than ten minutes on two cores, or about a
// minute with quick. Each suite has a folder of its own in dir.
func DefaultAllConfig(dir string, quick bool) AllConfig {
	c := AllConfig{
		Projector: DefaultConfig(filepath.Join(dir, "projector")), Rebuild: DefaultConfig(filepath.Join(dir, "rebuild")),
		Soak: DefaultSoakConfig(filepath.Join(dir, "soak")), Corpus: filepath.Join(dir, "queries"), Seed: DefaultSeedConfig(), Queries: DefaultQueriesConfig(),
	}
	c.Projector.Events, c.Projector.Rounds, c.Projector.Latency = 100_000, 3, 5*time.Second
	c.Rebuild.Events, c.Rebuild.Rounds = 100_000, 3
	c.Soak.Events, c.Soak.Duration = 100_000, time.Minute
	c.Queries.Samples, c.Queries.Rounds = 10, 2
	if quick {
		c.Projector.Events, c.Projector.Rounds, c.Projector.Latency = 5_000, 1, time.Second
		c.Rebuild.Events, c.Rebuild.Rounds = 5_000, 1
		c.Soak.Rate, c.Soak.Duration = 500, 5*time.Second
		c.Seed.Events, c.Seed.Base = 40_000, 20_000
		c.Queries.Samples, c.Queries.Rounds = 2, 1
	}
	return c
}

// Size makes n the number of events of each suite. The corpus of the queries has ten times
// as many.
func (c *AllConfig) Size(n int) {
	c.Projector.Events, c.Rebuild.Events, c.Soak.Events, c.Seed.Events = n, n, n, 10*n
	c.Seed.Base = min(c.Seed.Base, 5*n)
}

// The suites.
const (
	suiteProjector = "projector"
	suiteRebuild   = "rebuild"
	suiteSoak      = "soak"
	suiteQueries   = "queries"
)

// Suites are the names of the suites that [RunAll] runs, in order.
var Suites = []string{suiteProjector, suiteRebuild, suiteSoak, suiteQueries}

// Validate reports an error for values that no suite can run with.
func (c AllConfig) Validate() error {
	for _, name := range c.Only {
		if !slices.Contains(Suites, name) {
			return fmt.Errorf("there is no suite %q: the suites are %s", name, strings.Join(Suites, ", "))
		}
	}
	return errors.Join(c.Projector.Validate(), c.Rebuild.Validate(), c.Soak.Validate(), c.Seed.Validate(), c.Queries.Validate())
}

// Watch sets the functions that all suites report their progress to.
func (c *AllConfig) Watch(suite func(string), progress Progress, fetch embedded.Progress) {
	c.Suite, c.Projector.Fetch = suite, fetch
	for _, p := range []*Progress{&c.Projector.Progress, &c.Rebuild.Progress, &c.Soak.Progress, &c.Seed.Progress, &c.Queries.Progress} {
		*p = progress
	}
}

// AllReport has the main figures of all suites, and their whole reports.
type AllReport struct {
	Figures   []Figure       `json:"figures"`
	Projector *Report        `json:"projector,omitzero"`
	Rebuild   *RebuildReport `json:"rebuild,omitzero"`
	Soak      *Soak          `json:"soak,omitzero"`
	Queries   *QueriesReport `json:"queries,omitzero"`
}

// RunAll runs one suite after the other, each with fresh servers in a folder of its own.
// The folder is removed at the end of its suite.
func RunAll(ctx context.Context, c AllConfig) (r AllReport, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	for _, s := range []struct {
		name, dir string
		run       func() error
	}{
		{suiteProjector, c.Projector.Dir, func() (err error) { r.Projector, err = reported(Run(ctx, c.Projector)); return err }},
		{suiteRebuild, c.Rebuild.Dir, func() (err error) { r.Rebuild, err = reported(RunRebuild(ctx, c.Rebuild)); return err }},
		{suiteSoak, c.Soak.Dir, func() (err error) { r.Soak, err = reported(RunSoak(ctx, c.Soak)); return err }},
		{suiteQueries, c.Corpus, func() (err error) { r.Queries, err = reported(runSeeded(ctx, c)); return err }},
	} {
		if len(c.Only) > 0 && !slices.Contains(c.Only, s.name) {
			continue
		}
		if c.Suite != nil {
			c.Suite(s.name)
		}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return r, err
		}
		if err := errors.Join(s.run(), os.RemoveAll(s.dir)); err != nil {
			return r, fmt.Errorf("suite %s: %w", s.name, err)
		}
	}
	r.Figures = r.figures()
	return r, nil
}

func reported[R any](report R, err error) (*R, error) { return &report, err }

// runSeeded makes a corpus and asks all queries about it.
func runSeeded(ctx context.Context, c AllConfig) (r QueriesReport, err error) {
	config := embedded.DefaultConfig(c.Corpus)
	config.NoNATS, config.Log = true, c.Projector.Log
	servers, err := embedded.Start(ctx, config)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, servers.Close()) }()
	seeded, err := SeedQuickly(ctx, c.Seed, servers.ClickHouseDSN())
	if err != nil {
		return r, err
	}
	dsn, err := InDatabase(servers.ClickHouseDSN(), seeded.Database)
	if err != nil {
		return r, err
	}
	return RunQueries(ctx, c.Queries, dsn)
}
