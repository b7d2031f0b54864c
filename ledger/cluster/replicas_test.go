package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
)

// replicaClusters has clusters of three servers of shard 1. Their macros replica are a, b and a.
func replicaClusters(number int, ports []int) string {
	replica := func(ports ...int) (list string) {
		for _, port := range ports {
			list += fmt.Sprintf("<replica><host>127.0.0.1</host><port>%d</port></replica>", port)
		}
		return "<shard>" + list + "</shard>"
	}
	return fmt.Sprintf(`<clickhouse><remote_servers>
		<pair>%s</pair> <equal>%s</equal> <mixed>%s</mixed> <gone>%s</gone> <twice>%s</twice> <alone>%s</alone> <lists>%s</lists>
	</remote_servers><macros><shard>1</shard><replica>%s</replica></macros></clickhouse>`,
		replica(ports[0], ports[1]), replica(ports[0], ports[2]), replica(ports[0], ports[1])+replica(ports[2]), replica(ports[0], 1),
		replica(ports[0], ports[0]), replica(ports[0]), replica(ports[0], ports[number%3]), string("aba"[number-1]))
}

// TestMigrateRefusesWrongReplicas also finds that a refusal makes nothing on any server. The engine of the
// tests has no Keeper, so the right cluster is refused too, last of all.
func TestMigrateRefusesWrongReplicas(t *testing.T) {
	t.Parallel()
	servers := embeddedtest.NewShards(t, 3, replicaClusters)
	relations := func() (all uint64) {
		for _, s := range servers {
			all += count(t, connect(t, s.ClickHouseDSN()), "SELECT count() FROM system.tables WHERE database = currentDatabase()")
		}
		return all
	}
	at := func(i int) string {
		_, rest, _ := strings.Cut(servers[i].ClickHouseDSN(), "127.0.0.1")
		port, _, _ := strings.Cut(rest, "/")
		return "127.0.0.1" + port
	}
	refused := func(name string, want ...string) {
		t.Helper()
		before := relations()
		told, err := up(t, servers[0].ClickHouseDSN(), name)
		if !errors.Is(err, cluster.ErrCluster) {
			t.Fatalf("%s: %v", name, err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", name, err, w)
			}
		}
		if after := relations(); after != before || len(told) > 0 {
			t.Errorf("%s: %d tables became %d, and %q was done", name, before, after, told)
		}
	}
	refused("equal", "shard 1 at "+at(2)+" has the macro replica a, as shard 1 at "+at(0))
	refused("mixed", "shard 1 at "+at(0)+" and "+at(1)+" is on 2 servers and shard 2 at "+at(2)+" on 1")
	refused("gone", "shard 1 at 127.0.0.1:1", "connection refused")
	refused("twice", at(0)+" is both shard 1 and shard 1")
	refused("lists", "shard 1 at "+at(1)+" has another list of shards")
	refused("pair", "shard 1 at "+at(0)+" has no ClickHouse Keeper")
	if _, err := up(t, servers[0].ClickHouseDSN(), "alone"); err != nil {
		t.Fatal(err)
	}
	refused("pair", "shard 1 at "+at(0)+" has the table calls, which is not replicated")
	answersWithoutOneReplica(t, servers[0], at(0))
}

// answersWithoutOneReplica records a server as the second replica of its shard. The first one is down. The
// tables stay plain, so that an insert waits for no other server.
func answersWithoutOneReplica(t *testing.T, server *embeddedtest.Servers, at string) {
	t.Helper()
	_, port, _ := strings.Cut(at, ":")
	record := "INSERT INTO cluster_shards SELECT revision + 1, cluster, own, version, [1, 1], ['127.0.0.1', '127.0.0.1'], [1, " + port + "] FROM cluster_shards ORDER BY revision DESC LIMIT 1"
	if err := connect(t, server.ClickHouseDSN()).Exec(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	m, err := cluster.Of(t.Context(), open(t, server.ClickHouseDSN()))
	if err != nil || len(m.Shards) != 1 || !m.Replicated() {
		t.Fatalf("the server is of %+v: %v", m, err)
	}
	for dsn, writes := range map[string]bool{server.ClickHouseDSN(): true, server.ReaderDSN(): false} {
		all, err := cluster.Open(t.Context(), dsn, *m)
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		if _, err := all.Layout(t.Context()); err != nil || ledger.Replicated(all.Of(1)) != writes {
			t.Errorf("the shard writes: %v, want %v; %v", !writes, writes, err)
		}
		if !writes {
			continue
		}
		if err := ledger.PingReplicas(t.Context(), all.Of(1)); err == nil || !strings.Contains(err.Error(), "replica 127.0.0.1:1: ") {
			t.Errorf("a replica that is down answers: %v", err)
		}
		incarnation := uuid.New()
		if err := all.Of(1).KillInserts(t.Context(), incarnation); err == nil || !strings.Contains(err.Error(), "replica 127.0.0.1:1: ") {
			t.Errorf("a take-over went on without a replica: %v", err)
		}
		batch := &ledger.Batch{Range: ledger.Range{Incarnation: incarnation, First: 1, Last: 1, Messages: 1, RecordedAt: time.Now()}}
		if err := all.Of(1).Write(t.Context(), batch, 1); err != nil {
			t.Error(err)
		}
		if _, found, err := all.Of(1).LastCommit(t.Context(), incarnation); err != nil || !found {
			t.Errorf("the commit is there: %v, %v", found, err)
		}
	}
}
