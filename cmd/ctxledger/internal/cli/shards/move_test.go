package shards_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// TestPartitionMoves adds a third shard to a cluster of two, and moves a partition to it and back under load,
// while movers, projectors and engines are killed. Answers are right or name the reason. Afterwards all tables
// are those of one machine. A tenant has streams of its own, which move, too. CTXLEDGER_FAULTS=long kills 20.
func TestPartitionMoves(t *testing.T) {
	t.Parallel()
	kills := 2
	if os.Getenv("CTXLEDGER_FAULTS") == "long" {
		kills = 20
	}
	m := newMoves(t)
	m.Must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "4")
	m.Must("prices", "import", m.prices())
	for _, seed := range []string{"1", "2"} {
		m.Must("bench", "seed", "--events", "3000", "--days", "20", "--seed", seed)
		m.Must("project", "--until-caught-up")
		m.ProjectPlain()
	}
	m.Must("retention", "set", "--bytes", "1KiB")
	if out := m.Must("retention", "run"); !strings.Contains(out, "CTX_0: removed ") || strings.Contains(out, "CTX_0: removed 0 ") {
		t.Errorf("the retention printed %s", out)
	}
	m.Must("retention", "set", "--none")
	m.addShard()
	m.refusesMoves()
	m.projectors = []*clitest.Program{m.Command("project").Begin(t), m.Command("project").Begin(t)}
	m.ownStreams()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	load.Go(func() { m.publishes(ctx) })
	load.Go(func() { m.asks(ctx) })
	to := 3
	for done := 0; done < kills; to = 4 - to {
		done += m.moveUnder(to, kills-done)
	}
	stop()
	load.Wait()
	m.level()
	t.Logf("%d answers were right, %d named a reason; %d facts were published", m.right.Load(), m.reasons.Load(), m.Facts)
	if m.right.Load() < 3 {
		t.Errorf("only %d answers", m.right.Load())
	}
	m.sameAsOneMachine()
	m.movesExpired()
	if kills > 2 {
		m.waitsForNoOther() // takes as long as a lease lasts
	}
	m.keepsShard()
	m.stillWithholds()
	if err := m.Shards[1].Close(); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := m.move(1, 1); code != cli.ExitUnreachable || !strings.Contains(stderr, "shard 2 at ") {
		t.Errorf("a move from a shard that is down ended with %d: %s", code, stderr)
	}
}

// waitsForNoOther begins a move next to another process that has the lease of moves.
func (m *moves) waitsForNoOther() {
	m.T.Helper()
	kv, err := lease.OpenBucket(m.T.Context(), m.JS)
	if err != nil {
		m.T.Fatal(err)
	}
	claim := lease.Claim{KV: kv, Key: lease.RebuildKey, Owner: "other", Timing: lease.DefaultTiming, Log: slog.New(slog.DiscardHandler)}
	other, _, err := claim.Acquire(m.T.Context())
	if err != nil {
		m.T.Fatal(err)
	}
	if _, stderr, code := m.move(1, 1); code != cli.ExitFailed || !strings.Contains(stderr, rebuild.ErrBusy.Error()) {
		m.T.Errorf("a second move ended with %d: %s", code, stderr)
	}
	if _, stderr, code := m.Run("migrate", "--cluster", embeddedtest.ClusterName, "--tenant", "globex", "--partitions", "4"); code != cli.ExitFailed || !strings.Contains(stderr, rebuild.ErrBusy.Error()) {
		m.T.Errorf("migrate next to a move ended with %d: %s", code, stderr)
	}
	other.End(m.T.Context(), nil)
}

// moves is a cluster whose partitions move.
type moves struct {
	*shardtest.Rig
	*shardtest.Person
	ports      []int
	projectors []*clitest.Program
	sessions   []string // of each partition
	seeded     map[string]string
	right      atomic.Int64 // answers
	reasons    atomic.Int64 // answers that were an error
	took       time.Duration
}

