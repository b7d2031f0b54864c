package ask_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/queries"
)

// shardRig is a [shardtest.Rig] that is asked questions.
type shardRig struct{ *shardtest.Rig }

func newShardRig(t *testing.T, n int) *shardRig {
	t.Helper()
	return &shardRig{shardtest.NewRig(t, n)}
}

// A person publishes facts that are asked about.
type person struct {
	*shardRig
	*shardtest.Person
}

func newPerson(r *shardRig) *person { return &person{r, shardtest.NewPerson(r.Rig)} }

// TestShardsAnswerAsOneMachine asks four shards the queries that combine rows of all of them, and some whose
// rows they merge, and compares the answers with one machine. [TestShardsHoldWhatOneMachineHolds] asks two
// shards all queries.
func TestShardsAnswerAsOneMachine(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 4)
	r.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "8")
	r.Must("bench", "seed", "--events", "2000", "--days", "20")
	r.Must("project", "--until-caught-up")
	r.ProjectPlain()
	shards := r.Ledgers()
	for i, l := range shards.All() {
		if n, _ := shardtest.Digests(t, []*ledger.Ledger{l}, "events"); n < 200 {
			t.Errorf("shard %d has only %d events", i+1, n)
		}
	}
	asked := slices.DeleteFunc(queries.All(), func(q queries.Query) bool {
		how, _ := q.Merge()
		return how.Combine == nil && !how.Same && !slices.Contains([]string{"sessions", "session-usage", "top-items"}, q.Name)
	})
	if rows := r.SameAnswers(shards, asked, nil); rows < 400 {
		t.Errorf("only %d rows were compared", rows)
	}
}

// TestQueryOnACluster uses the command, also while a shard is down.
func TestQueryOnACluster(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	r.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	r.Must("bench", "seed", "--events", "2000")
	r.Must("project", "--until-caught-up")
	var sessions uint64
	for _, l := range r.Ledgers().All() {
		var rows uint64
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT uniqExact(tenant, session_id) FROM model_calls").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		sessions += rows
	}
	if out := r.Must("query", "session-usage", "-o", "csv"); uint64(strings.Count(out, "\n")) != sessions+1 {
		t.Errorf("query printed %d lines for %d sessions", strings.Count(out, "\n"), sessions)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"query", "--sql", "SELECT 1 AS shard"}, "on a cluster the column shard is the number of the shard"},
		{[]string{"query", "--sql", "SELECT nothing FROM calls"}, `there is no column "nothing"`},
		{[]string{"query", "--sql", "DROP TABLE calls"}, "queries only read"},
		{[]string{"query", "sessions", "-o", "parquet"}, "-o parquet needs an http:// address of ClickHouse"},
	} {
		if _, stderr, code := r.Run(c.args...); code != cli.ExitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v ended with %d: %s", c.args, code, stderr)
		}
	}
	r.ProjectPlain()
	places := r.Places(r.Ledgers(), 2)
	r.sameStatements()
	r.sameCommands(places[0], places[2]) // of two shards
	r.packs(places[0], places[2])
	pages := r.samePages(places[0], places[2])
	r.samePrices(places[0], places[2])
	r.sameStorage()
	r.SameProofs()
	p := newPerson(r)
	p.spread()
	p.publishChecked()
	r.publishErasures(places[0], places[2])
	r.sameQuarantine() // it projects all
	r.sameErasures()
	p.sameSpread()
	p.sameRuns()
	p.sameGaps()
	r.sameParquet("sessions", "window-by-layer", "model-usage", "event-types", "selection-acceptance", "selection-signals", "tellings", "budget-headroom", "omitted-then-missing")
	p.sameChecks()
	r.sameTail(places[0], places[2])
	r.waitForMoves(places[0])
	r.doctorLooksAtAllShards()
	tail, _ := r.follow("--quarantined")
	if err := r.Shards[1].Close(); err != nil {
		t.Fatal(err)
	}
	if code := tail.Code(t, time.Minute); code == cli.ExitDone || !strings.Contains(tail.Messages.String(), "shard 2 at 127.0.0.1:") {
		t.Errorf("tail ended with %d: %s", code, &tail.Messages)
	}
	for _, args := range [][]string{
		{"query", "sessions"}, {"query", "checks"}, {"query", "model-usage"}, {"query", "--sql", "SELECT 1"}, {"tail", "--no-follow"}, {"quarantine", "list"}, {"quarantine", "list", "--counts"}, {"quarantine", "show", "1"}, {"quarantine", "replay", "1"}, {"prices", "built-in", "on"}, {"project", "--until-caught-up"}, {"migrate", "--cluster", embeddedtest.ClusterName},
		{"evidence", "export", "--session", places[0].Session, "--out", filepath.Join(r.Data, "lost")},
		{"erase", "--subject", "user-812", "--reason", "r", "--policy-ref", "p", "--yes"}, {"redaction", "revoke", "r", "--reason", "r", "--policy-ref", "p"},
		{"project", "--recheck"}, {"retention", "show"}, {"quarantine", "preview"},
		{"window", "--last"}, {"why", "--turn", places[0].Turn, "--item", places[0].Item}, {"report", "--session", places[0].Session, "--out", filepath.Join(r.Data, "lost.html")},
	} {
		stdout, stderr, code := r.Run(args...)
		if code != cli.ExitUnreachable || stdout != "" || !strings.Contains(stderr, "shard 2 at 127.0.0.1:") {
			t.Errorf("%v without a shard ended with %d: %s%s", args, code, stdout, stderr)
		}
	}
	one, err := ledger.Open(t.Context(), r.Shards[0].ReaderDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	var rows uint64
	if err := one.SQL(nil).Conn.QueryRow(t.Context(), "SELECT count() FROM ctxledger_all.events").Scan(&rows); err == nil {
		t.Errorf("without a shard there are %d events on all", rows)
	}
	pagesLackAShard(t, pages, places[0])
	if stdout, stderr, code := r.Run("doctor"); code != cli.ExitUnreachable || !strings.Contains(stdout, "shard 2 at 127.0.0.1:") {
		t.Errorf("doctor without a shard ended with %d: %s%s", code, stdout, stderr)
	}
}

