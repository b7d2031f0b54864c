package projector

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// forget removes the server's log of tokens. The server must be stopped.
func (r *rig) forget(folders map[string]string) {
	r.t.Helper()
	for _, folder := range folders {
		logs := filepath.Join(folder, "deduplication_logs")
		if _, err := os.Stat(logs); err != nil {
			r.t.Fatal(err)
		}
		r.must(os.RemoveAll(logs))
	}
}

// folders returns the folders of the tables that get rows from every batch.
func (r *rig) folders() map[string]string {
	r.t.Helper()
	folders := make(map[string]string)
	for _, table := range []string{"events", "log_items", "quarantine", "duplicates", "commits"} {
		folders[table] = r.files(table)
	}
	return folders
}

// Rows of a range exist without a row of commits, and the server has forgotten every token.
func tokenLogDeleted(t *testing.T) {
	r := newClickHouseRig(t, migratedFolder(t))
	r.publishMix(0, 90)
	r.killed(childPoint+"="+pointWritten, childVisit+"=2")
	folders := r.folders()
	r.clickhouse.stop()
	r.forget(folders)
	r.clickhouse.start()
	r.awaitReachable()
	r.project()
	r.faultless()

	// The same is done under a running projector, which does not receive the reply.
	_, stop := r.followed()
	r.publishMix(1000, 40)
	r.catchUp()
	before := r.count("SELECT count() FROM events")
	r.keepReply("events")
	r.publishMix(2000, 15)
	r.await("the table has the rows", func() bool { return r.count("SELECT count() FROM events") > before })
	r.clickhouse.stop()
	r.forget(folders)
	r.clickhouse.start()
	r.toLedger.mend()
	r.awaitReachable()
	r.catchUp()
	r.must(stop())
	r.faultless()
}

// The same is done with tokens that other tokens have displaced from the server's memory.
func tokenWindowExhausted(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 90)
	r.killed(childPoint+"="+pointWritten, childVisit+"=2")
	for table := range r.folders() {
		r.exec("ALTER TABLE " + table + " MODIFY SETTING non_replicated_deduplication_window = 2")
		columns, values := "incarnation, recorded_at", "'00000000-0000-0000-0000-000000000000', now()"
		if table == "commits" {
			columns, values = columns+", writer_rules", values+fmt.Sprint(", ", ledger.NewestRules)
		}
		for range 4 {
			r.exec("INSERT INTO " + table + " (" + columns + ") VALUES (" + values + ")")
		}
		r.exec("ALTER TABLE " + table + " DELETE WHERE incarnation = '00000000-0000-0000-0000-000000000000' SETTINGS mutations_sync = 1")
	}
	r.project()
	r.faultless()
}

// The whole of ClickHouse is restored from an older copy, under a running projector and before
// a start. Each of the two projectors has a database of its own.
func clickhouseRestored(t *testing.T) {
	running := newClickHouseRig(t, migratedFolder(t))
	ended := running.another("ctxledger_ended")
	both, c := []*rig{running, ended}, running.clickhouse
	data, copied := filepath.Join(c.dir, "clickhouse", "data"), filepath.Join(t.TempDir(), "copy")
	for _, r := range both {
		r.publishMix(0, 75)
		r.project()
	}
	c.stop()
	running.copyOf(copied, data)
	c.start()
	stops := make(map[*rig]func() error)
	for _, r := range both {
		r.awaitReachable()
		_, stops[r] = r.followed()
		r.publishMix(1000, 75)
		r.catchUp()
	}
	ended.must(stops[ended]())
	c.stop()
	running.copyOf(data, copied)
	c.start()
	for name, r := range map[string]*rig{"under a projector": running, "before a start": ended} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			r.awaitReachable()
			if r == ended { // the other projector may have projected the rest again already
				if n := r.count("SELECT sum(messages) FROM commits"); n != 75 {
					t.Errorf("%d messages in the older copy, want 75", n)
				}
				_, stops[r] = r.followed()
			}
			r.publishMix(2000, 30)
			r.catchUp()
			r.must(stops[r]())
			r.faultless()
		})
	}
}

