package shards_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// TestShardsAnswerAsOneMachine asks four shards the queries that combine rows of all of them, and some whose
// rows they merge, and compares the answers with one machine. [TestShardsHoldWhatOneMachineHolds] asks two
// shards all queries.
func TestShardsAnswerAsOneMachine(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 4)
	r.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "8")
	r.must("bench", "seed", "--events", "2000", "--days", "20")
	r.must("project", "--until-caught-up")
	r.projectPlain(8)
	shards := r.ledgers()
	for i, l := range shards.All() {
		if n, _ := digests(t, []*ledger.Ledger{l}, "events"); n < 200 {
			t.Errorf("shard %d has only %d events", i+1, n)
		}
	}
	asked := slices.DeleteFunc(queries.All(), func(q queries.Query) bool {
		how, _ := q.Merge()
		return how.Combine == nil && !how.Same && !slices.Contains([]string{"sessions", "session-usage", "top-items"}, q.Name)
	})
	if rows := r.sameAnswers(shards, asked, nil); rows < 400 {
		t.Errorf("only %d rows were compared", rows)
	}
}

// sameAnswers compares the answers of the shards and of one machine, and returns the number of rows. A query
// that one shard answers is asked about one place after another, until it has rows. The rest are asked without a
// session, and every fourth also about a place. Without places, only the defaults are asked.
func (r *shardRig) sameAnswers(shards *cluster.Ledgers, list []queries.Query, places []place) int {
	r.t.Helper()
	var compared atomic.Int64
	var g errgroup.Group
	g.SetLimit(4)
	for i, q := range list {
		how, ok := q.Merge()
		if !ok {
			r.t.Errorf("%s is not answered on a cluster", q.Name)
			continue
		}
		g.Go(func() error {
			about := questions(q, how)
			if len(places) == 0 {
				about = about[:min(len(about), 1)] // the defaults
			}
			for _, given := range about {
				compared.Add(r.same(shards, q, given))
			}
			for j := range places { // two that follow each other are of different shards
				given, ok := questionOf(q, places[(i+j)%len(places)])
				if !ok || len(about) > 0 && !how.OfSession() && i%4 > 0 {
					break
				}
				if rows := r.same(shards, q, given); rows > 0 {
					compared.Add(rows)
					break
				}
			}
			return nil
		})
	}
	_ = g.Wait()
	return int(compared.Load())
}

// place is a turn, by which queries about a session or an item are asked.
type place struct{ session, turn, call, item string }

// places returns turns of this many sessions of every shard, first of those with redactions, decisions,
// gaps, tasks and repeats.
func (r *shardRig) places(shards *cluster.Ledgers, each int) (list []place) {
	r.t.Helper()
	for i, l := range shards.All() {
		var found []struct {
			Session string `ch:"session_id"`
			Turn    string `ch:"turn"`
			Call    string `ch:"call"`
			Item    string `ch:"item"`
		}
		err := l.SQL(nil).Conn.Select(r.t.Context(), &found, `
			SELECT session_id, any(c.turn_id) AS turn, any(c.call_id) AS call, any(i.item_id) AS item
			FROM calls AS c INNER JOIN items AS i USING (session_id) GROUP BY session_id
			ORDER BY arraySum([
				session_id IN (SELECT session_id FROM redactions), session_id IN (SELECT session_id FROM decisions), session_id IN (SELECT session_id FROM missing),
				session_id IN (SELECT session_id FROM events WHERE task_id != ''), session_id IN (SELECT session_id FROM duplicates)]) DESC, session_id
			LIMIT $1`, each)
		if err != nil || len(found) < each {
			r.t.Fatalf("shard %d has %d sessions: %v", i+1, len(found), err)
		}
		for _, f := range found {
			list = append(list, place{f.Session, f.Turn, f.Call, f.Item})
		}
	}
	return list
}

// has reports whether a query has a parameter.
func has(q queries.Query, name string) bool {
	return slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Name == name })
}

// required reports whether a query has parameters without defaults.
func required(q queries.Query) bool {
	return slices.ContainsFunc(q.Parameters, func(p queries.Parameter) bool { return p.Required })
}

// questions returns arguments for a query without a place: some rows of some days, and its defaults unless
// these only give more of the same rows.
func questions(q queries.Query, how queries.Merge) []map[string]string {
	if required(q) {
		return nil
	}
	some := make(map[string]string)
	for name, value := range map[string]string{"limit": "40", "days": "12", "as_of": "2040-01-01T00:00:00Z"} {
		if has(q, name) {
			some[name] = value
		}
	}
	if how.Combine == nil || len(some) == 0 {
		return []map[string]string{some}
	}
	return []map[string]string{nil, some}
}