// sameCommands compares commands about a session with one machine: for a place of each shard, for a
// turn of each, and for turn ids that several sessions have.
func (r *shardRig) sameCommands(first, second shardtest.Place) {
	r.T.Helper()
	report, now := filepath.Join(r.Data, "report.html"), time.Now().UTC().Format(time.RFC3339)
	questions := [][]string{
		{"window", "--last"}, {"window", "--last", "--session", second.Session},
		{"diff", "--turn", first.Turn, "--session", first.Session, "--turn", second.Turn, "--session", second.Session},
	}
	for _, tenant := range r.tenants() { // the newest windows are on different shards
		questions = append(questions, []string{"query", "turns", "--last", "--param", "tenant=" + tenant})
	}
	for _, p := range []shardtest.Place{first, second} {
		of := func(command ...string) []string { return append(command, "--turn", p.Turn, "--session", p.Session) }
		questions = append(questions,
			of("window", "--as-of", now, "-o", "json"), of("window", "-o", "csv"), []string{"window", "--turn", p.Turn},
			of("why", "--item", p.Item, "--proof"), []string{"why", "--turn", p.Turn, "--item", p.Item[:len(p.Item)-1]})
	}
	questions = append(questions, []string{"report", "--session", first.Session, "--out", report}, []string{"report", "--turn", second.Turn, "--out", report})
	done := 0
	for _, args := range questions {
		got, code := r.Printed(r.Shards[0].ClickHouseDSN(), report, args)
		want, wantCode := r.Printed(r.DSN, report, args)
		if code == cli.ExitDone {
			done++
		}
		if at := differAt(got, want); code != wantCode || at >= 0 || len(got) < 100 {
			at = max(at-100, 0)
			r.T.Errorf("%v ended with %d, on one machine with %d, and printed\n%.600s\nand on one machine\n%.600s", args, code, wantCode, got[min(at, len(got)):], want[min(at, len(want)):])
		}
	}
	for _, p := range []shardtest.Place{first, second} {
		shell := clitest.Command("__complete", "window", "--data", r.Data, "--turn", p.Turn)
		shell.Env = r.Command().Env
		if code := shell.Begin(r.T).Code(r.T, 2*time.Minute); code != cli.ExitDone || !strings.Contains(shell.Results.String(), p.Turn+"\tsession ") {
			r.T.Errorf("the shell completes %s with %d: %s%s", p.Turn, code, &shell.Results, &shell.Messages)
		}
	}
	if done < 12 {
		r.T.Errorf("only %d of %d commands had an answer", done, len(questions))
	}
	for args, says := range map[string]string{
		"window --turn nowhere":                              `no shard has facts of a turn "nowhere"`,
		"window --turn t --session " + first.Session[:6]:     "on a cluster give the whole id",
		"report --out r.html --session " + first.Session[:6]: "on a cluster give the whole id",
	} {
		if _, stderr, code := r.Run(strings.Fields(args)...); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.T.Errorf("%s ended with %d: %s", args, code, stderr)
		}
	}
}

