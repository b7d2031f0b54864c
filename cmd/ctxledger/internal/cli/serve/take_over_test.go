package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// TestTakeOversOfKilledHolders kills 20 times the process that projects, while another one waits and events are
// published, and the tables have 20,000,000 identities. From the kill to the next commit passes at most 2 s, and
// each event is there once. It measures, and runs only with CTXLEDGER_MEASURE.
func TestTakeOversOfKilledHolders(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	r := newStandbyRig(t)
	must, js, l, incarnation := r.must, r.js, r.ledger, r.incarnation
	published := 0
	publish := func() error {
		e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: fmt.Sprint("i-", published)}, fmt.Sprint("e-", published), "urn:test", time.Now(), schema.Correlation{SessionID: "s"})
		if err == nil {
			m := e.Binary()
			_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
		}
		published++
		return err
	}
	// an older incarnation of the stream left 20,000,000 identities
	must(publish())
	if first := r.begin("--until-caught-up"); first.Code(t, clitest.StartPatience) != cli.ExitDone {
		t.Fatalf("the first event is not projected: %s", &first.Messages)
	}
	for part := range 20 {
		must(l.SQL(nil).Conn.Exec(t.Context(), fmt.Sprintf(`INSERT INTO events SELECT * EXCEPT number REPLACE (toUUID('00000000-0000-4000-8000-000000000001') AS incarnation,
			number AS sequence, cityHash64(number) AS identity) FROM (SELECT * FROM events LIMIT 1) AS one CROSS JOIN numbers(%d, 1000000) AS n`, 1+part*1_000_000)))
	}
	running := []*clitest.Program{r.begin()} // the first one holds the lease
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for ticker := time.NewTicker(2 * time.Millisecond); ; { // 500 a second
			select {
			case <-stop:
				stopped <- nil
				return
			case <-ticker.C:
			}
			if err := publish(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	await := func(what string, ok func() bool) time.Duration {
		t.Helper()
		began := time.Now()
		for ; !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 15*time.Second {
				for _, p := range running {
					select {
					case <-p.Done:
						t.Logf("ended: %s %s", p.Results.String(), p.Messages.String())
					default:
						t.Log("runs")
					}
				}
				t.Fatalf("timed out waiting until %s", what)
			}
		}
		return time.Since(began)
	}
	await("events are projected", func() bool { return r.last() > 500 })
	running = append(running, r.begin())
	time.Sleep(3 * time.Second) // the second one waits
	var took []time.Duration
	for i := range 20 {
		holder := i % 2
		must(running[holder].Process.Signal(syscall.SIGKILL))
		<-running[holder].Done
		before := r.last()
		took = append(took, await("the other one commits", func() bool { return r.last() > before }))
		t.Log(i, took[len(took)-1], running[1-holder].Messages.String())
		running[holder] = r.begin()
		time.Sleep(3 * time.Second)
	}
	close(stop)
	must(<-stopped)
	await("all is projected", func() bool { return r.last() >= uint64(published) })
	var rows, events uint64
	must(l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT count(), uniqExact(event_id) FROM events WHERE incarnation = ?", incarnation).Scan(&rows, &events))
	if rows != uint64(published) || events != rows {
		t.Errorf("%d rows of %d events, want %d", rows, events, published)
	}
	slices.Sort(took)
	t.Logf("from the kill to the next commit: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if took[len(took)-1] > 2*time.Second {
		t.Errorf("a take-over takes %v", took)
	}
}

// A standbyRig has servers with tables, and starts processes that project with the same keys.
type standbyRig struct {
	t           *testing.T
	js          jetstream.JetStream
	ledger      *ledger.Ledger
	incarnation uuid.UUID
	keys        string // folder
	environment []string
}

func newStandbyRig(t *testing.T) *standbyRig {
	t.Helper()
	clitest.NeedEngine(t)
	s := embeddedtest.Start(t)
	r := &standbyRig{t: t, keys: t.TempDir(), environment: append(os.Environ(), "CTXLEDGER_NATS_URL="+s.NATSURL(), "CTXLEDGER_CLICKHOUSE_DSN="+s.ClickHouseDSN())}
	nc, err := nats.Connect(s.NATSURL())
	r.must(err)
	t.Cleanup(nc.Close)
	r.js, err = jetstream.New(nc)
	r.must(err)
	_, err = streamio.EnsureStreams(t.Context(), r.js)
	r.must(err)
	r.ledger, err = ledger.Open(t.Context(), s.ClickHouseDSN())
	r.must(err)
	t.Cleanup(func() { r.ledger.Close() })
	_, err = shadow.Of(r.ledger).Migrate(t.Context())
	r.must(err)
	_, r.incarnation, err = streamio.OpenStream(t.Context(), r.js, schema.EventStream)
	r.must(err)
	_, err = cli.RingIn(r.keys)
	r.must(err)
	return r
}

func (r *standbyRig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// begin starts a process in a data folder of its own.
func (r *standbyRig) begin(args ...string) *clitest.Program {
	r.t.Helper()
	data := r.t.TempDir()
	r.must(os.CopyFS(data, os.DirFS(r.keys)))
	files, err := filepath.Glob(filepath.Join(data, "keys", "*"))
	r.must(err)
	for _, file := range files {
		r.must(os.Chmod(file, 0o600))
	}
	p := clitest.Command(append([]string{"project", "--data", data}, args...)...)
	p.Env = r.environment
	return p.Begin(r.t)
}

// epoch counts how often the lease was taken.
func (r *standbyRig) epoch() uint64 {
	r.t.Helper()
	bucket, err := lease.OpenBucket(r.t.Context(), r.js)
	r.must(err)
	_, entry, err := lease.ReadEntry(r.t.Context(), bucket, lease.KeyOf(schema.EventStream))
	r.must(err)
	return entry.Epoch
}

// last returns the last committed sequence.
func (r *standbyRig) last() uint64 {
	r.t.Helper()
	c, _, err := r.ledger.LastCommit(r.t.Context(), r.incarnation)
	r.must(err)
	return c.Last
}

// TestNoTakeOverWithoutNeed publishes for 10 minutes at 80 percent of the rate of a drain. The process that
// waits does not take over. It measures, and runs only with CTXLEDGER_MEASURE.
func TestNoTakeOverWithoutNeed(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	r := newStandbyRig(t)
	published := 0
	publish := func(n int) {
		t.Helper()
		acks := make([]jetstream.PubAckFuture, 0, n)
		for ; len(acks) < n; published++ {
			e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: fmt.Sprint("i-", published)}, fmt.Sprint("e-", published), "urn:test", time.Now(), schema.Correlation{SessionID: "s"})
			r.must(err)
			m := e.Binary()
			ack, err := r.js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
			r.must(err)
			acks = append(acks, ack)
		}
		for _, ack := range acks {
			select {
			case <-ack.Ok():
			case err := <-ack.Err():
				t.Fatal(err)
			}
		}
	}
	const backlog = 200_000
	for range backlog / 1000 {
		publish(1000)
	}
	began := time.Now()
	if p := r.begin("--until-caught-up"); p.Code(t, 10*time.Minute) != cli.ExitDone {
		t.Fatalf("the backlog is not projected: %s", &p.Messages)
	}
	rate := 0.8 * backlog / time.Since(began).Seconds()
	holder := r.begin()
	for r.last() < backlog || r.epoch() < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	standby, epoch := r.begin(), r.epoch()
	began = time.Now()
	var behind uint64
	for time.Since(began) < 10*time.Minute {
		if due := backlog + int(time.Since(began).Seconds()*rate); published < due {
			publish(min(1000, due-published))
		} else {
			time.Sleep(time.Millisecond)
		}
		if published%100_000 < 1000 {
			behind = max(behind, uint64(published)-r.last())
		}
	}
	if got := r.epoch(); got != epoch || holder.Ended() || standby.Ended() {
		t.Errorf("the lease was taken %d times more: %s%s", got-epoch, &holder.Messages, &standby.Messages)
	}
	t.Logf("%d events in 10 minutes at %.0f a second, at most %d behind, epoch %d", published-backlog, rate, behind, epoch)
}
