package projector

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// followed runs a projector through the links until stop is called.
func (r *rig) followed() (p *Projector, stop func() error) {
	r.t.Helper()
	p = r.linkedProjector()
	return p, r.follow(p)
}

// catchUp waits until the ledger is level, also after a long failure of the servers.
func (r *rig) catchUp() {
	r.t.Helper()
	r.flush()
	var last error
	for began := time.Now(); ; time.Sleep(interval(began)) {
		level, err := streamio.ReadLevel(r.t.Context(), r.js, r.ledger, schema.EventStream)
		if err == nil && level.Behind() == 0 {
			return
		}
		if last = err; time.Since(began) > 5*time.Minute {
			r.t.Fatalf("the ledger is not level: %+v, %v", level, last)
		}
	}
}

// ClickHouse is killed while it runs an insert and has a part of its rows.
func clickhouseKilledMidInsert(t *testing.T) {
	random := seeded(t)
	r := newClickHouseRig(t, migratedFolder(t))
	p, stop := r.followed()
	for round := range times(3, 30) {
		table := []string{"events", "log_items", "commits"}[round%3]
		held := r.holdRows(table, random.IntN(40))
		r.publishMix(1000*round, 60)
		await(t, held, "an insert into "+table)
		r.await("the server runs it", func() bool {
			return r.count("SELECT count() FROM system.processes WHERE query_kind = 'Insert'") > 0
		})
		r.clickhouse.kill()
		r.toLedger.mend()
		r.awaitReachable()
	}
	r.catchUp()
	r.must(stop())
	t.Logf("committed up to %d over %d kills", p.Status().Committed, r.clickhouse.servers.Restarts())
	r.faultless()
}

// ClickHouse is killed while it merges parts of the tables. The folders of unfinished merges
// show whether the kill hit a merge.
func clickhouseKilledMidMerge(t *testing.T) {
	random := seeded(t)
	r := newClickHouseRig(t, migratedFolder(t))
	p, stop := r.followed()
	cut := 0
	for round := range times(6, 60) {
		for i := range 20 { // parts to merge
			r.publishMix(10_000*round+100*i, 15)
			r.catchUp()
		}
		optimized := make(chan error, 1)
		go func() { optimized <- r.sql.Exec(context.WithoutCancel(t.Context()), "OPTIMIZE TABLE events FINAL") }()
		folder := r.files("events")
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		seen, err := filepath.Glob(filepath.Join(folder, "tmp_merge_*"))
		r.must(err)
		r.clickhouse.kill()
		<-optimized
		cut += len(seen)
		r.awaitReachable()
		if cut > times(0, 10) {
			break
		}
	}
	r.catchUp()
	r.must(stop())
	t.Logf("committed up to %d over %d kills, %d of them with a merge under way", p.Status().Committed, r.clickhouse.servers.Restarts(), cut)
	r.faultless()
}

func clickhouseKilledInABacklog(t *testing.T) {
	r := newClickHouseRig(t, migratedFolder(t))
	r.publishMix(0, 500)
	p, stop := r.followed()
	for round := range 2 {
		from := p.Status().Committed
		r.await("it has committed more", func() bool { return p.Status().Committed > from+100 })
		r.clickhouse.kill()
		r.publishMix(1_000*(round+1), 500) // the backlog may be done before the killed server counts as restarted
	}
	r.awaitReachable()
	r.catchUp()
	r.must(stop())
	r.faultless()
}

// ClickHouse is down while events arrive. The server is restarted once more while the projector
// works on the backlog.
func clickhouseAway(t *testing.T) {
	r := newClickHouseRig(t, migratedFolder(t))
	p, stop := r.followed()
	r.publishMix(0, 50)
	r.catchUp()
	r.clickhouse.stop()
	away := time.Duration(times(5, 300)) * time.Second
	for i, until := 1, time.Now().Add(away); time.Now().Before(until); i++ {
		r.publishMix(1000*i, 50)
		time.Sleep(away / 20)
	}
	before := p.Status().Committed
	r.clickhouse.start()
	r.await("it goes on", func() bool { return p.Status().Committed > before+100 })
	r.clickhouse.stop()
	r.clickhouse.start()
	r.awaitReachable()
	r.catchUp()
	r.must(stop())
	t.Logf("away for %s, %d events behind", away, p.Status().Committed-before)
	r.faultless()
}

func natsKilled(t *testing.T) {
	random := seeded(t)
	r := newNATSRig(t, t.TempDir())
	p, stop := r.followed()
	load := r.publishing(0)
	kills := times(4, 40)
	for range kills {
		time.Sleep(time.Duration(200+random.IntN(800)) * time.Millisecond)
		r.nats.kill()
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		if random.IntN(4) == 0 {
			time.Sleep(quickTiming.Expiry + quickTiming.Expiry/2) // longer than the lease lasts
		}
		r.nats.start()
	}
	time.Sleep(200 * time.Millisecond)
	load.stop()
	r.catchUp()
	r.must(stop())
	t.Logf("killed %d times; %d acknowledged, %d tried again, %d committed", kills, len(r.acknowledged), load.retries, p.Status().Committed)
	if len(r.acknowledged) < kills {
		t.Error("hardly anything was published")
	}
	r.faultless()
}

// The server stops regularly and is down for longer than the lease lasts, with and without
// load.
func natsAway(t *testing.T) {
	r := newNATSRig(t, t.TempDir())
	r.publishMix(0, 300)
	p, stop := r.followed()
	r.await("it is under way", func() bool { return p.Status().Committed > 100 })
	for round := range 2 {
		r.nats.stop()
		time.Sleep(quickTiming.Expiry + quickTiming.Expiry/2)
		r.nats.start()
		r.await("NATS answers", r.js.Conn().IsConnected)
		r.publishMix(1000*(1+round), 30)
		r.catchUp()
	}
	r.must(stop())
	r.faultless()
}

// A server removes the consumer of a client that has not read for a long time.
func TestConsumerForgotten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 40)
	p := f.projector()
	stop := f.follow(p)
	f.awaitLevel()
	for round := range 2 {
		consumers := f.stream().ConsumerNames(t.Context())
		for name := range consumers.Name() {
			f.must(f.stream().DeleteConsumer(t.Context(), name))
		}
		f.publishMix(1000*(round+1), 40)
		f.awaitLevel()
	}
	f.must(stop())
	f.exact("")
}

func TestPermanentErrorEndsRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.publishMix(0, 10)
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE log_items DROP COLUMN item_type"))
	err := f.run(f.projector())
	if err == nil || transient(err) || !ledger.NotMigrated(err) {
		t.Errorf("ended with %v", err)
	}
	t.Log(err)
	f.must(f.sql.Exec(t.Context(), "ALTER TABLE log_items ADD COLUMN item_type LowCardinality(String) AFTER position"))
	f.project()
	f.exact("")
}
