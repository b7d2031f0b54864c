package projector

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A fixture is a separate stream and database of one test, on real servers.
type fixture struct {
	t       testing.TB
	servers *embeddedtest.Servers
	js      jetstream.JetStream
	ledger  *ledger.Ledger
	sql     clickhouse.Conn
	sent    int
	rich    bool // the messages of publishMix have rows in every table

	unacknowledged map[string]jetstream.PubAckFuture // by message id
	acknowledged   map[uint64]string                 // message ids, by the sequence from the stream
	through        *addresses                        // where children find the servers; nil means the fixture's addresses
}

// migrated is a set of the newest tables and views, because creating them takes longer than
// most tests.
var migrated = embeddedtest.TemplateOf(ledger.Open, func(ctx context.Context, l *ledger.Ledger) error {
	_, err := shadow.Of(l).Migrate(ctx)
	return err
})

// needsServers skips a test in the short form, in which each package takes a few seconds. See
// TestKilledOnce.
func needsServers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	needsServers(t)
	s := migrated.Installation(t)
	return newFixtureOn(t, s.NATSURL(), s)
}

func newFixtureOn(t testing.TB, natsURL string, s *embeddedtest.Servers) *fixture {
	t.Helper()
	f := &fixture{t: t, servers: s, unacknowledged: make(map[string]jetstream.PubAckFuture), acknowledged: make(map[uint64]string)}
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	f.must(err)
	t.Cleanup(nc.Close)
	f.js, err = jetstream.New(nc)
	f.must(err)
	_, err = streamio.EnsureStreams(t.Context(), f.js)
	f.must(err)
	f.ledger, err = ledger.Open(t.Context(), s.ClickHouseDSN())
	f.must(err)
	t.Cleanup(func() { f.ledger.Close() })
	_, err = shadow.Of(f.ledger).Migrate(t.Context())
	f.must(err)
	f.sql = embeddedtest.Connect(t, s.ClickHouseDSN())
	return f
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// publish sends an event with a new message id. Callers must flush before the next read of the
// stream.
func (f *fixture) publish(m schema.Message) {
	f.t.Helper()
	f.sent++
	header := nats.Header(m.Header)
	if header == nil {
		header = nats.Header{}
	}
	id := fmt.Sprint("message-", f.sent)
	header[schema.MsgIDHeader] = []string{id}
	future, err := f.js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}, jetstream.WithStallWait(time.Minute))
	f.must(err)
	f.unacknowledged[id] = future
}

// flush waits until the stream has all published messages.
func (f *fixture) flush() {
	f.t.Helper()
	select {
	case <-f.js.PublishAsyncComplete():
	case <-time.After(30 * time.Second):
		f.t.Fatal("the stream does not accept published messages")
	}
	for id, future := range f.unacknowledged {
		select {
		case ack := <-future.Ok():
			f.acknowledged[ack.Sequence] = id
		case err := <-future.Err():
			f.t.Fatalf("publish %s: %v", id, err)
		}
	}
	clear(f.unacknowledged)
}

// publishMix sends n messages of every kind, with ids from first on.
func (f *fixture) publishMix(first, n int) {
	f.t.Helper()
	for i := range n {
		id := first + i
		e := projectortest.Event(id, 0)
		switch i % 15 {
		case 2:
			if f.rich {
				e = projectortest.Golden(id)
			}
		case 4: // a repeat, nearby
			e = projectortest.Event(id-1, 0)
		case 7: // a repeat, far away
			e = projectortest.Event(first, 0)
		case 9:
			e = projectortest.Event(id-1, 9) // another digest
		case 11:
			e.Data = e.Data[:len(e.Data)-1]
		case 13:
			e.Type = "dev.ctxledger.context.invented.later.v1"
		}
		f.publish(e.Binary())
	}
	f.flush()
}

func (f *fixture) projector() *Projector {
	f.t.Helper()
	c := testConfig(f.js, f.ledger)
	c.UntilCaughtUp = true
	c.Log = slog.New(slog.NewTextHandler(f.t.Output(), &slog.HandlerOptions{Level: slog.LevelInfo}))
	p, err := New(c)
	f.must(err)
	p.config.Timing = quickTiming
	return p
}

func (f *fixture) run(p *Projector) error {
	f.flush()
	ctx, cancel := context.WithTimeout(f.t.Context(), testPatience)
	defer cancel()
	err := p.Run(ctx)
	if err == nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// project runs a projector until the ledger is level.
func (f *fixture) project() Status {
	f.t.Helper()
	p := f.projector()
	f.must(f.run(p))
	return p.Status()
}

// crash runs a projector and stops it at the visit-th time at point, as a crash would. The
// projector cannot report its end.
func (f *fixture) crash(point string, visit int) {
	f.t.Helper()
	p := f.projector()
	p.config.Log = slog.New(slog.DiscardHandler) // later log lines would outlive the test
	var dead atomic.Bool
	p.config.JetStream = mortal{p.config.JetStream, &dead}
	stopped := make(chan bool)
	p.config.Steps = atEach(func(at string) {
		if at == point {
			if visit--; visit == 0 {
				dead.Store(true) // no more heartbeats
				close(stopped)
				select {}
			}
		}
	})
	go p.Run(context.WithoutCancel(f.t.Context()))
	select {
	case <-stopped:
	case <-time.After(60 * time.Second):
		f.t.Fatalf("the projector did not reach %q", point)
	}
}

// mortal is a client of a process that may die. A dead process renews no lease.
type mortal struct {
	jetstream.JetStream
	dead *atomic.Bool
}

func (m mortal) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	kv, err := m.JetStream.KeyValue(ctx, bucket)
	return mortalKeyValue{kv, m.dead}, err
}