// questionOf returns arguments for a query about a place, if it has any.
func questionOf(q queries.Query, at place) (given map[string]string, ok bool) {
	given = make(map[string]string)
	for name, value := range map[string]string{"session_id": at.session, "turn_id": at.turn, "call_id": at.call, "item_id": at.item, "text": "the"} {
		if has(q, name) && (name == "session_id" || required(q)) {
			given[name] = value
		}
	}
	return given, len(given) > 0
}

// same compares the answers of the shards and of one machine, and returns the number of rows.
func (r *shardRig) same(shards *cluster.Ledgers, q queries.Query, given map[string]string) int64 {
	r.t.Helper()
	bound, err := q.Bind(given)
	if err != nil {
		r.t.Error(err)
		return 0
	}
	got, err := allRows(answer.Query(r.t.Context(), shards, q, maps.Clone(bound), read.DefaultLimits()))
	if err != nil {
		r.t.Errorf("%s %v: %v", q.Name, given, err)
		return 0
	}
	want, err := allRows(turn.Query(r.t.Context(), r.plain, q, bound, read.DefaultLimits()))
	if err != nil {
		r.t.Errorf("%s %v on one machine: %v", q.Name, given, err)
		return 0
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !equalRows(got[i], want[i]) {
			r.t.Errorf("%s %v: %d rows, and %d on one machine; row %d is\n%v\nand on one machine\n%v", q.Name, given, len(got), len(want), i,
				got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
			return 0
		}
	}
	return int64(len(want))
}

// allRows reads an answer.
func allRows(rows read.Rows, err error) (list [][]any, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		list = append(list, slices.Clone(rows.Values()))
	}
	return list, errors.Join(rows.Err(), rows.Close())
}

// equalRows compares two rows. Fractions may differ in their last digits, because a sum depends on its order.
// Rounding would not do: it takes two neighbours apart that lie on both sides of a half.
func equalRows(a, b []any) bool {
	return slices.EqualFunc(a, b, func(a, b any) bool {
		x, isFraction := a.(float64)
		y, ok := b.(float64)
		if isFraction && ok {
			return x == y || math.Abs(x-y) <= 1e-12*max(math.Abs(x), math.Abs(y))
		}
		return fmt.Sprint(a) == fmt.Sprint(b)
	})
}

// TestQueryOnACluster uses the command, also while a shard is down.
func TestQueryOnACluster(t *testing.T) {
	t.Parallel()
	r := newShardRig(t, 2)
	r.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	r.must("bench", "seed", "--events", "2000")
	r.must("project", "--until-caught-up")
	var sessions uint64
	for _, l := range r.ledgers().All() {
		var rows uint64
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT uniqExact(tenant, session_id) FROM model_calls").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		sessions += rows
	}
	if out := r.must("query", "session-usage", "-o", "csv"); uint64(strings.Count(out, "\n")) != sessions+1 {
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
		if _, stderr, code := r.run(c.args...); code != cli.ExitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v ended with %d: %s", c.args, code, stderr)
		}
	}
	r.projectPlain(4)
	places := r.places(r.ledgers(), 2)
	r.sameStatements()
	r.sameCommands(places[0], places[2]) // of two shards
	r.packs(places[0], places[2])
	pages := r.samePages(places[0], places[2])
	r.samePrices(places[0], places[2])
	r.sameStorage()
	r.sameProofs()
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
	if err := r.shards[1].Close(); err != nil {
		t.Fatal(err)
	}
	if code := tail.Code(t, time.Minute); code == cli.ExitDone || !strings.Contains(tail.Messages.String(), "shard 2 at 127.0.0.1:") {
		t.Errorf("tail ended with %d: %s", code, &tail.Messages)
	}
	for _, args := range [][]string{
		{"query", "sessions"}, {"query", "checks"}, {"query", "model-usage"}, {"query", "--sql", "SELECT 1"}, {"tail", "--no-follow"}, {"quarantine", "list"}, {"quarantine", "list", "--counts"}, {"quarantine", "show", "1"}, {"quarantine", "replay", "1"}, {"prices", "built-in", "on"}, {"project", "--until-caught-up"}, {"migrate", "--cluster", embeddedtest.ClusterName},
		{"evidence", "export", "--session", places[0].session, "--out", filepath.Join(r.data, "lost")},
		{"erase", "--subject", "user-812", "--reason", "r", "--policy-ref", "p", "--yes"}, {"redaction", "revoke", "r", "--reason", "r", "--policy-ref", "p"},
		{"project", "--recheck"}, {"retention", "show"}, {"quarantine", "preview"},
		{"window", "--last"}, {"why", "--turn", places[0].turn, "--item", places[0].item}, {"report", "--session", places[0].session, "--out", filepath.Join(r.data, "lost.html")},
	} {
		stdout, stderr, code := r.run(args...)
		if code != cli.ExitUnreachable || stdout != "" || !strings.Contains(stderr, "shard 2 at 127.0.0.1:") {
			t.Errorf("%v without a shard ended with %d: %s%s", args, code, stdout, stderr)
		}
	}
	one, err := ledger.Open(t.Context(), r.shards[0].ReaderDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	var rows uint64
	if err := one.SQL(nil).Conn.QueryRow(t.Context(), "SELECT count() FROM ctxledger_all.events").Scan(&rows); err == nil {
		t.Errorf("without a shard there are %d events on all", rows)
	}
	pagesLackAShard(t, pages, places[0])
	if stdout, stderr, code := r.run("doctor"); code != cli.ExitUnreachable || !strings.Contains(stdout, "shard 2 at 127.0.0.1:") {
		t.Errorf("doctor without a shard ended with %d: %s%s", code, stdout, stderr)
	}
}

