package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// TestAllWaitsForNoQuery makes the database of all shards again while a query reads it for a minute.
func TestAllWaitsForNoQuery(t *testing.T) {
	t.Parallel()
	h := &host{replicas: 1, dsn: embeddedtest.NewShards(t, 1, nil)[0].ClickHouseDSN(), database: "ctxledger"}
	if err := h.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.ledger.Close()
	conn := h.ledger.SQL(files).Conn
	makeAll := func() {
		t.Helper()
		if made, err := h.makeAll(t.Context(), embeddedtest.ClusterName); err != nil || !made {
			t.Fatalf("made: %v, %v", made, err)
		}
	}
	exec := func(sql string) {
		t.Helper()
		if err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE facts (tenant UInt8) ENGINE = MergeTree ORDER BY tenant")
	exec("INSERT INTO facts SELECT number FROM numbers(60)")
	makeAll()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		ended <- conn.Exec(ctx, "SELECT sleepEachRow(1) FROM ctxledger_all.facts FORMAT Null SETTINGS function_sleep_max_microseconds_per_block = 60000000")
	}()
	for running := uint64(0); running == 0; time.Sleep(10 * time.Millisecond) {
		if len(ended) > 0 {
			t.Fatal(<-ended)
		}
		if err := conn.QueryRow(t.Context(), "SELECT count() FROM system.processes WHERE startsWith(query, 'SELECT sleepEachRow')").Scan(&running); err != nil {
			t.Fatal(err)
		}
	}
	exec("ALTER DATABASE ctxledger_all MODIFY COMMENT '" + allMark + "of an earlier version'")
	makeAll()
	select {
	case err := <-ended:
		t.Errorf("the query ended: %v", err)
	default:
	}
	cancel()
	<-ended
}