// sameStatements: each shard answers a statement for itself, and all sessions are in one of the answers.
func (r *shardRig) sameStatements() {
	r.T.Helper()
	sessions := "SELECT session_id, count() AS calls FROM calls GROUP BY session_id ORDER BY session_id"
	of := strings.Split(r.Must("query", "-o", "csv", "--sql", sessions), "\n")
	text, _ := r.Printed(r.DSN, "", []string{"query", "-o", "csv", "--sql", sessions})
	want := strings.Split(text, "\n")
	shards := make(map[string]int)
	for i, line := range of {
		shard, rest, found := strings.Cut(line, ",")
		if found {
			of[i] = rest
			shards[shard]++
		}
	}
	slices.Sort(of)
	slices.Sort(want)
	if !slices.Equal(of, want) || len(shards) != 3 || shards["shard"] != 1 || shards["1"] == 0 || shards["2"] == 0 {
		r.T.Errorf("the shards have %v, and gave\n%q\nand one machine\n%q", shards, of, want)
	}
	if _, stderr, code := r.Run("query", "--max-rows", fmt.Sprint(len(want)-3), "--sql", sessions); code != cli.ExitFailed || !strings.Contains(stderr, "--max-rows") {
		r.T.Errorf("too many rows of a statement ended with %d: %s", code, stderr)
	}
}

