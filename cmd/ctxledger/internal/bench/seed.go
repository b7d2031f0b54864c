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

// SeedConfig says what to seed. Start from DefaultSeedConfig.
type SeedConfig struct {
	// Events is how many events there are then. Defaults to 1,000,000.
	Events int
	// Seed of the events; the same one gives the same rows. Defaults to 1.
	Seed uint64
	// Tenants is how many share them, the first most. Defaults to 12.
	Tenants int
	// Days is about how long the events span. Defaults to 90.
	Days int
	// Base is how many events [SeedQuickly] projects and copies. Defaults to 250,000.
	Base int
	// Progress is told how far each step is. Nil is quiet.
	Progress Progress
	// Log gets what servers and projector have to say. Nil discards it.
	Log *slog.Logger
}

// DefaultSeedConfig returns a corpus of a size that is there in a minute or two.
func DefaultSeedConfig() SeedConfig {
	return SeedConfig{Events: 1_000_000, Seed: 1, Tenants: 12, Days: 90, Base: 250_000}
}

// Validate says what is wrong with c and changes nothing.
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

// Seeded says what a corpus has become.
type Seeded struct {
	Events  int     `json:"events"`
	Seed    uint64  `json:"seed"`
	Tenants int     `json:"tenants"`
	Seconds float64 `json:"seconds"`
	// Database and Incarnation are those of a quick corpus; empty else.
	Database    string `json:"database,omitzero"`
	Incarnation string `json:"incarnation,omitzero"`
	// Base events were projected, and Copies made of them; 0 for none.
	Base   int `json:"base_events,omitzero"`
	Copies int `json:"copies,omitzero"`
	// Bytes on disk, of a quick corpus, before what is left of merging.
	Bytes uint64 `json:"bytes,omitzero"`
}

// SeedStream publishes the corpus into the streams of an installation, which are
// created where they are missing, and returns once they are stored. Its projector
// makes rows of them as of any other events: recorded_at is when the stream stored
// them, which is now; event_time spans the days. To repeat it adds nothing but
// duplicates.
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
	// SeedDatabase is where [SeedQuickly] leaves its tables. No projector, rebuild
	// or doctor looks there: they go by the database of an installation's address.
	SeedDatabase = "ctxledger_seed"
	// seedBase is where it projects what it copies from. It is dropped at the end.
	seedBase = SeedDatabase + "_base"
)

// SeedQuickly makes the tables of the corpus in the database [SeedDatabase] of the
// ClickHouse at dsn, whose user must be one who may create databases. What was
// there before is replaced.
//
// A base of the corpus goes through a stream and the projector, and the server then
// writes copy after copy of the base's rows: each with other ids, so that its
// sessions are sessions of their own, later positions, and later times, for which
// the days are shared out among the copies. Every row is the one that the projector
// would have made of the copy's event, but for these:
//
//	incarnation  one of the corpus, of no stream
//	recorded_at  the event's time and [recordedAfter], not the time of a stream
//	digest       a hash, but not that of the event: proofs cannot be made of it
//
// There is no stream that the tables could be rebuilt from, no row in commits,
// quarantine or duplicates, and no signed head.
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
	conn        driver.Conn // outside of both databases
	base        int         // events
	copies      int
	span        time.Duration // of the base
	incarnation uuid.UUID
}

// identity is the incarnation of the corpus: the same for the same rows, and that of
// no stream.
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
		return 0, fmt.Errorf("weigh the tables: %w", err)
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
		return "", errors.New("the ClickHouse address is none") // the parser's words hold the password
	}
	u.Path = "/" + database
	return u.String(), nil
}