func newMoves(t *testing.T) *moves {
	t.Helper()
	m := &moves{sessions: make([]string, 4), took: 8 * time.Second}
	clitest.NeedEngine(t)
	m.Rig = shardtest.NewRigOf(t, embeddedtest.NewShards(t, 3, func(number int, ports []int) string {
		m.ports = ports
		if number < 3 {
			ports = ports[:2]
		}
		return embeddedtest.ShardConfig(number, ports)
	}))
	m.Person = shardtest.NewPerson(m.Rig)
	for i := range 64 {
		session := fmt.Sprint("moves-", i)
		subject := schema.Subject{Tenant: "acme", Runtime: schema.DefaultRuntime, Bucket: schema.Bucket(session), Object: "item", Verb: "added"}
		m.sessions[schema.Partitions(4).Of(subject.String())] = session
	}
	return m
}

// addShard gives the first two servers the list of three shards, and migrates. The map stays.
func (m *moves) addShard() {
	m.T.Helper()
	m.configure(m.ports)
	out := m.Must("migrate", "--cluster", embeddedtest.ClusterName)
	if !strings.Contains(out, "copied prices and limits from shard 1 ") || strings.Contains(out, "assigned") {
		m.T.Errorf("migrate printed %s", out)
	}
	if out := m.Must("migrate", "--cluster", embeddedtest.ClusterName); out != "everything is up to date\n" {
		m.T.Errorf("a second migrate printed %s", out)
	}
	if out := m.Must("prices", "list"); !strings.Contains(out, "EUR") {
		m.T.Errorf("the prices are %s", out)
	}
	out = m.Must("shards", "list")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 6 || !strings.Contains(lines[5], "shard 3 at") {
		m.T.Errorf("shards list printed %s", out)
	}
	m.seeded = m.answer()
	if len(m.seeded) < 4 {
		m.T.Fatalf("only %d sessions: %v", len(m.seeded), m.seeded)
	}
}

// ownStreams gives the tenant streams of its own while projectors run. Its sessions stay where they are, and an event
// that is sent again counts once.
func (m *moves) ownStreams() {
	m.T.Helper()
	earlier := m.Item(m.sessions[0], "user-1", "item-earlier", "in a shared stream", "")
	for says, args := range map[string][]string{
		"--partitions 2: on a cluster a tenant has as many streams of its own as there are shared ones: 4": {"migrate", "--cluster", embeddedtest.ClusterName, "--tenant", "acme", "--partitions", "2"},
		"give --cluster shards, too": {"migrate", "--tenant", "acme", "--partitions", "4"},
	} {
		if stdout, stderr, code := m.Run(args...); code != cli.ExitUsage || stdout != "" || !strings.Contains(stderr, says) {
			m.T.Errorf("%v ended with %d: %s%s", args, code, stdout, stderr)
		}
	}
	out := m.Must("migrate", "--cluster", embeddedtest.ClusterName, "--tenant", "acme", "--partitions", "4", "--max-bytes", "256MiB")
	if !strings.Contains(out, "created stream CTX_3-acme of tenant acme with 67108864 bytes") || !strings.Contains(out, "the events of these tenants only") {
		m.T.Errorf("migrate printed %s", out)
	}
	m.Send(earlier)
	m.level()
	if out := m.Must("shards", "list"); strings.Count(out, "\n") != 10 || !strings.Contains(out, "CTX_0-acme") {
		m.T.Errorf("shards list printed %s", out)
	}
	if out := m.Must("query", "duplicates", "--param", "tenant=acme", "-o", "csv"); strings.Count(out, "\n") != 2 {
		m.T.Errorf("the duplicates are %s", out)
	}
}

// configure gives the first two servers a list of shards.
func (m *moves) configure(ports []int) {
	m.T.Helper()
	for i, s := range m.Shards[:2] {
		path := filepath.Join(filepath.Dir(s.BackupsDir()), "config.d", "cluster.xml")
		if err := os.WriteFile(path, []byte(embeddedtest.ShardConfig(i+1, ports)), 0o600); err != nil {
			m.T.Fatal(err)
		}
		m.killEngine(i)
	}
	m.await("the engines are back", m.enginesAnswer)
}

