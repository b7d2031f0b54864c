package ask_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/queries"
)

// tenantUsers returns the users of tenants, whose password is "reader".
func tenantUsers(t *testing.T, tenants ...string) map[string]string {
	t.Helper()
	const name = "users.d/tenants.xml"
	list, err := deploy.ClickHouse().Files(tenants...)
	at := slices.IndexFunc(list, func(f deploy.File) bool { return f.Path == "clickhouse/"+name })
	if err != nil || at < 0 {
		t.Fatal(list, err)
	}
	sum := sha256.Sum256([]byte("reader"))
	hashed := regexp.MustCompile(`<password_sha256_hex from_env="\w+"/>`)
	return map[string]string{name: hashed.ReplaceAllString(list[at].Text, "<password_sha256_hex>"+hex.EncodeToString(sum[:])+"</password_sha256_hex>")}
}

// TestReadersOnACluster: the reader of a tenant gets whole answers from the address of any shard, with the rows
// of its tenant only.
func TestReadersOnACluster(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	r := &shardRig{shardtest.NewRigOf(t, embeddedtest.NewShards(t, 2, nil, tenantUsers(t, "acme", "globex")))}
	r.Must("migrate", "--partitions", "4", "--reader", "acme") // one server that becomes a shard
	migrate := []string{"migrate", "--cluster", embeddedtest.ClusterName}
	if stdout, stderr, code := r.Run(append(migrate, "--reader", "acme", "--reader", "unknown")...); code != cli.ExitUsage || stdout != "" ||
		!strings.Contains(stderr, "nothing was changed: shard 1 at ") || !strings.Contains(stderr, "--tenant unknown") {
		t.Errorf("migrate for an unknown tenant ended with %d: %s%s", code, stdout, stderr)
	}
	if out := r.Must(append(migrate, "--reader", "globex")...); strings.Count(out, "made the database ctxledger_of_acme on shard ") != 2 ||
		strings.Count(out, "made the database ctxledger_of_globex on shard ") != 2 {
		t.Errorf("migrate printed %s", out)
	}
	if out := r.Must(migrate...); out != "everything is up to date\n" {
		t.Errorf("a second migrate printed %s", out)
	}
	r.Must("bench", "seed", "--events", "2500", "--days", "20", "--tenants", "2", "--seed", "13") // both have sessions on both shards
	r.Must("project", "--until-caught-up")
	r.ProjectPlain()
	var readers []*cluster.Ledgers
	for i := range r.Shards {
		readers = append(readers, openShards(t, r.reader(i)))
	}
	for i, l := range readers[0].All() {
		if n, _ := shardtest.Digests(t, []*ledger.Ledger{l}, "recorded_events"); n < 100 {
			t.Errorf("shard %d has only %d events of the tenant", i+1, n)
		}
	}
	places := slices.DeleteFunc(r.Places(r.Ledgers(), 2), func(p shardtest.Place) bool { return r.tenantOf(p) != "acme" })
	answered := 0
	for i, q := range queries.All() {
		how, _ := q.Merge()
		asked := shardtest.Questions(q, how)
		for _, p := range places {
			if given, ok := shardtest.QuestionOf(q, p); ok {
				asked = append(asked, given)
			}
		}
		rows := int64(0)
		for j, given := range asked {
			if given == nil {
				given = make(map[string]string)
			}
			if shardtest.Has(q, "tenant") {
				given["tenant"] = "acme"
			}
			if rows == 0 {
				rows = r.Same(readers[(i+j)%2], q, given)
			}
		}
		if rows > 0 {
			answered++
		}
	}
	if answered < 35 {
		t.Errorf("only %d queries have rows", answered)
	}
	r.attacksAsReader()
	all, reads := r.Ledgers(), 0
	err := readers[0].Settled(t.Context(), func() error {
		if reads++; reads > 1 {
			return nil
		}
		return errors.Join(all.BeginMove(t.Context(), 1, 2, 1), all.EndMove(t.Context(), 1, 2, 1))
	})
	if err != nil || reads != 2 {
		t.Errorf("the reader read %d times around a move: %v", reads, err)
	}
	address := r.served(r.reader(1))
	session := url.PathEscape(places[0].Session)
	for _, path := range []string{"", "q/sessions?run=1", "q/checks?run=1", "s/" + session, "c/" + url.PathEscape(places[0].Call) + "?session=" + session} {
		if got, text := clitest.Get(t, address+path); got.StatusCode != http.StatusOK || others.MatchString(text) {
			t.Errorf("the page %s of the reader is %d: %.3000s", path, got.StatusCode, text)
		}
	}
}

// others matches the other tenant.
var others = regexp.MustCompile(`globex`)

