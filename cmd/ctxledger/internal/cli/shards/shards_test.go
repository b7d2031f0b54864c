package shards_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// shardRig is a cluster of ClickHouse servers with a NATS server, and a plain ledger next to it.
type shardRig struct {
	t      *testing.T
	js     jetstream.JetStream
	shards []*embeddedtest.Servers
	nats   string
	plain  *ledger.Ledger // has nothing until projectPlain
	dsn    string         // of plain
	http   string         // of plain
	data   string         // folder of the keys
}

func newShardRig(t *testing.T, n int) *shardRig {
	t.Helper()
	clitest.NeedEngine(t)
	return newShardRigOf(t, embeddedtest.NewShards(t, n, nil))
}

// newShardRigOf is newShardRig with these servers.
func newShardRigOf(t *testing.T, shards []*embeddedtest.Servers) *shardRig {
	t.Helper()
	r := &shardRig{t: t, shards: shards, nats: embeddedtest.NATS(t).NATSURL(), data: t.TempDir()}
	nc, err := nats.Connect(r.nats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if r.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	plain := embeddedtest.ClickHouse(t)
	r.dsn, r.http = plain.ClickHouseDSN(), plain.HTTPURL()
	if r.plain, err = ledger.Open(t.Context(), r.dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.plain.Close() })
	return r
}

// command returns a command with the address of the first shard.
func (r *shardRig) command(args ...string) *clitest.Program {
	p := clitest.Command(append(args, "--data", r.data)...)
	p.Env = append(os.Environ(), "CTXLEDGER_NATS_URL="+r.nats, "CTXLEDGER_CLICKHOUSE_DSN="+r.shards[0].ClickHouseDSN())
	return p
}

// run runs a command with the address of the first shard.
func (r *shardRig) run(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	return r.runOn(r.shards[0].ClickHouseDSN(), args...)
}

