package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// smallSeed has three copies, and the last copy is cut.
func smallSeed() SeedConfig {
	c := DefaultSeedConfig()
	c.Events, c.Base, c.Tenants = 10_000, 4000, 4
	return c
}

// smallCorpus is seeded once, in the engine that the tests share. The tests only read it.
var smallCorpus = sync.OnceValues(func() (Seeded, error) {
	return SeedQuickly(context.Background(), smallSeed(), sharedDSN)
})

// sharedDSN is the address of the shared engine, with the database of one of the tests.
var sharedDSN string

var shareOnce sync.Once

// seeded returns the address of a separate database on the server with the small corpus, and a
// connection.
func seeded(t *testing.T) (dsn string, conn driver.Conn) {
	t.Helper()
	dsn = embeddedtest.ClickHouse(t).ClickHouseDSN()
	shareOnce.Do(func() { sharedDSN, _ = InDatabase(dsn, "default") })
	got, err := smallCorpus()
	if err != nil {
		t.Fatal(err)
	}
	if got.Copies != 3 || got.Base != 4000 || got.Bytes == 0 {
		t.Errorf("seeded %+v", got)
	}
	if conn, err = connect(dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return dsn, conn
}

func texts(t *testing.T, conn driver.Conn, sql string) (list []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return list
}

// TestQuickRowsAreThoseOfTheProjector sends the events of a quick corpus through a stream and the
// projector, and compares the rows of every table. The documented exceptions of SeedQuickly are
// not compared. The schema's name and the partition key are not compared either, because
// EventsAfter does not read them.
func TestQuickRowsAreThoseOfTheProjector(t *testing.T) {
	t.Parallel()
	dsn, conn := seeded(t)
	truth, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer truth.Close()
	if _, err := shadow.Of(truth).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	project(t, publishAgain(t, dsn), truth)
	for _, table := range copied {
		rows := func(database string) []string {
			return texts(t, conn, fmt.Sprintf("SELECT toString(tuple(* EXCEPT '^(incarnation|recorded_at|digest|data_schema|partition_key)$')) FROM %s%s FINAL ORDER BY stream_seq", database, table))
		}
		want, got := rows(""), rows(SeedDatabase+".")
		if len(want) == 0 {
			t.Errorf("%s is empty: nothing was compared", table)
		}
		if len(want) != len(got) {
			t.Errorf("%s has %d rows, the projector makes %d", table, len(got), len(want))
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: row %d is\n%s\nthe projector makes\n%s", table, i, got[i], want[i])
				break
			}
		}
	}
}

// publishAgain publishes the events of the quick corpus, in order, into a separate stream.
func publishAgain(t *testing.T, dsn string) jetstream.JetStream {
	t.Helper()
	dsn, err := InDatabase(dsn, SeedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	js := jetStream(t)
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	q := quickSeed{config: smallSeed(), base: smallSeed().Base, copies: 3}
	n, publisher := uint64(smallSeed().Events), publish.New(js, 0)
	for after := uint64(0); after < n; {
		page, err := read.Of(l).EventsAfter(t.Context(), q.identity(), after, n, read.Filter{}, 1000)
		if err != nil || len(page) == 0 {
			t.Fatalf("%d events after %d, %v", len(page), after, err)
		}
		for _, e := range page {
			if err := publisher.Send(t.Context(), e.Event.Binary()); err != nil {
				t.Fatal(err)
			}
			after = e.StreamSeq
		}
	}
	if err := publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return js
}

func project(t *testing.T, js jetstream.JetStream, l *ledger.Ledger) {
	t.Helper()
	c := projector.DefaultConfig(js, l)
	c.UntilCaughtUp, c.Keys = true, mix.NewCorpus(smallSeed().corpus(1, smallSeed().span())).Keys
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st := p.Status(); st.Quarantined+st.Duplicates > 0 {
		t.Fatalf("%d in quarantine, %d duplicates", st.Quarantined, st.Duplicates)
	}
}

func TestQuickCorpus(t *testing.T) {
	t.Parallel()
	dsn, conn := seeded(t)
	for _, table := range copied {
		if n := texts(t, conn, fmt.Sprintf("SELECT toString(count()) FROM %s.%s WHERE position(toString(tuple(*)), '%s') > 0", SeedDatabase, table, mix.Mark)); n[0] != "0" {
			t.Errorf("%s rows of %s have the mark of the base", n[0], table)
		}
	}
	for sql, want := range map[string]string{
		"SELECT toString((count(), uniqExact(stream_seq), max(stream_seq), uniqExact(identity), uniqExact(digest))) FROM ctxledger_seed.events":                                          "(10000,10000,10000,10000,10000)",
		"SELECT toString(uniqExact(tenant)) FROM ctxledger_seed.events":                                                                                                                  "4",
		"SELECT toString(max(recorded_at < before)) FROM (SELECT recorded_at, lagInFrame(recorded_at) OVER (ORDER BY stream_seq ROWS 1 PRECEDING) AS before FROM ctxledger_seed.events)": "0",
		"SELECT toString(dateDiff('day', min(event_time), max(event_time)) BETWEEN 20 AND 200) FROM ctxledger_seed.events":                                                               "1",
		"SELECT toString(count()) FROM system.databases WHERE name = 'ctxledger_seed_base'":                                                                                              "0",
		"SELECT toString(countIf(partition_key != session_id)) FROM ctxledger_seed.events":                                                                                               "0",
		"SELECT toString(count()) FROM ctxledger_seed.commits":                                                                                                                           "0",
		"SELECT toString(countIf(copies > 1)) FROM (SELECT uniqExact(intDiv(stream_seq - 1, 4000)) AS copies FROM ctxledger_seed.events GROUP BY session_id)":                            "0",
	} {
		if got := texts(t, conn, sql); !slices.Equal(got, []string{want}) {
			t.Errorf("%s\nis %s, want %s", sql, strings.Join(got, ", "), want)
		}
	}
	dsn, err := InDatabase(dsn, SeedDatabase)
	if err != nil {
		t.Fatal(err)
	}
	inSeed, err := connect(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer inSeed.Close()
	checks := texts(t, conn, "SELECT name FROM system.tables WHERE database = 'ctxledger_seed' AND name LIKE 'check\\_%' AND empty(parameterized_view_parameters)")
	if len(checks) < 8 {
		t.Errorf("only the checks %s", checks)
	}
	for _, check := range checks {
		if n := texts(t, inSeed, "SELECT concat(toString(count()), ', such as ', ifNull(any(problem), '')) FROM "+check); !strings.HasPrefix(n[0], "0,") {
			t.Errorf("%s finds %s", check, n[0])
		}
	}
}

// TestSeedStream publishes every event once, also when it is repeated.
func TestSeedStreamIsRepeatable(t *testing.T) {
	t.Parallel()
	js, c := jetStream(t), smallSeed()
	c.Events = 1500
	for range 2 {
		if _, err := SeedStream(t.Context(), c, js); err != nil {
			t.Fatal(err)
		}
	}
	stream, err := js.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 1500 {
		t.Errorf("the stream holds %d messages after two runs of the same seed, want 1500", got)
	}
}

func TestSeedConfigValidate(t *testing.T) {
	t.Parallel()
	if err := DefaultSeedConfig().Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*SeedConfig){
		"events": func(c *SeedConfig) { c.Events = 0 }, "tenants": func(c *SeedConfig) { c.Tenants = 5000 },
		"days": func(c *SeedConfig) { c.Days = 0 }, "copy": func(c *SeedConfig) { c.Base = 0 },
	} {
		c := DefaultSeedConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