// reader returns the address of the reader of acme on a shard.
func (r *shardRig) reader(shard int) string {
	r.T.Helper()
	u, err := url.Parse(r.Shards[shard].ClickHouseDSN())
	if err != nil {
		r.T.Fatal(err)
	}
	u.User, u.Path = url.UserPassword("reader_acme", "reader"), "/ctxledger_of_acme"
	return u.String()
}

// tenantOf returns the tenant of a session.
func (r *shardRig) tenantOf(p shardtest.Place) (tenant string) {
	r.T.Helper()
	if err := r.Plain.SQL(nil).Conn.QueryRow(r.T.Context(), "SELECT min(tenant) FROM events WHERE session_id = $1", p.Session).Scan(&tenant); err != nil {
		r.T.Fatal(err)
	}
	return tenant
}

// openShards opens all shards from the address of one.
func openShards(t *testing.T, dsn string) *cluster.Ledgers {
	t.Helper()
	plain, all, err := cli.OpenEither(t.Context(), dsn)
	if err != nil || plain != nil {
		t.Fatal("one shard was taken for all: ", plain, err)
	}
	t.Cleanup(func() { all.Close() })
	return all
}

// attacksAsReader tries to reach the rows of others by the cluster. The server refuses all, and no answer has
// the name of another tenant.
func (r *shardRig) attacksAsReader() {
	r.T.Helper()
	for i := range r.Shards {
		l, err := ledger.Open(r.T.Context(), r.reader(i))
		if err != nil {
			r.T.Fatal(err)
		}
		defer l.Close()
		other := "127.0.0.1:" + portOf(r.T, r.Shards[1-i].ClickHouseDSN())
		for _, sql := range []string{
			"SELECT tenant FROM cluster('shards', ctxledger.events)", "SELECT tenant FROM clusterAllReplicas('shards', 'ctxledger', 'events')",
			"SELECT tenant FROM cluster('shards', view(SELECT tenant FROM ctxledger.events))", "SELECT tenant FROM cluster('shards', 'ctxledger_of_acme', 'events')",
			"SELECT tenant FROM remote('" + other + "', ctxledger.events, 'ctxledger', 'writer')", "SELECT tenant FROM remote('" + other + "', ctxledger_of_globex.events)",
			"CREATE TABLE d AS events ENGINE = Distributed('shards', 'ctxledger', 'events')", "SELECT * FROM ctxledger.cluster_shards", "SELECT * FROM ctxledger.cluster_moves",
			"SELECT * FROM system.clusters", "SELECT tenant FROM ctxledger_all.events", "SELECT tenant FROM ctxledger_all.model_calls", "SELECT * FROM system.macros", "SELECT * FROM ctxledger.scopes",
			"INSERT INTO cluster_moves VALUES (1, 1, 1, 2, true)", "INSERT INTO cluster_shards (revision) VALUES (9)", "ALTER VIEW cluster_moves AS SELECT 1", "SYSTEM STOP DISTRIBUTED SENDS",
			"SELECT _part FROM cluster_shards", "SELECT * FROM cluster_moves PREWHERE 1",
		} {
			if rows, err := l.SQL(nil).Conn.Query(r.T.Context(), sql); err == nil {
				for rows.Next() {
				}
				if rows.Err() == nil {
					r.T.Errorf("shard %d does not refuse %s", i+1, sql)
				}
				rows.Close()
			}
		}
		for _, table := range []string{"events", "recorded_events", "scopes", "items", "check_references_elsewhere"} {
			var found []string
			if err := l.SQL(nil).Conn.QueryRow(r.T.Context(), "SELECT groupUniqArray(tenant) FROM "+table+" WHERE tenant != 'acme'").Scan(&found); err != nil || len(found) > 0 {
				r.T.Errorf("shard %d tells %v of %s: %v", i+1, found, table, err)
			}
		}
		for _, args := range [][]string{
			{"query", "sessions", "--param", "limit=1000", "-o", "csv"}, {"query", "event-types", "-o", "csv"}, {"query", "checks", "-o", "csv"}, {"window", "--last"},
			{"query", "--sql", "SELECT tenant, count() FROM events GROUP BY tenant", "-o", "csv"},
			{"query", "--sql", "SELECT * FROM cluster_moves", "-o", "csv"},
		} {
			stdout, stderr, code := r.RunOn(r.reader(i), args...)
			if code != cli.ExitDone || others.MatchString(stdout) {
				r.T.Errorf("%v as the reader on shard %d ended with %d: %s%s", args, i+1, code, stdout, stderr)
			}
		}
	}
}

// portOf returns the port of an address.
func portOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
