package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// SeedConfig configures a corpus. Start from DefaultSeedConfig.
type SeedConfig struct {
	// Events is the number of events. Defaults to 1,000,000.
	Events int
	// Seed is the seed of the events; the same seed gives the same rows. Defaults to 1.
	Seed uint64
	// Tenants is the number of tenants. The first tenant has the most events. Defaults to 12.
	Tenants int
	// Days is the approximate time span of the events. Defaults to 90.
	Days int
	// Base is the number of events that [SeedQuickly] projects and copies. Defaults to 250,000.
	Base int
	// Progress receives the progress of each step. Nil reports nothing.
	Progress Progress
	// Log receives the messages of servers and projector. Nil discards them.
	Log *slog.Logger
}

// DefaultSeedConfig returns a corpus of a size that takes a minute or two.
func DefaultSeedConfig() SeedConfig {
	return SeedConfig{Events: 1_000_000, Seed: 1, Tenants: 12, Days: 90, Base: 250_000}
}

// Validate returns an error for the first invalid field. Validate changes nothing.
func (c SeedConfig) Validate() error {
	if c.Days < 1 || c.Days > 3650 {
		return errors.New("the number of days must be from 1 to 3650")
	}
	if c.Base < 1 {
		return errors.New("the number of events to copy must be above zero")
	}
	return c.corpus(c.Events, c.span()).Validate()
}

func (c SeedConfig) span() time.Duration { return time.Duration(c.Days) * 24 * time.Hour }

func (c SeedConfig) corpus(events int, span time.Duration) mix.CorpusConfig {
	return mix.CorpusConfig{Seed: c.Seed, Events: events, Tenants: c.Tenants, Span: span}
}

func (c SeedConfig) progress(step string, done, total int64) {
	if c.Progress != nil {
		c.Progress(step, done, total)
	}
}

// Seeded describes a finished corpus.
type Seeded struct {
	Events  int     `json:"events"`
	Seed    uint64  `json:"seed"`
	Tenants int     `json:"tenants"`
	Seconds float64 `json:"seconds"`
	// Database and Incarnation are set for a quick corpus only.
	Database    string `json:"database,omitzero"`
	Incarnation string `json:"incarnation,omitzero"`
	// Base is the number of projected events. Copies is the number of copies of them, 0 for none.
	Base   int `json:"base_events,omitzero"`
	Copies int `json:"copies,omitzero"`
	// Bytes is the size on disk of a quick corpus, before the last merges.
	Bytes uint64 `json:"bytes,omitzero"`
}

// SeedStream publishes the corpus into the streams of an installation and returns when all events
// are stored. Missing streams are created. The installation's projector makes the rows as for any
// other events: recorded_at is the current time, and event_time spans the days. A repetition adds
// only duplicates.
func SeedStream(ctx context.Context, c SeedConfig, js jetstream.JetStream) (s Seeded, err error) {
	if err := c.Validate(); err != nil {
		return s, err
	}
	if _, err := streamio.EnsureStreams(ctx, js); err != nil {
		return s, err
	}
	began := time.Now()
	err = publishCorpus(ctx, mix.NewCorpus(c.corpus(c.Events, c.span())), js, c)
	return Seeded{Events: c.Events, Seed: c.Seed, Tenants: c.Tenants, Seconds: time.Since(began).Seconds()}, err
}

func publishCorpus(ctx context.Context, corpus *mix.Corpus, js jetstream.JetStream, c SeedConfig) error {
	publisher := publish.New(js, 0)
	total := corpus.Events()
	for i, e := 0, corpus.Next(); e != nil; i, e = i+1, corpus.Next() {
		if i%1000 == 0 {
			c.progress("publishing", int64(i), int64(total))
		}
		if err := publisher.Send(ctx, e.Binary()); err != nil {
			return fmt.Errorf("publish the corpus: %w", err)
		}
	}
	if err := publisher.Flush(ctx); err != nil {
		return fmt.Errorf("publish the corpus: %w", err)
	}
	return nil
}

const (
	// SeedDatabase is the database for the tables of [SeedQuickly]. Projectors, rebuilds and
	// doctor do not use this database, because an installation's address names another database.
	SeedDatabase = "ctxledger_seed"
	// seedBase is the database of the projected base. seedBase is dropped at the end.
	seedBase = SeedDatabase + "_base"
)

// SeedQuickly makes the tables of the corpus in the database [SeedDatabase] of the ClickHouse at
// dsn. The user must have the right to create databases. Earlier content is replaced.
//
// A base of the corpus goes through a stream and the projector. Then the server copies the rows
// of the base. Each copy has other ids, and therefore other sessions. Each copy also has later
// positions and later times. The copies span the days. Each row equals the projected row of the
// copy's event, with these exceptions:
//
//	incarnation  an incarnation without a stream
//	recorded_at  the event's time plus [recordedAfter], not the time of a stream
//	digest       a hash, but not the hash of the event: proofs are not possible
//
// The tables cannot be rebuilt, because there is no stream. The tables commits, quarantine and
// duplicates have no rows, and there is no signed head.
func SeedQuickly(ctx context.Context, c SeedConfig, dsn string) (s Seeded, err error) {
	if err := c.Validate(); err != nil {
		return s, err
	}
	began := time.Now()
	conn, err := connect(dsn)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	q := &quickSeed{config: c, conn: conn, base: min(c.Base, c.Events)}
	q.copies = (c.Events + q.base - 1) / q.base
	q.incarnation = q.identity()
	defer func() { err = errors.Join(err, dropDatabase(context.WithoutCancel(ctx), q.conn, seedBase)) }()
	if err := q.project(ctx, dsn); err != nil {
		return s, err
	}
	if err := q.multiply(ctx, dsn); err != nil {
		return s, err
	}
	s = Seeded{
		Events: c.Events, Seed: c.Seed, Tenants: c.Tenants, Database: SeedDatabase, Incarnation: q.incarnation.String(), Base: q.base, Copies: q.copies,
	}
	s.Bytes, err = q.bytes(ctx)
	s.Seconds = time.Since(began).Seconds()
	return s, err
}

// quickSeed is a run of [SeedQuickly].
type quickSeed struct {
	config      SeedConfig
	conn        driver.Conn // without a database
	base        int         // number of events
	copies      int
	span        time.Duration // time span of the base
	incarnation uuid.UUID
}

// identity returns the incarnation of the corpus. The same rows have the same incarnation, and no
// stream has it.
func (q *quickSeed) identity() uuid.UUID {
	c := q.config
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "ctxledger bench seed %d %d %d %d %d", c.Seed, c.Events, c.Tenants, c.Days, q.base))
}

func dropDatabase(ctx context.Context, conn driver.Conn, name string) error {
	if err := conn.Exec(withParameters(ctx, clickhouse.Parameters{"database": name}), statement("drop_database")); err != nil {
		return fmt.Errorf("drop the database %s: %w", name, err)
	}
	return nil
}

func (q *quickSeed) bytes(ctx context.Context) (bytes uint64, err error) {
	if err := q.conn.QueryRow(withParameters(ctx, clickhouse.Parameters{"database": SeedDatabase}), statement("seed_bytes")).Scan(&bytes); err != nil {
		return 0, fmt.Errorf("measure the tables: %w", err)
	}
	return bytes, nil
}

func withParameters(ctx context.Context, p clickhouse.Parameters) context.Context {
	return clickhouse.Context(ctx, clickhouse.WithParameters(p))
}

// InDatabase returns the address of another database of the same server.
func InDatabase(dsn, database string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the ClickHouse address is not valid") // the parser's error may contain the password
	}
	u.Path = "/" + database
	return u.String(), nil
}