// One table is restored from an older copy, with its log of tokens. Each of the tables is in another
// database of one server.
func tableRestored(t *testing.T) {
	rigs := make(map[string]*rig)
	first := newClickHouseRig(t, migratedFolder(t))
	for table := range first.folders() {
		rigs[table] = first.another("ctxledger_" + table)
	}
	c, folders, before := first.clickhouse, make(map[string]string), make(map[string]uint64)
	copied := t.TempDir()
	for table, r := range rigs {
		r.publishMix(0, 75)
		r.project()
		folders[table] = r.files(table)
	}
	c.stop()
	for table, folder := range folders {
		first.copyOf(filepath.Join(copied, table), folder)
	}
	c.start()
	for table, r := range rigs {
		r.awaitReachable()
		r.publishMix(1000, 75)
		r.project()
		before[table] = r.count("SELECT count() FROM " + table)
	}
	c.stop()
	for table, folder := range folders {
		first.copyOf(folder, filepath.Join(copied, table))
	}
	c.start()
	for table, r := range rigs {
		t.Run(table, func(t *testing.T) {
			r.t = t
			r.awaitReachable()
			if after := r.count("SELECT count() FROM " + table); after >= before[table] {
				t.Errorf("%d rows became %d: the table is not older", before[table], after)
			}
			r.publishMix(2000, 15)
			p := r.projector()
			p.config.BatchMessages = 33 // another cut
			r.must(r.run(p))
			r.faultless()
		})
	}
}

// The stream is restored from an older copy, without the messages that were projected since.
// Nothing is written until the right stream is restored.
func streamRestored(t *testing.T) {
	r := newNATSRig(t, t.TempDir())
	data := filepath.Join(r.nats.dir, "nats")
	older, right := filepath.Join(t.TempDir(), "older"), filepath.Join(t.TempDir(), "right")
	exchange := func(save, load string) {
		r.nats.stop()
		r.copyOf(save, data)
		if load != "" {
			r.copyOf(data, load)
		}
		r.nats.start()
		r.await("NATS answers", r.js.Conn().IsConnected)
	}
	r.publishMix(0, 60)
	r.project()
	exchange(older, "")
	r.publishMix(1000, 60)
	p, stop := r.followed()
	r.catchUp()
	acknowledged := r.acknowledged
	r.acknowledged = make(map[uint64]string)

	exchange(right, older)
	r.await("the projector that runs has stopped", func() bool { return p.Health().State == Stopped })
	if err := stop(); !errors.Is(err, streamio.ErrStreamForked) {
		t.Errorf("it ended with %v", err)
	}
	r.refuses(streamio.ErrStreamForked, "it ends at 60, before the last commit at 120")
	r.publishMix(5000, 90) // now the copy is longer
	r.refuses(streamio.ErrStreamForked, "differ from the committed ones")

	exchange(filepath.Join(t.TempDir(), "wrong"), right)
	r.acknowledged = acknowledged
	r.publishMix(2000, 30)
	r.project()
	r.faultless()
}

// The lease entry, which is also the journal, is lost: under its holder, and after a crash in a
// range that then gets another cut.
func leaseEntryLost(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 100)
	kv, err := lease.OpenBucket(t.Context(), r.js)
	r.must(err)
	p, stop := r.followed()
	r.catchUp()
	r.must(kv.Delete(t.Context(), lease.KeyOf(schema.EventStream)))
	r.publishMix(1000, 20)
	r.await("its holder has stopped", func() bool { return p.Health().State == Stopped })
	if err := stop(); !errors.Is(err, lease.ErrLost) {
		t.Errorf("it ended with %v", err)
	}
	r.project()
	r.faultless()

	r.publishMix(2000, 100)
	last := r.count("SELECT max(last_seq) FROM commits")
	r.killed(childPoint+"="+pointWritten, childVisit+"=2")
	r.must(kv.Purge(t.Context(), lease.KeyOf(schema.EventStream)))
	p = r.projector()
	p.config.BatchMessages = 7
	r.must(r.run(p))
	r.faultless(stretch{last + 21, last + 40})
}

// The stream loses unprojected messages.
func purgedAhead(t *testing.T) {
	r := newRig(t)
	r.publishMix(0, 30)
	r.project()
	r.publishMix(100, 30)
	r.purge(45)
	r.refuses(streamio.ErrEventsExpired, "the stream no longer has sequences 31 to 44")
	r.must(r.stream().Purge(t.Context()))
	r.refuses(streamio.ErrEventsExpired, "the stream no longer has sequences 31 to 60")
	if n := r.count("SELECT count() FROM recorded_events") + r.count("SELECT count() FROM repeated_events") + r.count("SELECT count() FROM refused_events"); n != 30 {
		t.Errorf("%d messages have an outcome, want the 30 that were projected", n)
	}
}