// doctorLooksAtAllShards: the command names each shard, and one that does not follow its streams. A bundle
// is made, too.
func (r *shardRig) doctorLooksAtAllShards() {
	r.T.Helper()
	bundle := filepath.Join(r.Data, "bundle.zip")
	out := r.Must("doctor", "--bundle", bundle)
	for _, says := range []string{
		"shard 1 at 127.0.0.1:", "shard 2 at 127.0.0.1:", "tables of shard 1", "table room of shard 2",
		"4 partitions on 2 shards of " + embeddedtest.ClusterName, "all shards are level with their streams",
	} {
		if !strings.Contains(out, says) {
			r.T.Errorf("doctor does not say %q:\n%s", says, out)
		}
	}
	if _, err := os.Stat(bundle); err != nil {
		r.T.Error(err)
	}
	r.Must("bench", "seed", "--seed", "2", "--events", "200")
	if stdout, _, code := r.Run("doctor"); code != cli.ExitFailed || !strings.Contains(stdout, "events wait in its streams and nothing projects them") {
		r.T.Errorf("doctor beside unprojected events ended with %d:\n%s", code, stdout)
	}
	m, err := shardmap.Read(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	m.Move = &shardmap.Move{Partition: 1, From: 2, To: 1, Step: shardmap.Switching}
	if err := m.Save(r.T.Context(), r.JS); err != nil {
		r.T.Fatal(err)
	}
	if stdout, _, code := r.Run("doctor"); code != cli.ExitFailed || !strings.Contains(stdout, "partition 1 moves to shard 1 (switching)") ||
		!strings.Contains(stdout, "if the move was interrupted, run `ctxledger shards move --partition 1 --to 1`") {
		r.T.Errorf("doctor beside an interrupted move ended with %d:\n%s", code, stdout)
	}
	m.Move = nil
	if err := m.Save(r.T.Context(), r.JS); err != nil {
		r.T.Fatal(err)
	}
}

// sameStorage compares what the shards store together with one machine.
func (r *shardRig) sameStorage() {
	r.T.Helper()
	var reports [2]storage.Report
	for i, dsn := range []string{r.Shards[0].ClickHouseDSN(), r.DSN} {
		text, code := r.Printed(dsn, "", []string{"storage", "-o", "json"})
		if err := json.Unmarshal([]byte(text), &reports[i]); err != nil || code != cli.ExitDone {
			r.T.Fatalf("storage ended with %d, %v: %s", code, err, text)
		}
	}
	rows := func(c storage.ClickHouse, table string) int64 {
		at := slices.IndexFunc(c.Tables, func(t storage.Table) bool { return t.Name == table })
		return c.Tables[at].Rows
	}
	all, one := reports[0].ClickHouse, reports[1].ClickHouse
	for _, table := range []string{"events", "calls", "log_hashes"} {
		if rows(all, table) != rows(one, table) || rows(one, table) == 0 {
			r.T.Errorf("%s has %d rows, and %d on one machine", table, rows(all, table), rows(one, table))
		}
	}
	if len(all.Tables) != len(one.Tables)+1 || // cluster_shards
		len(all.Tenants) != len(one.Tenants) || len(all.Disks) != 2*len(one.Disks) {
		r.T.Errorf("%d tables, %d tenants and %d disks, on one machine %d, %d and %d", len(all.Tables), len(all.Tenants), len(all.Disks), len(one.Tables), len(one.Tenants), len(one.Disks))
	}
	if !strings.Contains(all.Disks[1].Name, " of shard 2 at 127.0.0.1:") {
		r.T.Errorf("a disk of the second shard is named %q", all.Disks[1].Name)
	}
}

// packs exports packs from the shards and from one machine, with the same records, and verifies them.
func (r *shardRig) packs(places ...shardtest.Place) {
	r.T.Helper()
	scopes := [][]string{{"--last"}}
	for _, p := range places {
		scopes = append(scopes, []string{"--session", p.Session}, []string{"--session", p.Session, "--turn", p.Turn})
	}
	r.samePacks(scopes...)
}

// ofPack matches what packs with the same records differ in: the id of the pack and the time of the export.
var ofPack = regexp.MustCompile(`pack-[0-9a-f-]{36}|"(created|updated|checked)_at":"[^"]*"|Made at [^ ]*`)

// samePacks exports scopes from the shards and from one machine. The packs verify and have the same records.
func (r *shardRig) samePacks(scopes ...[]string) {
	r.T.Helper()
	key := strings.TrimSpace(r.Must("proof", "keygen"))
	for _, scope := range scopes {
		folder := r.T.TempDir()
		var records [2][]byte
		for j, dsn := range []string{r.Shards[0].ClickHouseDSN(), r.DSN} {
			out := filepath.Join(folder, fmt.Sprint(j))
			args := append([]string{"evidence", "export", "--unrecorded", "--out", out}, scope...)
			if text, code := r.Printed(dsn, "", args); code != cli.ExitDone {
				r.T.Fatalf("%v ended with %d: %s", args, code, text)
			}
			r.Must("evidence", "verify", out, "--key", key)
			var err error
			if records[j], err = os.ReadFile(filepath.Join(out, pack.EventsFile)); err != nil {
				r.T.Fatal(err)
			}
		}
		for _, name := range document.Files() {
			var texts [2]string
			for j := range texts {
				text, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(j), name))
				if err != nil {
					r.T.Fatal(err)
				}
				texts[j] = ofPack.ReplaceAllString(string(text), "")
			}
			if at := differAt(texts[0], texts[1]); at >= 0 {
				at = max(at-100, 0)
				r.T.Errorf("%v: %s has\n%.300s\nand on one machine\n%.300s", scope, name, texts[0][min(at, len(texts[0])):], texts[1][min(at, len(texts[1])):])
			}
		}
		if !bytes.Equal(records[0], records[1]) || len(records[0]) == 0 {
			r.T.Errorf("%v: %d bytes of records, and %d from one machine", scope, len(records[0]), len(records[1]))
		}
	}
}

// tenants returns the tenants that have windows.
func (r *shardRig) tenants() (list []string) {
	r.T.Helper()
	err := r.Plain.SQL(nil).Conn.QueryRow(r.T.Context(), `SELECT groupUniqArray(tenant) FROM (
		SELECT tenant FROM calls WHERE turn_id != '' AND window_first IS NOT NULL
		UNION ALL SELECT tenant FROM placements WHERE turn_id != '' AND event_type = 'context.assembly.created')`).Scan(&list)
	if err != nil || len(list) < 3 {
		r.T.Fatalf("the tenants are %v: %v", list, err)
	}
	return list
}

// differAt returns the place of the first difference, or -1.
func differAt(a, b string) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}