// sameCommands compares commands about a session with one machine: for a place of each shard, for a
// turn of each, and for turn ids that several sessions have.
func (r *shardRig) sameCommands(first, second place) {
	r.t.Helper()
	report, now := filepath.Join(r.data, "report.html"), time.Now().UTC().Format(time.RFC3339)
	questions := [][]string{
		{"window", "--last"}, {"window", "--last", "--session", second.session},
		{"diff", "--turn", first.turn, "--session", first.session, "--turn", second.turn, "--session", second.session},
	}
	for _, tenant := range r.tenants() { // the newest windows are on different shards
		questions = append(questions, []string{"query", "turns", "--last", "--param", "tenant=" + tenant})
	}
	for _, p := range []place{first, second} {
		of := func(command ...string) []string { return append(command, "--turn", p.turn, "--session", p.session) }
		questions = append(questions,
			of("window", "--as-of", now, "-o", "json"), of("window", "-o", "csv"), []string{"window", "--turn", p.turn},
			of("why", "--item", p.item, "--proof"), []string{"why", "--turn", p.turn, "--item", p.item[:len(p.item)-1]})
	}
	questions = append(questions, []string{"report", "--session", first.session, "--out", report}, []string{"report", "--turn", second.turn, "--out", report})
	done := 0
	for _, args := range questions {
		got, code := r.printed(r.shards[0].ClickHouseDSN(), report, args)
		want, wantCode := r.printed(r.dsn, report, args)
		if code == cli.ExitDone {
			done++
		}
		if at := differAt(got, want); code != wantCode || at >= 0 || len(got) < 100 {
			at = max(at-100, 0)
			r.t.Errorf("%v ended with %d, on one machine with %d, and printed\n%.600s\nand on one machine\n%.600s", args, code, wantCode, got[min(at, len(got)):], want[min(at, len(want)):])
		}
	}
	for _, p := range []place{first, second} {
		shell := clitest.Command("__complete", "window", "--data", r.data, "--turn", p.turn)
		shell.Env = r.command().Env
		if code := shell.Begin(r.t).Code(r.t, 2*time.Minute); code != cli.ExitDone || !strings.Contains(shell.Results.String(), p.turn+"\tsession ") {
			r.t.Errorf("the shell completes %s with %d: %s%s", p.turn, code, &shell.Results, &shell.Messages)
		}
	}
	if done < 12 {
		r.t.Errorf("only %d of %d commands had an answer", done, len(questions))
	}
	for args, says := range map[string]string{
		"window --turn nowhere":                              `no shard has facts of a turn "nowhere"`,
		"window --turn t --session " + first.session[:6]:     "on a cluster give the whole id",
		"report --out r.html --session " + first.session[:6]: "on a cluster give the whole id",
	} {
		if _, stderr, code := r.run(strings.Fields(args)...); code != cli.ExitFailed || !strings.Contains(stderr, says) {
			r.t.Errorf("%s ended with %d: %s", args, code, stderr)
		}
	}
}

// sameStatements: each shard answers a statement for itself, and all sessions are in one of the answers.
func (r *shardRig) sameStatements() {
	r.t.Helper()
	sessions := "SELECT session_id, count() AS calls FROM calls GROUP BY session_id ORDER BY session_id"
	of := strings.Split(r.must("query", "-o", "csv", "--sql", sessions), "\n")
	text, _ := r.printed(r.dsn, "", []string{"query", "-o", "csv", "--sql", sessions})
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
		r.t.Errorf("the shards have %v, and gave\n%q\nand one machine\n%q", shards, of, want)
	}
	if _, stderr, code := r.run("query", "--max-rows", fmt.Sprint(len(want)-3), "--sql", sessions); code != cli.ExitFailed || !strings.Contains(stderr, "--max-rows") {
		r.t.Errorf("too many rows of a statement ended with %d: %s", code, stderr)
	}
}

