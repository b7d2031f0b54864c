package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// An installation is a node's ClickHouse with projected facts of two tenants.
type installation struct {
	node
	servers *embeddedtest.Servers
	host    string
}

// install runs the engine with all files of a node except users.d/production.xml, which removes
// the user of `clickhouse local`. The engine ignores the ports and logs of
// config.d/production.xml. The function sets the environment. A change is made in each file.
func install(t testing.TB, change ...string) *installation {
	t.Helper()
	in := &installation{node: write(t, deploy.ClickHouse())}
	for variable, hash := range in.variables(t, "clickhouse-server") {
		t.Setenv(variable, hash)
	}
	dir := t.TempDir()
	for _, name := range []string{"users.d/tenants.xml", "config.d/production.xml"} {
		path := filepath.Join(dir, "clickhouse", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(change...).Replace(in.text(t, "clickhouse/"+name))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in.servers = embeddedtest.Start(t, func(c *embedded.Config) { c.Dir, c.SyncAlways = dir, true })
	u, err := url.Parse(in.servers.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	in.host = u.Host
	return in
}

func (in *installation) open(t testing.TB, dsn string) clickhouse.Conn {
	t.Helper()
	return embeddedtest.Connect(t, dsn)
}

// project migrates the tables, projects a few events of each tenant and more, and makes the databases
// of the readers, as the writer.
func (in *installation) project(t *testing.T, more ...*schema.Event) {
	t.Helper()
	nc, err := nats.Connect(in.servers.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), in.servers.ClickHouseDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := shadow.Of(l).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := 0
	publish := func(m schema.Message) {
		header := nats.Header(m.Header)
		header.Del(schema.MsgIDHeader)
		if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tenant := range tenants {
		for i, kind := range schema.Types() {
			e, err := schema.ParseStructured(schema.Golden(kind))
			if err != nil {
				t.Fatal(err)
			}
			e.Correlation.Tenant, e.Source = tenant, "urn:test:"+tenant
			publish(e.Binary())
			events++
			if i == 0 {
				publish(e.Binary()) // a duplicate
				refused := e.Binary()
				refused.Data = refused.Data[1:]
				publish(refused)
			}
		}
	}
	for _, e := range more {
		publish(e.Binary())
		events++
	}
	c := projector.DefaultConfig(js, l)
	c.UntilCaughtUp = true
	p, err := projector.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.Events != uint64(events) || s.Quarantined != uint64(len(tenants)) || s.Duplicates != uint64(len(tenants)) {
		t.Fatalf("projected %+v of %d events", s, events)
	}
	if made, err := shadow.Of(l).Readers(t.Context(), tenants...); err != nil || len(made) != len(tenants) {
		t.Fatalf("made the databases %q: %v", made, err)
	}
}

// list returns a query's only column.
func list(t *testing.T, conn clickhouse.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	var values []string
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return values
}

func count(t *testing.T, conn clickhouse.Conn, from string) (n uint64) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT count() FROM "+from).Scan(&n); err != nil {
		t.Errorf("%s: %v", from, err)
	}
	return n
}

// refused checks that the server refuses a statement.
func refused(t *testing.T, conn clickhouse.Conn, sql string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err == nil {
		for rows.Next() {
		}
		err = rows.Err()
		rows.Close()
	}
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) {
		t.Errorf("%s: not refused by the server: %v", sql, err)
	}
}

func TestClickHouse(t *testing.T) {
	in := install(t)
	in.project(t)
	writer := in.open(t, in.servers.ClickHouseDSN())
	reader := in.open(t, in.servers.ReaderDSN())
	acme := in.open(t, in.address(t, "clickhouse-reader-acme", in.host))
	relations := list(t, writer, "SELECT name FROM system.tables WHERE database = 'ctxledger' AND empty(parameterized_view_parameters) ORDER BY name")
	views := list(t, writer, "SELECT name FROM system.tables WHERE database = 'ctxledger' AND engine = 'View'")
	withTenant := list(t, writer, "SELECT table FROM system.columns WHERE database = 'ctxledger' AND name = 'tenant' AND table != 'log_hashes'") // log_hashes is the log of all tenants

	t.Run("settings", func(t *testing.T) {
		for sql, want := range map[string]string{
			"SELECT value FROM system.merge_tree_settings WHERE name = 'fsync_after_insert'":           "1",
			"SELECT value FROM system.merge_tree_settings WHERE name = 'fsync_part_directory'":         "1",
			"SELECT value FROM system.merge_tree_settings WHERE name = 'old_parts_lifetime'":           "480",
			"SELECT value FROM system.merge_tree_settings WHERE name = 'parts_to_throw_insert'":        "1000",
			"SELECT value FROM system.server_settings WHERE name = 'max_concurrent_queries'":           "100",
			"SELECT value FROM system.server_settings WHERE name = 'mark_cache_size'":                  "268435456",
			"SELECT value FROM system.settings WHERE name = 'async_insert'":                            "0",
			"SELECT toString(apply_to_list) FROM system.quotas WHERE name = 'reader'":                  "['reader','reader_acme','reader_zeta-2']",
			"SELECT toString(max_execution_time) FROM system.quota_limits WHERE quota_name = 'reader'": "3600",
			"SELECT toString(countDistinct(storage)) FROM system.users":                                "1",
			"SELECT toString(count()) FROM system.row_policies WHERE short_name = 'rows_acme'":         fmt.Sprint(len(withTenant) - countOf(withTenant, views)),
		} {
			if got := list(t, writer, sql); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %v, not %s", sql, got, want)
			}
		}
		refused(t, writer, "SELECT 1 SETTINGS async_insert = 1")
	})
	t.Run("reader", func(t *testing.T) {
		for _, relation := range relations {
			count(t, reader, relation)
		}
		for _, sql := range []string{
			"INSERT INTO events (tenant) VALUES ('x')", "DROP TABLE events", "TRUNCATE TABLE events", "ALTER TABLE events DELETE WHERE 1",
			"CREATE TABLE other (a UInt8) ENGINE = Memory", "OPTIMIZE TABLE events", "KILL QUERY WHERE 1", "SYSTEM SHUTDOWN",
			"SELECT name FROM system.users", "SELECT query FROM system.processes", "SELECT * FROM file('/etc/passwd', 'LineAsString')",
			"SELECT * FROM url('http://127.0.0.1:1/', 'LineAsString')", "SELECT 1 SETTINGS readonly = 0",
			"SELECT 1 SETTINGS max_execution_time = 0", "SELECT 1 SETTINGS max_execution_time = 601",
			"SELECT 1 SETTINGS max_memory_usage = 0", "SELECT 1 SETTINGS max_memory_usage = 3000000000", "SELECT 1 SETTINGS max_result_rows = 0",
			"SELECT 1 SETTINGS max_memory_usage_for_user = 0", "SELECT 1 SETTINGS max_concurrent_queries_for_user = 0",
			"SELECT number FROM numbers(1000001)",                                                    // rows
			"SELECT uniqExact(number) FROM numbers(100000000) SETTINGS max_memory_usage = 100000000", // memory
			"SELECT sum(sipHash64(number)) FROM system.numbers SETTINGS max_execution_time = 1",      // time
		} {
			refused(t, reader, sql)
		}
	})
	t.Run("tenant", func(t *testing.T) {
		seen := 0
		for _, relation := range list(t, writer, "SELECT name FROM system.tables WHERE database = 'ctxledger_of_acme'") {
			own := count(t, acme, relation) // if the server refuses, add what it needs to tenantTables or tenantViews
			if !slices.Contains(withTenant, relation) {
				continue
			}
			if want := count(t, reader, relation+" FINAL WHERE tenant = 'acme'"); own != want {
				t.Errorf("the reader of acme sees %d rows of %s, not %d", own, relation, want)
			}
			if n := count(t, acme, relation+" WHERE tenant != 'acme'"); n > 0 {
				t.Errorf("the reader of acme sees %d rows of others in %s", n, relation)
			}
			if own > 0 && count(t, reader, relation+" FINAL") >= 2*own {
				seen++
			}
		}
		if seen < 30 {
			t.Errorf("%d relations hold rows of both tenants", seen)
		}
		for _, v := range migrate.Views() {
			if own := count(t, acme, v.Name); strings.HasPrefix(v.Name, "check_") && own != count(t, reader, v.Name+"_of(tenant = 'acme')") {
				t.Errorf("the reader of acme sees %d rows of %s", own, v.Name)
			}
		}
		var events uint64
		if err := acme.QueryRow(t.Context(), "SELECT events FROM ledger_head").Scan(&events); err != nil || events != count(t, acme, "events") {
			t.Errorf("ledger_head counts %d events: %v", events, err)
		}
	})
}

func countOf(list, of []string) (n int) {
	for _, v := range list {
		if slices.Contains(of, v) {
			n++
		}
	}
	return n
}
