package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger/migrate"
)

func TestFactsOfServersMustFit(t *testing.T) {
	t.Parallel()
	server := func(shard uint32, name, version string, macros ...string) *host {
		h := &host{at: Server{shard, name, 9000}, replicas: 2, facts: serverFacts{version: version}}
		for i, into := range []**string{&h.facts.shard, &h.facts.replica} {
			if i < len(macros) {
				*into = &macros[i]
			}
		}
		return h
	}
	others := []*host{server(1, "a", "26.7", "1", "r1"), server(1, "b", "26.7", "1", "r2"), server(2, "c", "26.7", "2", "r1")}
	for _, test := range []struct {
		own  *host
		says string
	}{
		{server(2, "d", "26.7", "2", "r2"), ""},
		{server(2, "d", "26.6", "2", "r2"), "is ClickHouse 26.6, and shard 1 at a:9000 is ClickHouse 26.7"},
		{server(2, "d", "26.7", "2", "r1"), "has the macro replica r1, as shard 2 at c:9000 has"},
		{server(2, "d", "26.7", "2"), "no macro replica"},
		{server(2, "d", "26.7", "2", ""), "no macro replica"},
		{server(2, "d", "26.7"), "no macro shard"},
		{server(2, "d", "26.7", "1", "r2"), "has the macro shard 1, as shard 1 at a:9000 has"},
		{server(3, "d", "26.7", "4", "r2"), "has the macro shard 4, and remote_servers has it as 3"},
		{server(3, "d", "26.7", "x", "r2"), "has the macro shard x"},
	} {
		err := test.own.checkFacts(others)
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v, want %q", err, test.says)
		}
	}
}

// TestReplicatedTablesOfTheClusterAreValid makes the tables of this package. The engine accepts them as
// replicated ones, up to the missing Keeper.
func TestReplicatedTablesOfTheClusterAreValid(t *testing.T) {
	t.Parallel()
	h := &host{at: Server{1, "localhost", 9000}, replicas: 1, dsn: embeddedtest.ClickHouse(t).ClickHouseDSN(), database: "db"}
	if err := h.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.ledger.Close()
	for name, table := range tableNames {
		if err := h.createTable(t.Context(), name, "shop"); err != nil {
			t.Error(err)
		}
		made, err := migrate.Replicated(h.ledger.SQL(files).Text(name), migrate.KeeperPath("shop", "db", table))
		if err != nil {
			t.Fatal(err)
		}
		made = strings.NewReplacer("{shard}", "1", "{replica}", "a", "EXISTS "+table, "EXISTS r_"+table).Replace(made)
		var server *clickhouse.Exception
		if err := h.ledger.SQL(files).Conn.Exec(t.Context(), made); !errors.As(err, &server) || server.Code != 225 {
			t.Errorf("%s: %v", table, err)
		}
	}
	if _, err := migrate.Up(t.Context(), h.ledger.SQL(files).Conn); err != nil {
		t.Fatal(err)
	}
	if err := h.await(t.Context(), 0); err != nil {
		t.Error(err)
	}
	exec := func(sql string) {
		t.Helper()
		if err := h.ledger.SQL(files).Conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("SYSTEM STOP MERGES prices")
	exec("INSERT INTO prices (model) VALUES ('m')")
	exec("ALTER TABLE prices UPDATE source = 'x' WHERE 1 SETTINGS mutations_sync = 0")
	if err := h.await(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "the table prices is not finished: mutation ") {
		t.Error(err)
	}
	exec("SYSTEM START MERGES prices")
	if err := h.await(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
}

func TestAShardOfReplicasIsOneShard(t *testing.T) {
	t.Parallel()
	shards := group([]Server{{1, "a", 1}, {1, "b", 1}, {2, "c", 1}, {2, "d", 2}})
	if len(shards) != 2 || shards[0].String() != "shard 1 at a:1 and b:1" || shards[1].Servers[1].Port != 2 || !replicated(shards) {
		t.Errorf("%v", shards)
	}
	if replicated(group([]Server{{1, "a", 1}, {2, "b", 1}})) {
		t.Error("shards of one server each have replicas")
	}
}