type mortalKeyValue struct {
	jetstream.KeyValue
	dead *atomic.Bool
}

func (m mortalKeyValue) Update(ctx context.Context, key string, value []byte, last uint64) (uint64, error) {
	if m.dead.Load() {
		select {}
	}
	return m.KeyValue.Update(ctx, key, value, last)
}

// follow runs a projector until the test ends or stop is called.
func (f *fixture) follow(p *Projector) (stop func() error) {
	p.config.UntilCaughtUp = false
	ctx, cancel := context.WithCancel(context.WithoutCancel(f.t.Context()))
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop = func() error {
		cancel()
		err := await(f.t, done, "the projector's end")
		done <- err
		return err
	}
	f.t.Cleanup(func() { stop() })
	return stop
}

func (f *fixture) await(what string, ok func() bool) {
	f.t.Helper()
	for began := time.Now(); !ok(); time.Sleep(interval(began)) {
		if time.Since(began) > testPatience {
			f.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// interval returns the time before the next look at a condition: a tenth of the wait so far. A long
// wait then asks the servers rarely.
func interval(began time.Time) time.Duration {
	return min(max(10*time.Millisecond, time.Since(began)/10), 250*time.Millisecond)
}

func (f *fixture) awaitLevel() {
	f.t.Helper()
	f.flush()
	f.await("the ledger is level", func() bool {
		level, err := streamio.ReadLevel(f.t.Context(), f.js, f.ledger, schema.EventStream)
		return err == nil && level.Behind() == 0
	})
}

func (f *fixture) child(env ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.t.Context()), testPatience)
	f.t.Cleanup(cancel) // kills it, if it still runs
	cmd := exec.CommandContext(ctx, os.Args[0])
	at := f.through
	if at == nil {
		at = &addresses{f.js.Conn().ConnectedUrl(), f.servers.ClickHouseDSN()}
	}
	cmd.Env = append(os.Environ(), childNATS+"="+at.nats, childLedger+"="+at.clickhouse)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = f.t.Output()
	return cmd
}

func (f *fixture) count(sql string) (n uint64) {
	f.t.Helper()
	f.must(f.sql.QueryRow(f.t.Context(), sql).Scan(&n))
	return n
}

// exact is the oracle. Every message of the stream must have the one outcome that the stream's
// order gives, and commits must add up. With the modifier FINAL it reads like the views,
// without a modifier the base tables.
func (f *fixture) exact(modifier string) {
	f.t.Helper()
	want := f.outcomes()
	got := make(map[uint64]string)
	var tables []string
	for _, table := range []string{"events", "duplicates", "quarantine"} {
		tables = append(tables, fmt.Sprintf("SELECT stream_seq, '%s' FROM %s %s", table, table, modifier))
	}
	rows, err := f.sql.Query(f.t.Context(), strings.Join(tables, " UNION ALL "))
	f.must(err)
	for rows.Next() {
		var seq uint64
		var table string
		f.must(rows.Scan(&seq, &table))
		if got[seq] != "" {
			f.t.Errorf("message %d is in %s and in %s", seq, got[seq], table)
		}
		got[seq] = table
	}
	f.must(rows.Err())
	for seq, table := range want {
		if got[seq] != table {
			f.t.Errorf("message %d is in %q, want %s", seq, got[seq], table)
		}
	}
	if len(got) != len(want) {
		f.t.Errorf("%d messages have an outcome, the stream has %d", len(got), len(want))
	}
	if events, items := f.count("SELECT count() FROM events "+modifier+" WHERE event_type = 'context.log.appended'"), f.count("SELECT count() FROM log_items "+modifier); events != items {
		f.t.Errorf("%d events have %d typed rows", events, items)
	}
	if messages := f.count("SELECT sum(messages) FROM commits FINAL"); messages != uint64(len(want)) {
		f.t.Errorf("commits counts %d messages, the stream %d", messages, len(want))
	}
	if total := f.count("SELECT sum(rows['events'] + rows['duplicates'] + rows['quarantine']) FROM commits FINAL"); total != uint64(len(want)) {
		f.t.Errorf("commits counts %d rows, the stream has %d messages", total, len(want))
	}
}

// outcomes reads the stream from its beginning and computes the outcome of each message, in the
// simplest way.
func (f *fixture) outcomes() map[uint64]string {
	f.t.Helper()
	stream, id, err := streamio.OpenStream(f.t.Context(), f.js, schema.EventStream)
	f.must(err)
	info, err := stream.Info(f.t.Context())
	f.must(err)
	s := streamio.Source{Stream: stream, Incarnation: id, Rules: streamio.NewRules()}
	all, err := s.ReadRange(f.t.Context(), 1, info.State.LastSeq, 1<<62) // without an end it would wait for more messages
	f.must(err)
	want := make(map[uint64]string)
	firsts := make(map[string][32]byte)
	for _, m := range all {
		outcome := "quarantine"
		if parsed := decode.One(m); len(parsed.Violations) == 0 {
			first, again := firsts[parsed.Envelope.ID]
			switch {
			case !again:
				firsts[parsed.Envelope.ID], outcome = parsed.Digest, "events"
			case first == parsed.Digest:
				outcome = "duplicates"
			}
		}
		want[m.Position.StreamSeq] = outcome
	}
	return want
}

func TestEveryMessageEndsInExactlyOnePlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 75)
	noise := schema.Message{Subject: "ctx.v1.noise", Data: []byte("no CloudEvent\xff")}
	f.publish(noise)
	got := f.project()
	want := Status{Committed: 76, Events: 75 - 4*5, Quarantined: 2*5 + 1, Duplicates: 2 * 5}
	want.Events = 76 - want.Quarantined - want.Duplicates
	if got != want {
		t.Fatalf("projected %+v, want %+v", got, want)
	}
	f.exact("")
	f.exact("FINAL")
	if got := f.project(); got.Committed != 76 || got.Events != 0 {
		t.Fatalf("second run projected %+v, want nothing new", got)
	}
	info, err := f.js.Stream(t.Context(), schema.QuarantineStream)
	f.must(err)
	if n := info.CachedInfo().State.Msgs; n != want.Quarantined {
		t.Errorf("%d messages in the quarantine stream, want %d", n, want.Quarantined)
	}
	notices, err := f.js.Stream(t.Context(), schema.NoticeStream)
	f.must(err)
	if n := notices.CachedInfo().State.Msgs; n != want.Quarantined {
		t.Errorf("%d notices, want %d", n, want.Quarantined)
	}
	last, err := notices.GetLastMsgForSubject(t.Context(), "ctxnotice.v1.noise.>")
	f.must(err)
	var notice schema.Notice
	f.must(json.Unmarshal(last.Data, &notice))
	if notice.Outcome != schema.OutcomeQuarantined || notice.Stream != schema.EventStream || notice.Sequence != 76 || notice.Code == "" || notice.Fix == "" {
		t.Errorf("the notice is %s", last.Data)
	}
	var data string
	f.must(f.sql.QueryRow(t.Context(), "SELECT data FROM quarantine WHERE stream_seq = 76").Scan(&data))
	if data != string(noise.Data) {
		t.Errorf("quarantine holds %q, want the exact bytes", data)
	}
}

func TestBatchesOfOneOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for id := range 20 {
		f.publish(projectortest.Event(id, 0).Binary())
	}
	for id := range 20 {
		f.publish(projectortest.Event(id, 0).Binary()) // a batch of duplicates
	}
	for id := range 20 {
		f.publish(projectortest.Event(id, 1).Binary()) // and one of conflicts
	}
	f.project()
	f.exact("")
	var rows []map[string]uint64
	found, err := f.sql.Query(t.Context(), "SELECT rows FROM commits ORDER BY first_seq")
	f.must(err)
	for found.Next() {
		var r map[string]uint64
		f.must(found.Scan(&r))
		rows = append(rows, r)
	}
	if want := []map[string]uint64{{"events": 20, "log_hashes": 20, "log_items": 20}, {"duplicates": 20}, {"quarantine": 20}}; !reflect.DeepEqual(rows, want) {
		t.Errorf("commits counts %v, want %v", rows, want)
	}
}

// Headers that a server would obey, and a message without room for more headers.
func TestPoisonThatTheQuarantineStreamWouldRefuse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	send := func(header nats.Header, size int) {
		if _, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: "ctx.v1.noise", Header: header, Data: make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	send(nats.Header{"Nats-Expected-Stream": {schema.EventStream}, "Nats-Expected-Last-Sequence": {"0"}}, 10)
	send(nil, 1<<20)
	f.publish(projectortest.Event(1, 0).Binary())
	if got := f.project(); got.Quarantined != 2 || got.Events != 1 {
		t.Errorf("projected %+v", got)
	}
	f.exact("")
}

// TestNoticesHoldNothingBack: messages are quarantined and projected while no notice can be stored.
func TestNoticesHoldNothingBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	notices, err := f.js.Stream(t.Context(), schema.NoticeStream)
	f.must(err)
	config := notices.CachedInfo().Config
	config.MaxMsgSize = 1
	_, err = f.js.UpdateStream(t.Context(), config)
	f.must(err)
	f.publishMix(0, 20)
	f.publish(schema.Message{Subject: "ctx.v1.noise", Data: []byte("no CloudEvent")})
	if got := f.project(); got.Committed != 21 || got.Quarantined == 0 {
		t.Errorf("projected %+v", got)
	}
	info, err := notices.Info(t.Context())
	f.must(err)
	if info.State.Msgs != 0 {
		t.Errorf("%d notices were stored", info.State.Msgs)
	}
}
