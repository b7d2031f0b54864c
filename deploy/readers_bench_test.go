package deploy_test

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// sessionsOf publishes the golden events once for each session, in turns of the two tenants.
func sessionsOf(b *testing.B, js jetstream.JetStream, sessions int) (events uint64) {
	b.Helper()
	for i := range sessions {
		tenant, session := tenants[i%len(tenants)], fmt.Sprintf("sess-%d", i/len(tenants))
		for _, kind := range schema.Types() {
			text := strings.ReplaceAll(string(schema.Golden(kind)), "sess-7f3a", session)
			e, err := schema.ParseStructured([]byte(text))
			if err != nil {
				b.Fatal(err)
			}
			e.Tenant, e.Source, e.ID = tenant, "urn:test:"+tenant, fmt.Sprint(e.ID, i)
			m := e.Binary()
			header := nats.Header(m.Header)
			header.Del(schema.MsgIDHeader)
			if _, err := js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
				b.Fatal(err)
			}
			events++
		}
		<-js.PublishAsyncComplete()
	}
	return events
}

// BenchmarkReaders compares the catalogue as a tenant's reader asks it with the same catalogue on the
// tables, by a user with the row filters. The metrics are ratios: of the p95 of all runs, of the sums
// over the catalogue, and of single queries, the last two by the median of seven runs. The log has
// the time for 200 databases of readers.
func BenchmarkReaders(b *testing.B) {
	before := tenants
	b.Cleanup(func() { tenants = before })
	for i := range 198 {
		tenants = append(slices.Clip(tenants), fmt.Sprintf("tenant-%d", i))
	}
	in := install(b, strings.Repeat("0", 64), fmt.Sprintf("%x", sha256.Sum256([]byte("filtered"))), "255.255.255.255", "127.0.0.1")
	tenants = before
	nc, err := nats.Connect(in.servers.NATSURL())
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := streamio.EnsureStreams(b.Context(), js); err != nil {
		b.Fatal(err)
	}
	open := func(dsn string) *ledger.Ledger {
		l, err := ledger.Open(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { l.Close() })
		return l
	}
	writer := open(in.servers.ClickHouseDSN())
	if _, err := shadow.Of(writer).Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	events := sessionsOf(b, js, 2000)
	c := projector.DefaultConfig(js, writer)
	c.UntilCaughtUp = true
	p, err := projector.New(c)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	if s := p.Status(); s.Events != events {
		b.Fatalf("projected %d of %d events", s.Events, events)
	}
	all := append(slices.Clone(before), make([]string, 198)...)
	for i := range 198 {
		all[len(before)+i] = fmt.Sprintf("tenant-%d", i)
	}
	began := time.Now()
	if made, err := shadow.Of(writer).Readers(b.Context(), all...); err != nil || len(made) != len(all) {
		b.Fatalf("made %d databases: %v", len(made), err)
	}
	b.Logf("200 databases of readers: %v", time.Since(began))
	began = time.Now()
	if _, err := shadow.Of(writer).Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("migrate again: %v", time.Since(began))
	acme := open(in.address(b, "clickhouse-reader-acme", in.host))
	filtered := open("clickhouse://rows_acme:filtered@" + in.host + "/ctxledger")
	for b.Loop() {
		var ratios []float64
		var sums [2]time.Duration
		var runs [2][]time.Duration
		for _, q := range queries.All() {
			arguments := map[string]string{}
			for _, p := range q.Parameters {
				switch {
				case p.Name == "tenant":
					arguments[p.Name] = "acme"
				case p.Required:
					arguments[p.Name] = cmp.Or(map[string]string{"session_id": "sess-7", "turn_id": "turn-3", "item_id": "item-readme", "call_id": "call-9", "thread_id": "thread-1"}[p.Name], "x")
				}
			}
			bound, err := q.Bind(arguments)
			if err != nil {
				b.Fatal(err)
			}
			var times [2][]time.Duration
			for range 7 {
				for side, l := range []*ledger.Ledger{filtered, acme} {
					times[side] = append(times[side], timed(b, l, q, bound))
				}
			}
			for side := range times {
				runs[side] = append(runs[side], times[side]...)
				slices.Sort(times[side])
				sums[side] += times[side][3]
			}
			ratios = append(ratios, times[1][3].Seconds()/times[0][3].Seconds())
		}
		slices.Sort(ratios)
		for side := range runs {
			slices.Sort(runs[side])
		}
		p95 := len(runs[0]) * 95 / 100
		b.ReportMetric(runs[1][p95].Seconds()/runs[0][p95].Seconds(), "ratio-of-p95")
		b.ReportMetric(ratios[len(ratios)*95/100], "p95-ratio")
		b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
		b.ReportMetric(sums[1].Seconds()/sums[0].Seconds(), "sum-ratio")
	}
}

// timed returns the time until the last row of a query.
func timed(b *testing.B, l *ledger.Ledger, q queries.Query, bound map[string]string) time.Duration {
	b.Helper()
	began := time.Now()
	rows, err := turn.Query(b.Context(), l, q, bound, read.DefaultLimits())
	if err != nil {
		b.Fatalf("%s: %v", q.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		b.Fatalf("%s: %v", q.Name, err)
	}
	return time.Since(began)
}