// keepsShard takes the third shard, which has a partition, out of the lists of the others. That is refused,
// and all shards still answer.
func (m *moves) keepsShard() {
	m.T.Helper()
	before := m.Must("query", "sessions", "-o", "csv")
	m.configure(m.ports[:2])
	if stdout, stderr, code := m.Run("migrate", "--cluster", embeddedtest.ClusterName); code != cli.ExitUsage || stdout != "" ||
		!strings.Contains(stderr, "knows shard 3 at 127.0.0.1:") || !strings.Contains(stderr, "its sessions would be missing") {
		m.T.Errorf("migrate without shard 3 ended with %d: %s%s", code, stdout, stderr)
	}
	if after := m.Must("query", "sessions", "-o", "csv"); after != before {
		m.T.Errorf("the sessions are\n%s\nand were\n%s", after, before)
	}
	m.Must("project", "--until-caught-up")
}

// prices writes a file with prices.
func (m *moves) prices() (file string) {
	m.T.Helper()
	file = filepath.Join(m.Data, "prices.csv")
	if err := os.WriteFile(file, []byte("model,bucket,per_million,currency,source\n*,input,2.5,EUR,test\n"), 0o600); err != nil {
		m.T.Fatal(err)
	}
	return file
}

func (m *moves) killEngine(i int) {
	if err := syscall.Kill(m.Shards[i].EnginePID(), syscall.SIGKILL); err != nil {
		m.T.Logf("kill the engine of shard %d: %v", i+1, err)
	}
}

func (m *moves) await(what string, ok func() bool) {
	m.T.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.T.Fatalf("not so: %s", what)
		}
	}
}

// refusesMoves gives wrong commands. Nothing changes.
func (m *moves) refusesMoves() {
	m.T.Helper()
	before, err := shardmap.Read(m.T.Context(), m.JS)
	if err != nil {
		m.T.Fatal(err)
	}
	for _, c := range []struct {
		partition, to int
		says          string
	}{
		{4, 3, "there is no partition 4; the partitions are 0 to 3"}, {0, 9, "the cluster shards has no shard 9"},
	} {
		if _, stderr, code := m.move(c.partition, c.to); code != cli.ExitUsage || !strings.Contains(stderr, c.says) {
			m.T.Errorf("move of %d to %d ended with %d: %s", c.partition, c.to, code, stderr)
		}
	}
	if out, _, code := m.move(1, 2); code != cli.ExitDone || !strings.Contains(out, "partition 1 is on shard 2") {
		m.T.Errorf("a move to its own shard ended with %d: %s", code, out)
	}
	other := before
	other.Move = &shardmap.Move{Partition: 2, From: 1, To: 3, Step: shardmap.Copying}
	if err := other.Save(m.T.Context(), m.JS); err != nil {
		m.T.Fatal(err)
	}
	if _, stderr, code := m.move(0, 3); code != cli.ExitUsage || !strings.Contains(stderr, "finish it with `ctxledger shards move --partition 2 --to 3`") {
		m.T.Errorf("a second move ended with %d: %s", code, stderr)
	}
	if err := before.Save(m.T.Context(), m.JS); err != shardmap.ErrChanged {
		m.T.Errorf("an old map was saved: %v", err)
	}
	other.Move = nil
	if err := other.Save(m.T.Context(), m.JS); err != nil {
		m.T.Fatal(err)
	}
}

func (m *moves) move(partition, to int) (stdout, stderr string, code int) {
	m.T.Helper()
	return m.Run("shards", "move", "--partition", fmt.Sprint(partition), "--to", fmt.Sprint(to))
}

// publishes publishes facts in sessions of all partitions, 25 a second. A move projects and compares what came since
// its begin, so on a slow machine more facts would make it slower still.
func (m *moves) publishes(ctx context.Context) {
	tick := time.NewTicker(40 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.Item(m.sessions[i%4], "user-1", fmt.Sprint("item-", i), "under load", "")
		}
	}
}

