package ask_test

import (
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/read/turn"
	"github.com/ctxledger/ctxledger/queries"
)

// TestShardsOfManyEvents compares shards with one machine: the rate of a drain with two projectors, all
// answers, packs, and what each query costs. CTXLEDGER_MEASURE is the number of events, such as 2000000, and
// CTXLEDGER_SHARDS the number of shards, 2 without it.
func TestShardsOfManyEvents(t *testing.T) {
	events, err := strconv.Atoi(os.Getenv("CTXLEDGER_MEASURE"))
	if err != nil || events < 1000 {
		t.Skip("measures: set CTXLEDGER_MEASURE to a number of events")
	}
	n := 2
	if text := os.Getenv("CTXLEDGER_SHARDS"); text != "" {
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	r := newShardRig(t, n)
	r.Must("migrate", "--cluster", embeddedtest.ClusterName)
	r.Must("bench", "seed", "--events", strconv.Itoa(events))
	shards := r.drain(2)
	r.ProjectPlain()
	all := r.Ledgers()
	rows := 0
	for _, l := range all.All() {
		n, _ := shardtest.Digests(t, []*ledger.Ledger{l}, "events")
		rows += int(n)
	}
	t.Logf("%d shards: %d events in %v, %.0f a second", n, rows, shards, float64(rows)/shards.Seconds())

	one := standaloneRig(t)
	one.Must("migrate")
	one.Must("bench", "seed", "--events", strconv.Itoa(events))
	alone := one.drain(1)
	t.Logf("one machine: %v, ratio of the rates %.2f (bar 0.9)", alone, alone.Seconds()/shards.Seconds())

	places := r.Places(all, 1)
	t.Logf("%d rows of answers are equal", r.SameAnswers(all, queries.All(), places))
	r.packs(places...)
	for _, q := range queries.All() {
		how, ok := q.Merge()
		if !ok {
			continue
		}
		about := shardtest.Questions(q, how)
		for _, at := range places {
			if given, ok := shardtest.QuestionOf(q, at); ok {
				about = append(about, given)
			}
		}
		for _, given := range about {
			bound, err := q.Bind(given)
			if err != nil {
				t.Fatal(err)
			}
			onShards := fastest(t, func() error {
				_, err := shardtest.AllRows(answer.Query(t.Context(), all, q, bound, read.DefaultLimits()))
				return err
			})
			onOne := fastest(t, func() error {
				_, err := shardtest.AllRows(turn.Query(t.Context(), r.Plain, q, bound, read.DefaultLimits()))
				return err
			})
			if onShards == 0 || onOne == 0 {
				continue // the error is told
			}
			if over := onShards - onOne*3/2 - 30*time.Millisecond; over > 0 {
				t.Logf("%s %v: %v, one machine %v: %v over the bar", q.Name, given, onShards, onOne, over)
			}
		}
	}
}

// drain returns how long a number of projectors take until no event is left.
func (r *shardRig) drain(projectors int) time.Duration {
	r.T.Helper()
	began := time.Now()
	var all []*clitest.Program
	for range projectors {
		all = append(all, r.Command("project", "--until-caught-up").Begin(r.T))
	}
	for _, p := range all {
		if code := p.Code(r.T, time.Hour); code != cli.ExitDone {
			r.T.Fatalf("project ended with %d: %s", code, &p.Messages)
		}
	}
	return time.Since(began)
}

// fastest returns the shortest of three runs, or 0 after an error.
func fastest(t *testing.T, run func() error) time.Duration {
	t.Helper()
	var took []time.Duration
	for range 3 {
		began := time.Now()
		if err := run(); err != nil {
			t.Error(err)
			return 0
		}
		took = append(took, time.Since(began))
	}
	return slices.Min(took)
}

// standaloneRig has one machine in the place of the shards.
func standaloneRig(t *testing.T) *shardRig {
	t.Helper()
	return &shardRig{shardtest.NewRigOf(t, []*embeddedtest.Servers{embeddedtest.ClickHouse(t)})}
}
