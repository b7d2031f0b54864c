package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

// wrongClusters adds clusters with one fault each. Shard 3 has no macro.
func wrongClusters(number int, ports []int) string {
	shards := func(hosts ...string) string {
		var list strings.Builder
		for _, h := range hosts {
			host, port, _ := strings.Cut(h, ":")
			fmt.Fprintf(&list, "<shard><replica><host>%s</host><port>%s</port></replica></shard>", host, port)
		}
		return list.String()
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	local := func(i int) string { return fmt.Sprintf("localhost:%d", ports[i]) }
	wrong := map[string]string{
		ports2:     shards(at(0), at(1)),
		"swapped":  shards(at(1), at(0)),
		"repeated": shards(at(0), at(1), at(1)),
		"same":     shards(at(0), local(0)),
		"gone":     shards(at(0), at(1), "127.0.0.1:1"),
		"unnamed":  shards(at(0), at(1), at(2)),
		"shrunk":   shards(at(0)),
		"replicas": strings.Replace(shards(at(0), at(1)), "</replica></shard><shard>", "</replica>", 1),
		"differs":  shards(at(0), at(number-1)),
	}
	var list strings.Builder
	for name, hosts := range wrong {
		fmt.Fprintf(&list, "<%s>%s</%[1]s>", name, hosts)
	}
	config := strings.Replace(embeddedtest.ShardConfig(number, ports), "</remote_servers>", list.String()+"</remote_servers>", 1)
	if number == 3 {
		before, rest, _ := strings.Cut(config, "<macros>")
		_, after, _ := strings.Cut(rest, "</macros>")
		config = before + after
	}
	return config
}

// ports2 is the cluster of the first two shards.
const ports2 = "two"

func up(t *testing.T, dsn, name string) (told []string, err error) {
	t.Helper()
	m, err := cluster.Prepare(t.Context(), dsn, name)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	err = m.Run(t.Context(), func(what string) { told = append(told, what) })
	return told, err
}

func connect(t *testing.T, dsn string) driver.Conn {
	t.Helper()
	return open(t, dsn).SQL(nil).Conn
}

func count(t *testing.T, conn driver.Conn, sql string) (n uint64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMigrateRefusesWrongClusters also finds that a refusal makes nothing on any shard.
func TestMigrateRefusesWrongClusters(t *testing.T) {
	shards := embeddedtest.NewShards(t, 3, wrongClusters)
	first, second := connect(t, shards[0].ClickHouseDSN()), connect(t, shards[1].ClickHouseDSN())
	port := func(i int) string { return strings.SplitAfter(shards[i].ClickHouseDSN(), "127.0.0.1")[1][1:6] }
	relations := "SELECT count() FROM system.tables WHERE database = currentDatabase()"
	refused := func(name string, want ...string) {
		t.Helper()
		before := count(t, first, relations)
		told, err := up(t, shards[0].ClickHouseDSN(), name)
		if err == nil {
			t.Fatalf("%s was migrated", name)
		}
		if !errors.Is(err, cluster.ErrCluster) {
			t.Errorf("%s: %v is not ErrCluster", name, err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", name, err, w)
			}
		}
		if after := count(t, first, relations); after != before || len(told) > 0 {
			t.Errorf("%s: %d tables became %d, and %q was done", name, before, after, told)
		}
	}
	refused("none", `no cluster "none"`, "shards")
	refused("swapped", "shard 1 at 127.0.0.1:"+port(1), "has the macro shard 2")
	refused("repeated", "both shard 2 and shard 3")
	refused("same", "shard 2 at localhost:"+port(0), "has the macro shard 1, as shard 1")
	refused("gone", "shard 3 at 127.0.0.1:1")
	refused("unnamed", "shard 3 at 127.0.0.1:"+port(2), "no macro shard")
	refused("replicas", "shard 1 at 127.0.0.1:"+port(0), "no macro replica")
	refused("differs", "both shard 1 and shard 2")

	if told, err := up(t, shards[1].ClickHouseDSN(), ports2); err != nil || !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "recorded the cluster two on shard 2") }) {
		t.Fatal(told, err)
	}
	if told, err := up(t, shards[0].ClickHouseDSN(), ports2); err != nil || len(told) > 0 {
		t.Fatalf("a second migration did %q: %v", told, err)
	}
	refused("shrunk", "shard 1 at 127.0.0.1:"+port(0), "the tables of shard 1 of the cluster two")

	// A host with a later version, and one with another definition.
	exec := func(sql string) {
		t.Helper()
		if err := second.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO cluster_shards SELECT 2, cluster, own, version, [1, 2, 3], ['a', 'b', 'c'], [1, 2, 3] FROM cluster_shards")
	refused(ports2, "shard 2 at 127.0.0.1:"+port(1), "knows shard 3 at c:3, which remote_servers does not have")
	exec("ALTER TABLE cluster_shards DELETE WHERE revision = 2 SETTINGS mutations_sync = 2")
	exec("INSERT INTO migrations (version, name) VALUES (9999, 'later')")
	refused(ports2, "shard 2 at 127.0.0.1:"+port(1), "change 9999")
	exec("ALTER TABLE migrations DELETE WHERE version = 9999 SETTINGS mutations_sync = 2")
	exec("ALTER TABLE events ADD COLUMN strange UInt8")
	if _, err := up(t, shards[0].ClickHouseDSN(), ports2); err == nil || !strings.Contains(err.Error(), "has another definition of events than shard 1") {
		t.Error(err)
	}
}

// TestShardsHaveWhatAPlainLedgerHas compares the tables and views of a shard with those of a plain
// ledger of the same server.
func TestShardsHaveWhatAPlainLedgerHas(t *testing.T) {
	shards := embeddedtest.NewShards(t, 2, nil)
	if _, err := up(t, shards[0].ClickHouseDSN(), embeddedtest.ClusterName); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, shards[1].ClickHouseDSN())
	if err := conn.Exec(t.Context(), "CREATE DATABASE ctxledger_plain"); err != nil {
		t.Fatal(err)
	}
	dsn := shards[1].ClickHouseDSN() + "_plain"
	plain := open(t, dsn)
	if _, err := migrate.Up(t.Context(), plain.SQL(nil).Conn); err != nil {
		t.Fatal(err)
	}
	var only []string
	if err := conn.QueryRow(t.Context(), `SELECT groupArray(name || ' ' || text) FROM
		(SELECT name, replaceAll(create_table_query, 'ctxledger_plain.', 'ctxledger.') AS text FROM system.tables
		 WHERE database IN ('ctxledger', 'ctxledger_plain') AND name NOT IN ('cluster_shards', 'cluster_moves') GROUP BY ALL HAVING count() != 2)`).Scan(&only); err != nil {
		t.Fatal(err)
	}
	if len(only) > 0 {
		t.Errorf("these differ: %q", only)
	}
	if m, err := cluster.Of(t.Context(), plain); m != nil || err != nil {
		t.Errorf("a plain ledger is of the cluster %+v: %v", m, err)
	}
	m, err := cluster.Of(t.Context(), open(t, shards[1].ReaderDSN()))
	if err != nil || m.Own != 2 || len(m.Shards) != 2 || m.Cluster != embeddedtest.ClusterName {
		t.Errorf("shard 2 is of %+v: %v", m, err)
	}
}

func open(t *testing.T, dsn string) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
