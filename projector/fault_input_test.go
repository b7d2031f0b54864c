package projector

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func poisonAmongGood(t *testing.T) {
	random := seeded(t)
	f := newFixture(t)
	good, bad := times(10_000, 100_000), times(50, 500)
	poisoned := make(map[int]bool)
	for len(poisoned) < bad {
		poisoned[random.IntN(good+bad)] = true
	}
	for id := range good + bad {
		m := projectortest.Event(id, 0).Binary()
		if poisoned[id] {
			switch id % 5 {
			case 0:
				m = schema.Message{Subject: "ctx.v1.noise", Data: []byte("no CloudEvent\xff")}
			case 1:
				m.Data = m.Data[:len(m.Data)-1]
			case 2:
				delete(m.Header, "ce-id")
			case 3:
				m.Header["ce-specversion"] = []string{"0.1"}
			case 4:
				m.Data = nil
			}
		}
		f.publish(m)
		if id%1000 == 0 {
			f.flush()
		}
	}
	p := f.projector()
	p.config.BatchMessages = 700
	f.must(f.run(p))
	if s := p.Status(); s.Events != uint64(good) || s.Quarantined != uint64(bad) {
		t.Errorf("projected %+v, want %d events and %d in quarantine", s, good, bad)
	}
	f.faultless()
}

// A publisher without a reply sends a message again: while the stream knows its id, and after
// the stream has forgotten it.
func publisherRetries(t *testing.T) {
	f := newFixture(t)
	config := f.stream().CachedInfo().Config
	window := 2 * time.Second
	config.Duplicates = window
	_, err := f.js.UpdateStream(t.Context(), config)
	f.must(err)
	send := func(id int) (again bool) {
		m := projectortest.Event(id, 0).Binary()
		ack, err := f.js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}, jetstream.WithMsgID(fmt.Sprint("retried-", id)))
		f.must(err)
		f.acknowledged[ack.Sequence] = fmt.Sprint("retried-", id)
		return ack.Duplicate
	}
	stop := f.follow(f.projector())
	const events = 100
	within, beyond := 0, 0
	for round := range times(2, 6) {
		for id := range events {
			send(1000*round + id)
			if id%2 == 0 && send(1000*round+id) {
				within++
			}
		}
		f.awaitLevel()
		f.await("the stream has forgotten an id", func() bool { time.Sleep(window / 4); return !send(1000 * round) })
		beyond++
		time.Sleep(window)
		for id := 1; id < events; id++ {
			if !send(1000*round + id) {
				beyond++
			}
		}
	}
	f.awaitLevel()
	f.must(stop())
	t.Logf("%d retries within the window, %d beyond it", within, beyond)
	if n := f.count("SELECT count() FROM repeated_events"); n != uint64(beyond) || beyond < events {
		t.Errorf("%d duplicates of %d retries beyond the window", n, beyond)
	}
	if n := f.count("SELECT count() FROM recorded_events"); n != uint64(times(2, 6)*events) {
		t.Errorf("%d events", n)
	}
	f.faultless()
}

// timeless replaces the stream by an empty one that can store messages with any time.
func (f *fixture) timeless() (store func(subject string, header map[string][]string, data []byte, at time.Time)) {
	f.t.Helper()
	config, err := json.Marshal(f.stream().CachedInfo().Config)
	f.must(err)
	f.must(f.js.DeleteStream(f.t.Context(), schema.EventStream))
	return emptyStream(f.t, f.servers, config)
}

// Messages are around midnight and around the end of a month, by the stream's time. No insert
// spans two months, with any cut of the batches and after kills. The months are the two before
// this one, so that no message is of the future, and the date of the run changes nothing.
func boundaries(t *testing.T) {
	r := newRig(t)
	store := r.timeless()
	now := time.Now().UTC()
	month := time.Date(now.Year(), now.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	id := 0
	for _, begin := range []time.Time{month.AddDate(0, 0, -1), month, month.AddDate(0, 0, 1)} {
		for i := range 40 {
			m := projectortest.Event(id, 0).Binary()
			if id%10 == 7 {
				m = projectortest.Event(id-30, 0).Binary() // a repeat of an event of the day before
			}
			if id%10 == 9 {
				m.Data = m.Data[:1]
			}
			store(m.Subject, m.Header, m.Data, begin.Add(time.Duration(i-30)*50*time.Millisecond)) // a batch of 20 spans the first midnight
			id++
		}
	}
	r.publishMix(1000, 20) // events of this month
	r.killed(childPoint+"="+pointWritten, childVisit+"=3")
	r.killed(childPoint+"="+pointJournalled, childVisit+"=2")
	p := r.projector()
	p.config.BatchMessages = 1000
	r.must(r.run(p))
	if n := r.count("SELECT count() FROM commits c JOIN events e ON e.incarnation = c.incarnation WHERE e.stream_seq BETWEEN c.first_seq AND c.last_seq AND toYYYYMM(e.recorded_at) != toYYYYMM(c.recorded_at)"); n > 0 {
		t.Errorf("%d events are in a batch of another month", n)
	}
	if n := r.count("SELECT uniqExactIf(toYYYYMM(recorded_at), recorded_at < '" + month.AddDate(0, 1, 0).Format(time.DateTime) + "') FROM events"); n != 2 {
		t.Errorf("the events before this month are of %d months", n)
	}
	if n := r.count("SELECT countIf(toDate(first) != toDate(last)) FROM (SELECT min(e.recorded_at) AS first, max(e.recorded_at) AS last FROM commits c JOIN events e ON e.incarnation = c.incarnation WHERE e.stream_seq BETWEEN c.first_seq AND c.last_seq GROUP BY c.first_seq)"); n == 0 {
		t.Error("no batch spans a midnight")
	}
	r.faultless()
}

// The tables are of an older version, and events wait. A projector before the migration is
// refused and loses no event. Two migrations run at the same time, while a projector is started
// repeatedly.
func migratedWithABacklog(t *testing.T) {
	f := newFixture(t)
	f.publishMix(0, 150)
	names, err := f.sql.Query(t.Context(), "SELECT name FROM system.tables WHERE database = currentDatabase()")
	f.must(err)
	var drop []string
	for names.Next() {
		var name string
		f.must(names.Scan(&name))
		drop = append(drop, "DROP TABLE "+name+" SYNC")
	}
	f.must(names.Close())
	f.exec(drop...)
	f.exec("CREATE TABLE migrations (version UInt32, name String) ENGINE = ReplacingMergeTree ORDER BY version")
	if err := f.run(f.projector()); !ledger.NotMigrated(err) {
		t.Errorf("without tables it ended with %v", err)
	}
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := shadow.Of(f.ledger).Migrate(t.Context())
			done <- err
		}()
	}
	tries := 0
	f.await("a projector gets through", func() bool {
		tries++
		err := f.run(f.projector())
		if err != nil && !ledger.NotMigrated(err) {
			t.Errorf("the projector during the migration ended with %v", err)
		}
		return err == nil
	})
	for range 2 {
		f.must(<-done)
	}
	_, err = streamio.EnsureStreams(t.Context(), f.js)
	f.must(err)
	f.publishMix(1000, 30)
	f.project()
	t.Logf("projected at the %d. try", tries)
	f.faultless()
}