// doctorLooksAtAllShards: the command names each shard, and one that does not follow its streams. A bundle
// is made, too.
func (r *shardRig) doctorLooksAtAllShards() {
	r.t.Helper()
	bundle := filepath.Join(r.data, "bundle.zip")
	out := r.must("doctor", "--bundle", bundle)
	for _, says := range []string{
		"shard 1 at 127.0.0.1:", "shard 2 at 127.0.0.1:", "tables of shard 1", "table room of shard 2",
		"4 partitions on 2 shards of " + embeddedtest.ClusterName, "all shards are level with their streams",
	} {
		if !strings.Contains(out, says) {
			r.t.Errorf("doctor does not say %q:\n%s", says, out)
		}
	}
	if _, err := os.Stat(bundle); err != nil {
		r.t.Error(err)
	}
	r.must("bench", "seed", "--seed", "2", "--events", "200")
	if stdout, _, code := r.run("doctor"); code != cli.ExitFailed || !strings.Contains(stdout, "events wait in its streams and nothing projects them") {
		r.t.Errorf("doctor beside unprojected events ended with %d:\n%s", code, stdout)
	}
	m, err := shardmap.Read(r.t.Context(), r.js)
	if err != nil {
		r.t.Fatal(err)
	}
	m.Move = &shardmap.Move{Partition: 1, From: 2, To: 1, Step: shardmap.Switching}
	if err := m.Save(r.t.Context(), r.js); err != nil {
		r.t.Fatal(err)
	}
	if stdout, _, code := r.run("doctor"); code != cli.ExitFailed || !strings.Contains(stdout, "partition 1 moves to shard 1 (switching)") ||
		!strings.Contains(stdout, "if the move was interrupted, run `ctxledger shards move --partition 1 --to 1`") {
		r.t.Errorf("doctor beside an interrupted move ended with %d:\n%s", code, stdout)
	}
	m.Move = nil
	if err := m.Save(r.t.Context(), r.js); err != nil {
		r.t.Fatal(err)
	}
}

// sameProofs compares the logs of all streams with one machine.
func (r *shardRig) sameProofs() {
	r.t.Helper()
	logs := 0
	for _, stream := range schema.Partitions(4).EventStreams() {
		head := filepath.Join(r.data, stream.Name+".head")
		if text, _ := r.printed(r.dsn, "", []string{"proof", "checkpoint", "--stream", stream.Name, "-o", "json"}); strings.Contains(text, `"size":0,`) {
			continue // no session is in this stream
		}
		logs++
		for _, args := range [][]string{
			{"proof", "checkpoint", "--stream", stream.Name, "-o", "json", "--out", head}, {"proof", "consistency", "1", head}, {"proof", "consistency", "--stream", stream.Name, "1", "5"},
			{"proof", "witness", "--stream", stream.Name, "--state", filepath.Join(r.data, "witness"), "-o", "json"},
		} {
			got, code := r.printed(r.shards[0].ClickHouseDSN(), "", args)
			want, wantCode := r.printed(r.dsn, "", args)
			if code != cli.ExitDone || wantCode != cli.ExitDone || got != want && args[1] != "witness" {
				r.t.Errorf("%v ended with %d and %d:\n%.700s\nand on one machine\n%.700s", args, code, wantCode, got, want)
			}
		}
	}
	if logs < 2 {
		r.t.Errorf("only %d logs have leaves", logs)
	}
	if _, stderr, code := r.run("proof", "checkpoint"); code != cli.ExitFailed || !strings.Contains(stderr, "the log of stream CTX has no signed head yet") {
		r.t.Errorf("the head of no stream ended with %d: %s", code, stderr)
	}
}

