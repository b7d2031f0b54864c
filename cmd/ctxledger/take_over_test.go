package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// TestTakeOversOfKilledHolders kills 20 times the process that projects, while another one waits and events are
// published. From the kill to the next commit passes at most 2 s, and each event is there once. It measures,
// and runs only with CTXLEDGER_MEASURE.
func TestTakeOversOfKilledHolders(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	needEngine(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := embeddedtest.Start(t)
	nc, err := nats.Connect(s.NATSURL())
	must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	must(err)
	_, err = streamio.EnsureStreams(t.Context(), js)
	must(err)
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	must(err)
	defer l.Close()
	_, err = shadow.Of(l).Migrate(t.Context())
	must(err)
	_, incarnation, err := streamio.OpenStream(t.Context(), js, schema.EventStream)
	must(err)

	keys := t.TempDir()
	_, err = cli.RingIn(keys)
	must(err)
	begin := func() *program { // all processes have the same keys, in folders of their own
		data := t.TempDir()
		must(os.MkdirAll(filepath.Join(data, "keys"), 0o700))
		files, err := filepath.Glob(filepath.Join(keys, "keys", "*"))
		must(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(err)
			must(os.WriteFile(filepath.Join(data, "keys", filepath.Base(file)), text, 0o600))
		}
		p := command("project", "--data", data)
		p.Env = append(os.Environ(), "CTXLEDGER_NATS_URL="+s.NATSURL(), "CTXLEDGER_CLICKHOUSE_DSN="+s.ClickHouseDSN())
		return p.begin(t)
	}
	running := []*program{begin()} // the first one holds the lease
	stop, stopped, published := make(chan struct{}), make(chan error, 1), 0
	go func() {
		for ticker := time.NewTicker(2 * time.Millisecond); ; published++ { // 500 a second
			select {
			case <-stop:
				stopped <- nil
				return
			case <-ticker.C:
			}
			e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: fmt.Sprint("i-", published)}, fmt.Sprint("e-", published), "urn:test", time.Now(), schema.Correlation{SessionID: "s"})
			if err == nil {
				m := e.Binary()
				_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
			}
			if err != nil {
				stopped <- err
				return
			}
		}
	}()
	last := func() uint64 {
		t.Helper()
		r, _, err := l.LastCommit(t.Context(), incarnation)
		must(err)
		return r.Last
	}
	await := func(what string, ok func() bool) time.Duration {
		t.Helper()
		began := time.Now()
		for ; !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 15*time.Second {
				for _, p := range running {
					select {
					case <-p.done:
						t.Logf("ended: %s %s", p.stdout.String(), p.stderr.String())
					default:
						t.Log("runs")
					}
				}
				t.Fatalf("timed out waiting until %s", what)
			}
		}
		return time.Since(began)
	}
	await("events are projected", func() bool { return last() > 500 })
	running = append(running, begin())
	time.Sleep(3 * time.Second) // the second one waits
	var took []time.Duration
	for i := range 20 {
		holder := i % 2
		must(running[holder].Process.Signal(syscall.SIGKILL))
		<-running[holder].done
		before := last()
		took = append(took, await("the other one commits", func() bool { return last() > before }))
		t.Log(i, took[len(took)-1], running[1-holder].stderr.String())
		running[holder] = begin()
		time.Sleep(3 * time.Second)
	}
	close(stop)
	must(<-stopped)
	await("all is projected", func() bool { return last() >= uint64(published) })
	var rows, events uint64
	must(l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT count(), uniqExact(event_id) FROM events").Scan(&rows, &events))
	if rows != uint64(published) || events != rows {
		t.Errorf("%d rows of %d events, want %d", rows, events, published)
	}
	slices.Sort(took)
	t.Logf("from the kill to the next commit: median %v, longest %v", took[len(took)/2], took[len(took)-1])
	if took[len(took)-1] > 2*time.Second {
		t.Errorf("a take-over takes %v", took)
	}
}
