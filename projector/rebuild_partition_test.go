package projector

import (
	"fmt"
	"testing"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/schema"
)

// TestRebuildOfTwoPartitions rebuilds two streams while a fleet projects. The rebuild runs once
// with a kill in the swap, with both leases, and once without. Every row must be the same.
func TestRebuildOfTwoPartitions(t *testing.T) {
	t.Parallel()
	const sessions = 6
	n := schema.Partitions(2)
	f := newFleetFixture(t, n)
	publish := func(first, count int) {
		t.Helper()
		for s := range sessions {
			f.publishTo(fmt.Sprint("session-", s), first, count)
		}
		f.flush()
	}
	publish(0, 20)
	stop := f.start(f.fleet("live", n))
	f.awaitAll(n)
	if streams := f.count("SELECT uniqExact(incarnation) FROM events"); streams != 2 {
		t.Fatalf("the events are of %d streams", streams)
	}
	before := f.tablesByID()
	cmd := f.child(childPoint+"=exchanged", childVisit+"=3", childRebuild+"=1")
	if err := cmd.Run(); exitCode(err) != -1 {
		t.Fatalf("the child was not killed: %v", err)
	}
	publish(20, 10)
	f.awaitAll(n) // the fleet has its leases again and has finished the swap
	f.exactly(sessions, 30)
	if f.tablesByID()["events"] == before["events"] || f.tablesByID()["replays"] == before["replays"] || f.leftovers() > 0 {
		t.Errorf("the swap is not finished: %d tables are left", f.leftovers())
	}

	looked := 0
	r := f.rebuild()
	r.Steps = atEach(func(point string) {
		if point == pointCompared {
			looked = f.sameRows()
			publish(30, 5)
		}
	})
	got := f.rebuilt(r)
	if !got.Swapped || len(got.From) != 2 || len(got.Compared.Differences) > 0 || looked != got.Compared.Tables || got.Messages < sessions*30 {
		t.Errorf("rebuilt %+v, looked at %d tables", got, looked)
	}
	publish(35, 5)
	f.awaitAll(n)
	if err := stop(); err != nil {
		t.Error(err)
	}
	f.exactly(sessions, 40)
}

// TestErasureWhoseFactHasLeft: the fact of an erasure is in one stream, and the messages that it names
// were in another one. A retention removes the fact's message, and a rebuild still gets the leaves.
func TestErasureWhoseFactHasLeft(t *testing.T) {
	t.Parallel()
	const n = schema.Partitions(2)
	f := newFleetFixture(t, n)
	place := func(session string) int {
		return n.Of(schema.Subject{Tenant: "t", Runtime: "r", Bucket: schema.Bucket(session), Object: "o", Verb: "v"}.String())
	}
	home := place("") // of the fact, which names no session
	var elsewhere []string
	for i := 0; len(elsewhere) < 2; i++ {
		if session := fmt.Sprint("session-", i); place(session) != home {
			elsewhere = append(elsewhere, session)
		}
	}
	erased, kept := elsewhere[0], elsewhere[1]
	stop := f.start(f.fleet("live", n))
	f.publishTo(kept, 0, 10)
	f.awaitAll(n)
	f.publishTo(kept, 10, 5)
	f.publishTo(erased, 0, 5)
	f.awaitAll(n)
	e := f.erasure()
	var err error
	e.Subject, err = ledger.ParseSubject("session:" + erased)
	f.must(err)
	_, err = e.Run(t.Context())
	f.must(err)
	for round := range 3 { // the fact is below the last commit
		f.publishTo(sessionsOf(n)[home], 10*round, 10)
		f.awaitAll(n)
	}
	f.must(retention.WritePolicy(t.Context(), f.leases(), everything))
	done, err := f.retention().Run(t.Context())
	f.must(err)
	if done.Streams[home].Lasting != 1 || done.Streams[home].Messages == 0 {
		t.Fatalf("the fact has not left: %+v", done)
	}
	f.must(stop())
	r := f.rebuild()
	r.CompareOnly = true
	f.rebuilt(r)
	if left := f.count("SELECT uniqExact(hash) FROM log_hashes"); left < 50 {
		t.Errorf("the log has %d leaves", left)
	}
}