// runOn runs a command in this process, with the address of a ClickHouse server. The addresses are in a
// file, because arguments must not have passwords.
func (r *shardRig) runOn(dsn string, args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	settings := filepath.Join(r.t.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "nats: %q\nclickhouse: %q\n", r.nats, dsn), 0o600); err != nil {
		r.t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = clitest.RunContext(ctx, append(slices.Clone(args), "--data", r.data, "--config", settings), strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

func (r *shardRig) must(args ...string) string {
	r.t.Helper()
	stdout, stderr, code := r.run(args...)
	if code != cli.ExitDone {
		r.t.Fatalf("%v ended with %d: %s", args, code, stderr)
	}
	return stdout
}

// projecting begins project, and returns once it has projected a message of each of four streams. Each is
// quarantined.
func (r *shardRig) projecting() *clitest.Program {
	r.t.Helper()
	project := r.command("project").Begin(r.t)
	for _, bucket := range []string{"p00", "p40", "p8a", "pff"} {
		if _, err := r.js.Publish(r.t.Context(), "ctx.v1.acme.unnamed."+bucket+".log.appended", []byte("{")); err != nil {
			r.t.Fatal(err)
		}
	}
	m, err := shardmap.Read(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	last, err := streamio.ReadLastSequences(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	if level, err := m.AwaitCommit(r.t.Context(), r.js, r.ledgers(), last, 2*time.Minute); err != nil || slices.Contains(level, false) {
		r.t.Fatalf("the shards are level with their streams: %v %v", level, err)
	}
	return project
}

// projectPlain projects the same streams into the plain ledger.
func (r *shardRig) projectPlain(n schema.Partitions) {
	r.t.Helper()
	if _, err := shadow.Of(r.plain).Migrate(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	c := projector.DefaultConfig(r.js, r.plain)
	c.UntilCaughtUp = true
	ring, err := cli.RingIn(r.data)
	if err != nil {
		r.t.Fatal(err)
	}
	c.Ring = ring
	streams, err := streamio.ReadStreams(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	f, err := projector.NewFleet(c, streamio.StreamNames(streams))
	if err == nil {
		err = f.Run(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// ledgers opens all shards.
func (r *shardRig) ledgers() *cluster.Ledgers {
	r.t.Helper()
	l, err := ledger.Open(r.t.Context(), r.shards[0].ClickHouseDSN())
	if err != nil {
		r.t.Fatal(err)
	}
	defer l.Close()
	m, err := cluster.Of(r.t.Context(), l)
	if err != nil || m == nil {
		r.t.Fatal(m, err)
	}
	all, err := cluster.Open(r.t.Context(), r.shards[0].ClickHouseDSN(), *m)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { all.Close() })
	return all
}

// digests returns the rows of a table and a digest that does not depend on their order.
func digests(t *testing.T, list []*ledger.Ledger, table string) (rows uint64, digest uint64) {
	t.Helper()
	for _, l := range list {
		var n, sum uint64
		sql := fmt.Sprintf("SELECT count(), sumWithOverflow(cityHash64(toString(tuple(*)))) FROM %s FINAL", table)
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), sql).Scan(&n, &sum); err != nil {
			t.Fatal(table, err)
		}
		rows, digest = rows+n, digest+sum
	}
	return rows, digest
}

// TestShardsHoldWhatOneMachineHolds projects a corpus to two shards and to one machine. All tables are
// equal, and so are the answers of all queries.
func TestShardsHoldWhatOneMachineHolds(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	if out := r.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4"); !strings.Contains(out, "assigned 4 partitions to 2 shards") {
		t.Errorf("migrate printed %q", out)
	}
	if out := r.must("migrate", "--cluster", embeddedtest.ClusterName); out != "everything is up to date\n" {
		t.Errorf("a second migrate printed %q", out)
	}
	r.must("bench", "seed", "--events", "3000", "--days", "20")
	r.must("project", "--until-caught-up")
	r.projectPlain(4)
	shards := r.ledgers()
	all := shards.All()
	for _, table := range ledger.Tables() {
		rows, digest := digests(t, all, table)
		wantRows, want := digests(t, []*ledger.Ledger{r.plain}, table)
		if rows != wantRows || digest != want {
			t.Errorf("the shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
	for i, l := range all {
		if n, _ := digests(t, []*ledger.Ledger{l}, "events"); n < 300 {
			t.Errorf("shard %d has only %d events", i+1, n)
		}
	}
	r.oneDatabase(all)
	if rows := r.sameAnswers(shards, queries.All(), r.places(shards, 1)); rows < 1000 {
		t.Errorf("only %d rows were compared", rows)
	}
	if _, stderr, code := r.run("up"); code == cli.ExitDone || !strings.Contains(stderr, "does not work on a cluster yet") {
		t.Errorf("up ended with %d: %s", code, stderr)
	}
	if _, stderr, code := r.run("migrate"); code != cli.ExitUsage || !strings.Contains(stderr, "run `ctxledger migrate --cluster shards`") {
		t.Errorf("migrate ended with %d: %s", code, stderr)
	}
	if out := r.must("quarantine", "preview", "-o", "csv"); strings.Count(out, "\n") != 1 {
		t.Errorf("the preview of new streams printed %s", out)
	}
	r.rebuilds(shards)
	r.erases()
	r.retains()
	r.must("rebuild", "--compare-only") // the rows of removed messages are copied
	r.refusesWrongMaps()
	if err := r.js.DeleteStream(t.Context(), "CTX_3"); err != nil {
		t.Fatal(err)
	}
	if out := r.must("migrate", "--cluster", embeddedtest.ClusterName); out != "created stream CTX_3\n" {
		t.Errorf("migrate without a stream printed %q", out)
	}
	if _, err := streamio.EnsureTenant(t.Context(), r.js, streamio.TenantLayout{Tenant: "acme", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := r.run("migrate", "--cluster", embeddedtest.ClusterName); code != cli.ExitUsage || !strings.Contains(stderr, "tenant acme has 1, and there are 4: keep ClickHouse on one server") {
		t.Errorf("migrate ended with %d: %s", code, stderr)
	}
	if _, stderr, code := r.run("project", "--until-caught-up"); code != cli.ExitFailed || !strings.Contains(stderr, "as there are shared ones: tenant acme has 1, and there are 4") {
		t.Errorf("project ended with %d: %s", code, stderr)
	}
}

// oneDatabase asks the database over all shards on each of them. Its tables are those of one machine, and a join of the
// rows of a session is whole.
func (r *shardRig) oneDatabase(all []*ledger.Ledger) {
	r.t.Helper()
	const joined = "SELECT count(), countIf(i.item_id != '') FROM %smodel_calls AS c LEFT JOIN %[1]sitems AS i USING (tenant, session_id)"
	var want, got [2]uint64
	if err := r.plain.SQL(nil).Conn.QueryRow(r.t.Context(), fmt.Sprintf(joined, "")).Scan(&want[0], &want[1]); err != nil || want[1] == 0 {
		r.t.Fatal(want, err)
	}
	for i, l := range all {
		for _, table := range ledger.Tables() {
			rows, digest := digests(r.t, []*ledger.Ledger{l}, "ctxledger_all."+table)
			if wantRows, of := digests(r.t, []*ledger.Ledger{r.plain}, table); rows != wantRows || digest != of {
				r.t.Errorf("shard %d has %d rows of all %s, and one machine has %d", i+1, rows, table, wantRows)
			}
		}
		reader, err := ledger.Open(r.t.Context(), r.shards[i].ReaderDSN())
		if err != nil {
			r.t.Fatal(err)
		}
		defer reader.Close()
		if err := reader.SQL(nil).Conn.QueryRow(r.t.Context(), fmt.Sprintf(joined, "ctxledger_all.")+" SETTINGS distributed_product_mode = 'local'").Scan(&got[0], &got[1]); err != nil || got != want {
			r.t.Errorf("shard %d joined %v, and one machine %v: %v", i+1, got, want, err)
		}
		if err := l.SQL(nil).Conn.Exec(r.t.Context(), "INSERT INTO ctxledger_all.events (tenant) VALUES ('x')"); err == nil {
			r.t.Error("the database over all shards takes rows")
		}
	}
	const mark = "ALTER DATABASE ctxledger_all MODIFY COMMENT 'all shards, for reading; "
	for _, of := range []struct{ sql, comment, says string }{
		{"CREATE TABLE ctxledger_all.mine (n Int8) ENGINE = Memory", mark + "of an earlier version'", "it has 1 tables that migrate did not make: rename it"},
		{"DROP TABLE ctxledger_all.mine", "ALTER DATABASE ctxledger_all MODIFY COMMENT 'of a person'", "tables that migrate did not make: rename it"},
		{"DROP TABLE ctxledger_all.events", mark + "being made'", "made the database ctxledger_all on shard 1 "},
	} {
		for _, sql := range []string{of.sql, of.comment} {
			if err := all[0].SQL(nil).Conn.Exec(r.t.Context(), sql); err != nil {
				r.t.Fatal(err)
			}
		}
		if stdout, stderr, _ := r.run("migrate", "--cluster", embeddedtest.ClusterName); !strings.Contains(stdout+stderr, of.says) {
			r.t.Errorf("after %s migrate printed %s%s", of.sql, stdout, stderr)
		}
	}
}

// rebuilds rebuilds both shards, then one that has lost rows. The tables are those of one machine.
func (r *shardRig) rebuilds(shards *cluster.Ledgers) {
	r.t.Helper()
	if out := r.must("rebuild", "-o", "json"); strings.Count(out, `"equal":true,"swapped":true`) != 2 || !strings.Contains(out, `"stream":"CTX_3"`) {
		r.t.Errorf("rebuild printed %s", out)
	}
	second := shards.Of(2)
	if err := second.SQL(nil).Conn.Exec(r.t.Context(), "TRUNCATE TABLE items"); err != nil {
		r.t.Fatal(err)
	}
	if out, stderr, code := r.run("rebuild", "--compare-only"); code != cli.ExitNotVerified || !strings.Contains(out, "\nitems: 0 rows live, ") ||
		!strings.Contains(stderr, "the rebuilt tables of shard 2 at ") {
		r.t.Errorf("a rebuild of lost rows ended with %d: %s%s", code, out, stderr)
	}
	r.must("rebuild", "--accept")
	for _, table := range ledger.Tables() {
		rows, digest := digests(r.t, shards.All(), table)
		if wantRows, want := digests(r.t, []*ledger.Ledger{r.plain}, table); rows != wantRows || digest != want {
			r.t.Errorf("the rebuilt shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
}

// refusesWrongMaps edits the map by hand. The projector refuses it, and nothing is projected.
func (r *shardRig) refusesWrongMaps() {
	r.t.Helper()
	kv, err := lease.OpenBucket(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	before, err := kv.Get(r.t.Context(), shardmap.Key)
	if err != nil {
		r.t.Fatal(err)
	}
	for text, says := range map[string]string{
		`{"cluster":"shards","shards":[2,1,2,1]}`: "stream CTX_0 is on shard 2, but shard 1 at",
		`{"cluster":"shards","shards":[1,2]}`:     "it has 2 partitions, and the streams have 4",
		`{"cluster":"other","shards":[1,2,1,2]}`:  `it is of the cluster "other"`,
		`{"cluster":"shards","shards":[1,2,1,3]}`: "stream CTX_3 is on shard 3, which the cluster shards does not have",
		`[`: "key shards of the bucket",
	} {
		if _, err := kv.PutString(r.t.Context(), shardmap.Key, text); err != nil {
			r.t.Fatal(err)
		}
		if _, stderr, code := r.run("project", "--until-caught-up"); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.t.Errorf("project with the map %s ended with %d: %s", text, code, stderr)
		}
	}
	if _, err := kv.Put(context.Background(), shardmap.Key, before.Value()); err != nil {
		r.t.Fatal(err)
	}
}