// answer returns what a merged question says about each session that was seeded.
func (m *moves) answer() map[string]string {
	out, stderr, code := m.Run("query", "sessions", "--param", "limit=10000", "-o", "csv")
	if strings.Contains(stderr, "ctxledger: interrupted") {
		return nil // the test ends
	}
	if code != cli.ExitDone {
		m.reasons.Add(1)
		if !slices.ContainsFunc([]string{"a partition move", "the list of the shards has changed", "shard ", "ClickHouse at "}, func(s string) bool { return strings.Contains(stderr, s) }) {
			m.T.Errorf("a question ended with %d without a reason: %s", code, stderr)
		}
		return nil
	}
	list := make(map[string]string)
	for line := range strings.Lines(out) {
		if strings.Contains(line, "moves-") || strings.Contains(line, "session_id") {
			continue
		}
		if list[line] != "" {
			m.T.Errorf("a session is there twice: %s", line)
		}
		list[line] = line
	}
	return list
}

// asks asks until ctx ends. The answers about what was seeded are those of before.
func (m *moves) asks(ctx context.Context) {
	for ctx.Err() == nil {
		switch now := m.answer(); {
		case now == nil:
		case !maps.Equal(now, m.seeded):
			m.T.Errorf("an answer has %d sessions, and had %d before", len(now), len(m.seeded))
		default:
			m.right.Add(1)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // a question takes a second of the processors
		}
	}
}

// moveUnder moves the first partition, and kills at most so many processes meanwhile. It returns the number
// of kills.
func (m *moves) moveUnder(to, kills int) (done int) {
	m.T.Helper()
	for tries := 0; ; tries++ {
		began := time.Now()
		p := m.Command("shards", "move", "--partition", "0", "--to", fmt.Sprint(to), "-o", "json").Begin(m.T)
		if done < kills && tries < 5 {
			wait := time.Duration(rand.Int64N(int64(m.took + 2*time.Second)))
			select {
			case <-p.Done:
			case <-time.After(wait):
				done++
				m.kill(p)
			}
		}
		code := p.Code(m.T, 3*time.Minute)
		if code == cli.ExitDone {
			m.took = time.Since(began)
			m.T.Logf("moved to shard %d after %d kills: %s", to, done, &p.Results)
			return done
		}
		if code == cli.ExitNotVerified || code == cli.ExitUsage || tries > 8 {
			m.T.Fatalf("the move ended with %d: %s%s", code, &p.Results, &p.Messages)
		}
		if code == cli.ExitUnreachable {
			m.await("the engines are back", m.enginesAnswer)
		}
		stderr := p.Messages.String()
		m.T.Logf("the move ended with %d: %s", code, stderr[max(0, len(stderr)-300):])
	}
}

