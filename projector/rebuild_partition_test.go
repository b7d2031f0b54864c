package projector

import (
	"fmt"
	"testing"

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
