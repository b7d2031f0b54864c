package operate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/queries"
)

// shardRig is a [shardtest.Rig] that is migrated, rebuilt and limited.
type shardRig struct{ *shardtest.Rig }

func newShardRig(t *testing.T, n int) *shardRig {
	t.Helper()
	return &shardRig{shardtest.NewRig(t, n)}
}

// TestShardsHoldWhatOneMachineHolds projects a corpus to two shards and to one machine. All tables are
// equal, and so are the answers of all queries.
func TestShardsHoldWhatOneMachineHolds(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	if out := r.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4"); !strings.Contains(out, "assigned 4 partitions to 2 shards") {
		t.Errorf("migrate printed %q", out)
	}
	if out := r.Must("migrate", "--cluster", embeddedtest.ClusterName); out != "everything is up to date\n" {
		t.Errorf("a second migrate printed %q", out)
	}
	r.Must("bench", "seed", "--events", "3000", "--days", "20")
	r.Must("project", "--until-caught-up")
	r.ProjectPlain()
	shards := r.Ledgers()
	all := shards.All()
	for _, table := range ledger.Tables() {
		rows, digest := shardtest.Digests(t, all, table)
		wantRows, want := shardtest.Digests(t, []*ledger.Ledger{r.Plain}, table)
		if rows != wantRows || digest != want {
			t.Errorf("the shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
	for i, l := range all {
		if n, _ := shardtest.Digests(t, []*ledger.Ledger{l}, "events"); n < 300 {
			t.Errorf("shard %d has only %d events", i+1, n)
		}
	}
	r.oneDatabase(all)
	if rows := r.SameAnswers(shards, queries.All(), r.Places(shards, 1)); rows < 1000 {
		t.Errorf("only %d rows were compared", rows)
	}
	if _, stderr, code := r.Run("up"); code == cli.ExitDone || !strings.Contains(stderr, "does not work on a cluster yet") {
		t.Errorf("up ended with %d: %s", code, stderr)
	}
	if _, stderr, code := r.Run("migrate"); code != cli.ExitUsage || !strings.Contains(stderr, "run `ctxledger migrate --cluster shards`") {
		t.Errorf("migrate ended with %d: %s", code, stderr)
	}
	if out := r.Must("quarantine", "preview", "-o", "csv"); strings.Count(out, "\n") != 1 {
		t.Errorf("the preview of new streams printed %s", out)
	}
	r.rebuilds(shards)
	r.erases()
	r.retains()
	r.Must("rebuild", "--compare-only") // the rows of removed messages are copied
	r.refusesWrongMaps()
	if err := r.JS.DeleteStream(t.Context(), "CTX_3"); err != nil {
		t.Fatal(err)
	}
	if out := r.Must("migrate", "--cluster", embeddedtest.ClusterName); out != "created stream CTX_3\n" {
		t.Errorf("migrate without a stream printed %q", out)
	}
	if _, err := streamio.EnsureTenant(t.Context(), r.JS, streamio.TenantLayout{Tenant: "acme", Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := r.Run("migrate", "--cluster", embeddedtest.ClusterName); code != cli.ExitUsage || !strings.Contains(stderr, "tenant acme has 1, and there are 4: keep ClickHouse on one server") {
		t.Errorf("migrate ended with %d: %s", code, stderr)
	}
	if _, stderr, code := r.Run("project", "--until-caught-up"); code != cli.ExitFailed || !strings.Contains(stderr, "as there are shared ones: tenant acme has 1, and there are 4") {
		t.Errorf("project ended with %d: %s", code, stderr)
	}
}

// oneDatabase asks the database over all shards on each of them. Its tables are those of one machine, and a join of the
// rows of a session is whole.
func (r *shardRig) oneDatabase(all []*ledger.Ledger) {
	r.T.Helper()
	const joined = "SELECT count(), countIf(i.item_id != '') FROM %smodel_calls AS c LEFT JOIN %[1]sitems AS i USING (tenant, session_id)"
	var want, got [2]uint64
	if err := r.Plain.SQL(nil).Conn.QueryRow(r.T.Context(), fmt.Sprintf(joined, "")).Scan(&want[0], &want[1]); err != nil || want[1] == 0 {
		r.T.Fatal(want, err)
	}
	for i, l := range all {
		for _, table := range ledger.Tables() {
			rows, digest := shardtest.Digests(r.T, []*ledger.Ledger{l}, "ctxledger_all."+table)
			if wantRows, of := shardtest.Digests(r.T, []*ledger.Ledger{r.Plain}, table); rows != wantRows || digest != of {
				r.T.Errorf("shard %d has %d rows of all %s, and one machine has %d", i+1, rows, table, wantRows)
			}
		}
		reader, err := ledger.Open(r.T.Context(), r.Shards[i].ReaderDSN())
		if err != nil {
			r.T.Fatal(err)
		}
		defer reader.Close()
		if err := reader.SQL(nil).Conn.QueryRow(r.T.Context(), fmt.Sprintf(joined, "ctxledger_all.")+" SETTINGS distributed_product_mode = 'local'").Scan(&got[0], &got[1]); err != nil || got != want {
			r.T.Errorf("shard %d joined %v, and one machine %v: %v", i+1, got, want, err)
		}
		if err := l.SQL(nil).Conn.Exec(r.T.Context(), "INSERT INTO ctxledger_all.events (tenant) VALUES ('x')"); err == nil {
			r.T.Error("the database over all shards takes rows")
		}
	}
	const mark = "ALTER DATABASE ctxledger_all MODIFY COMMENT 'all shards, for reading; "
	for _, of := range []struct{ sql, comment, says string }{
		{"CREATE TABLE ctxledger_all.mine (n Int8) ENGINE = Memory", mark + "of an earlier version'", "it has 1 tables that migrate did not make: rename it"},
		{"DROP TABLE ctxledger_all.mine", "ALTER DATABASE ctxledger_all MODIFY COMMENT 'of a person'", "tables that migrate did not make: rename it"},
		{"DROP TABLE ctxledger_all.events", mark + "being made'", "made the database ctxledger_all on shard 1 "},
	} {
		for _, sql := range []string{of.sql, of.comment} {
			if err := all[0].SQL(nil).Conn.Exec(r.T.Context(), sql); err != nil {
				r.T.Fatal(err)
			}
		}
		if stdout, stderr, _ := r.Run("migrate", "--cluster", embeddedtest.ClusterName); !strings.Contains(stdout+stderr, of.says) {
			r.T.Errorf("after %s migrate printed %s%s", of.sql, stdout, stderr)
		}
	}
}

// rebuilds rebuilds both shards, then one that has lost rows. The tables are those of one machine.
func (r *shardRig) rebuilds(shards *cluster.Ledgers) {
	r.T.Helper()
	if out := r.Must("rebuild", "-o", "json"); strings.Count(out, `"equal":true,"swapped":true`) != 2 || !strings.Contains(out, `"stream":"CTX_3"`) {
		r.T.Errorf("rebuild printed %s", out)
	}
	second := shards.Of(2)
	if err := second.SQL(nil).Conn.Exec(r.T.Context(), "TRUNCATE TABLE items"); err != nil {
		r.T.Fatal(err)
	}
	if out, stderr, code := r.Run("rebuild", "--compare-only"); code != cli.ExitNotVerified || !strings.Contains(out, "\nitems: 0 rows live, ") ||
		!strings.Contains(stderr, "the rebuilt tables of shard 2 at ") {
		r.T.Errorf("a rebuild of lost rows ended with %d: %s%s", code, out, stderr)
	}
	r.Must("rebuild", "--accept")
	for _, table := range ledger.Tables() {
		rows, digest := shardtest.Digests(r.T, shards.All(), table)
		if wantRows, want := shardtest.Digests(r.T, []*ledger.Ledger{r.Plain}, table); rows != wantRows || digest != want {
			r.T.Errorf("the rebuilt shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
}

// refusesWrongMaps edits the map by hand. The projector refuses it, and nothing is projected.
func (r *shardRig) refusesWrongMaps() {
	r.T.Helper()
	kv, err := lease.OpenBucket(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	before, err := kv.Get(r.T.Context(), shardmap.Key)
	if err != nil {
		r.T.Fatal(err)
	}
	for text, says := range map[string]string{
		`{"cluster":"shards","shards":[2,1,2,1]}`: "stream CTX_0 is on shard 2, but shard 1 at",
		`{"cluster":"shards","shards":[1,2]}`:     "it has 2 partitions, and the streams have 4",
		`{"cluster":"other","shards":[1,2,1,2]}`:  `it is of the cluster "other"`,
		`{"cluster":"shards","shards":[1,2,1,3]}`: "stream CTX_3 is on shard 3, which the cluster shards does not have",
		`[`: "key shards of the bucket",
	} {
		if _, err := kv.PutString(r.T.Context(), shardmap.Key, text); err != nil {
			r.T.Fatal(err)
		}
		if _, stderr, code := r.Run("project", "--until-caught-up"); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.T.Errorf("project with the map %s ended with %d: %s", text, code, stderr)
		}
	}
	if _, err := kv.Put(context.Background(), shardmap.Key, before.Value()); err != nil {
		r.T.Fatal(err)
	}
}