// sameStorage compares what the shards store together with one machine.
func (r *shardRig) sameStorage() {
	r.t.Helper()
	var reports [2]storage.Report
	for i, dsn := range []string{r.shards[0].ClickHouseDSN(), r.dsn} {
		text, code := r.printed(dsn, "", []string{"storage", "-o", "json"})
		if err := json.Unmarshal([]byte(text), &reports[i]); err != nil || code != cli.ExitDone {
			r.t.Fatalf("storage ended with %d, %v: %s", code, err, text)
		}
	}
	rows := func(c storage.ClickHouse, table string) int64 {
		at := slices.IndexFunc(c.Tables, func(t storage.Table) bool { return t.Name == table })
		return c.Tables[at].Rows
	}
	all, one := reports[0].ClickHouse, reports[1].ClickHouse
	for _, table := range []string{"events", "calls", "log_hashes"} {
		if rows(all, table) != rows(one, table) || rows(one, table) == 0 {
			r.t.Errorf("%s has %d rows, and %d on one machine", table, rows(all, table), rows(one, table))
		}
	}
	if len(all.Tables) != len(one.Tables)+1 || // cluster_shards
		len(all.Tenants) != len(one.Tenants) || len(all.Disks) != 2*len(one.Disks) {
		r.t.Errorf("%d tables, %d tenants and %d disks, on one machine %d, %d and %d", len(all.Tables), len(all.Tenants), len(all.Disks), len(one.Tables), len(one.Tenants), len(one.Disks))
	}
	if !strings.Contains(all.Disks[1].Name, " of shard 2 at 127.0.0.1:") {
		r.t.Errorf("a disk of the second shard is named %q", all.Disks[1].Name)
	}
}

// packs exports packs from the shards and from one machine, with the same records, and verifies them.
func (r *shardRig) packs(places ...place) {
	r.t.Helper()
	scopes := [][]string{{"--last"}}
	for _, p := range places {
		scopes = append(scopes, []string{"--session", p.session}, []string{"--session", p.session, "--turn", p.turn})
	}
	r.samePacks(scopes...)
}

// ofPack matches what packs with the same records differ in: the id of the pack and the time of the export.
var ofPack = regexp.MustCompile(`pack-[0-9a-f-]{36}|"(created|updated|checked)_at":"[^"]*"|Made at [^ ]*`)

// samePacks exports scopes from the shards and from one machine. The packs verify and have the same records.
func (r *shardRig) samePacks(scopes ...[]string) {
	r.t.Helper()
	key := strings.TrimSpace(r.must("proof", "keygen"))
	for _, scope := range scopes {
		folder := r.t.TempDir()
		var records [2][]byte
		for j, dsn := range []string{r.shards[0].ClickHouseDSN(), r.dsn} {
			out := filepath.Join(folder, fmt.Sprint(j))
			args := append([]string{"evidence", "export", "--unrecorded", "--out", out}, scope...)
			if text, code := r.printed(dsn, "", args); code != cli.ExitDone {
				r.t.Fatalf("%v ended with %d: %s", args, code, text)
			}
			r.must("evidence", "verify", out, "--key", key)
			var err error
			if records[j], err = os.ReadFile(filepath.Join(out, pack.EventsFile)); err != nil {
				r.t.Fatal(err)
			}
		}
		for _, name := range document.Files() {
			var texts [2]string
			for j := range texts {
				text, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(j), name))
				if err != nil {
					r.t.Fatal(err)
				}
				texts[j] = ofPack.ReplaceAllString(string(text), "")
			}
			if at := differAt(texts[0], texts[1]); at >= 0 {
				at = max(at-100, 0)
				r.t.Errorf("%v: %s has\n%.300s\nand on one machine\n%.300s", scope, name, texts[0][min(at, len(texts[0])):], texts[1][min(at, len(texts[1])):])
			}
		}
		if !bytes.Equal(records[0], records[1]) || len(records[0]) == 0 {
			r.t.Errorf("%v: %d bytes of records, and %d from one machine", scope, len(records[0]), len(records[1]))
		}
	}
}

// tenants returns the tenants that have windows.
func (r *shardRig) tenants() (list []string) {
	r.t.Helper()
	err := r.plain.SQL(nil).Conn.QueryRow(r.t.Context(), `SELECT groupUniqArray(tenant) FROM (
		SELECT tenant FROM calls WHERE turn_id != '' AND window_first IS NOT NULL
		UNION ALL SELECT tenant FROM placements WHERE turn_id != '' AND event_type = 'context.assembly.created')`).Scan(&list)
	if err != nil || len(list) < 3 {
		r.t.Fatalf("the tenants are %v: %v", list, err)
	}
	return list
}

// written matches the time of a report.
var written = regexp.MustCompile(`written [^;]*;`)

// printed returns all that a command writes, also into a report, and its exit code.
func (r *shardRig) printed(dsn, report string, args []string) (string, int) {
	r.t.Helper()
	stdout, stderr, code := r.runOn(dsn, args...)
	text := stdout + stderr
	page, err := os.ReadFile(report)
	if err == nil {
		err = os.Remove(report)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return text + written.ReplaceAllString(string(page), ""), code
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