// enginesAnswer reports whether all shards answer.
func (m *moves) enginesAnswer() bool {
	for _, s := range m.Shards {
		l, err := ledger.Open(m.T.Context(), s.ClickHouseDSN())
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// kill kills the mover, a projector or the engine of a shard.
func (m *moves) kill(mover *clitest.Program) {
	switch rand.IntN(5) {
	case 0:
		at := rand.IntN(len(m.projectors))
		_ = m.projectors[at].Process.Kill()
		m.projectors[at] = m.Command("project").Begin(m.T)
		m.T.Log("killed a projector")
	case 1:
		at := []int{0, 2}[rand.IntN(2)]
		m.killEngine(at)
		m.T.Logf("killed the engine of shard %d", at+1)
	default:
		_ = mover.Process.Kill()
		m.T.Log("killed the mover")
	}
}

// level waits until the shards are level with the streams.
func (m *moves) level() {
	m.T.Helper()
	m.await("the shards are level", func() bool {
		for i, p := range m.projectors {
			if p.Ended() {
				if p.ProcessState.ExitCode() != cli.ExitUnreachable { // it began while an engine was down
					m.T.Errorf("a projector ended: %s", &p.Messages)
				}
				m.projectors[i] = m.Command("project").Begin(m.T)
			}
		}
		now, err := shardmap.Read(m.T.Context(), m.JS)
		if err != nil {
			return false
		}
		last, err := streamio.ReadLastSequences(m.T.Context(), m.JS)
		if err != nil {
			m.T.Fatal(err)
		}
		level, err := now.AwaitCommit(m.T.Context(), m.JS, m.Ledgers(), last, 10*time.Second)
		return err == nil && !slices.Contains(level, false)
	})
}

// sameAsOneMachine compares the tables, the answers and the logs with one machine, and rebuilds.
func (m *moves) sameAsOneMachine() {
	m.T.Helper()
	for _, p := range m.projectors { // they have the leases that the projectors of the machine need
		if err := p.Process.Signal(os.Interrupt); err != nil || p.Code(m.T, time.Minute) != cli.ExitDone {
			m.T.Errorf("project: %v %s", err, &p.Messages)
		}
	}
	m.ProjectPlain()
	if _, stderr, code := m.RunOn(m.DSN, "prices", "import", m.prices()); code != cli.ExitDone {
		m.T.Errorf("prices import ended with %d: %s", code, stderr)
	}
	shards := m.Ledgers()
	m.sameTables(shards)
	asked := slices.DeleteFunc(queries.All(), func(q queries.Query) bool {
		return !slices.Contains([]string{"sessions", "session-usage", "top-items", "checks", "duplicates", "quarantine"}, q.Name)
	})
	if rows := m.SameAnswers(shards, asked, nil); rows < 20 {
		m.T.Errorf("only %d rows were compared", rows)
	}
	m.SameProofs()
	if out := m.Must("rebuild", "--compare-only", "-o", "json"); strings.Count(out, `"equal":true`) < 2 {
		m.T.Errorf("rebuild printed %s", out)
	}
}

// sameTables compares the tables with one machine.
func (m *moves) sameTables(shards *cluster.Ledgers) {
	m.T.Helper()
	for _, table := range append(ledger.Tables(), "retold") {
		rows, digest := shardtest.Digests(m.T, shards.All(), table)
		if wantRows, want := shardtest.Digests(m.T, []*ledger.Ledger{m.Plain}, table); rows != wantRows || digest != want {
			m.T.Errorf("the shards have %d rows of %s, and one machine has %d", rows, table, wantRows)
		}
	}
}

// movesExpired moves the partition to the third shard after messages have left its streams. Their rows move, too.
func (m *moves) movesExpired() {
	m.T.Helper()
	if now, err := shardmap.Read(m.T.Context(), m.JS); err != nil || now.Shards[0] == 3 {
		m.moveUnder(1, 0)
	}
	for i := range 2 { // the messages of the last commit stay
		m.Item(m.sessions[0], "user-1", fmt.Sprint("item-last-", i), "before the retention", "")
		m.Must("project", "--until-caught-up")
	}
	m.ProjectPlain()
	m.Must("retention", "set", "--bytes", "1KiB")
	if out := m.Must("retention", "run"); !strings.Contains(out, "CTX_0-acme: removed ") || strings.Contains(out, "CTX_0-acme: removed 0 ") {
		m.T.Errorf("the retention printed %s", out)
	}
	m.Must("retention", "set", "--none")
	m.moveUnder(3, 0)
	m.sameTables(m.Ledgers())
}

// stillWithholds: a value that is redacted in a session of the moved partition is withheld in another one.
func (m *moves) stillWithholds() {
	m.T.Helper()
	m.projectors = []*clitest.Program{m.Command("project").Begin(m.T)}
	m.Redact(m.sessions[0], "redaction-1", "Rotterdam")
	m.level()
	m.await("the other shard knows", func() bool {
		m.Item(m.sessions[1], "user-1", fmt.Sprint("item-", m.Facts), "lives in Rotterdam", "")
		m.level()
		out, _, _ := m.Run("quarantine", "list", "-o", "csv")
		return strings.Contains(out, string(schema.CodeReintroduced))
	})
}
