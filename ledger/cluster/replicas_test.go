package cluster_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
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
}
