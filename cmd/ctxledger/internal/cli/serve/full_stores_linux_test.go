package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

// TestStoresFilledUnderLoad fills the disk of one store of `up` 40 times while events are published. In three
// of four rounds the engine or `up` is killed. /readyz is bad within 15 s of the last free byte, and good
// within 15 s of new room. Each acknowledged event is there once. It measures, and runs only with
// CTXLEDGER_MEASURE.
func TestStoresFilledUnderLoad(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	for _, store := range []struct {
		folder    string
		kibibytes int
	}{{"clickhouse", 700 << 10}, {"nats", 400 << 10}} {
		t.Run(store.folder, func(t *testing.T) {
			disk := embeddedtest.SmallDisk(t, store.kibibytes)
			data := t.TempDir()
			if err := os.Symlink(disk, filepath.Join(data, store.folder)); err != nil {
				t.Fatal(err)
			}
			fillUnderLoad(t, data, disk, store.folder == "nats")
		})
	}
}

func fillUnderLoad(t *testing.T, data, disk string, restart bool) {
	p, found := clitest.BeginUp(t, data)
	ports := []string{"up", "--json", "--data", data}
	for flag, url := range map[string]string{"--nats-port": found.NATSURL, "--http-port": found.Health, "--clickhouse-port": found.ClickHouseDSN} {
		rest := url[strings.LastIndex(url, ":")+1:]
		port, _, _ := strings.Cut(rest, "/")
		ports = append(ports, flag, port)
	}
	ports = append(ports, "--clickhouse-http-port", "0", "--capture-port", "0")
	begin := func() *clitest.Program {
		p := clitest.Command(ports...)
		p.Stdout = io.Discard
		return p.Begin(t)
	}
	acknowledged, count, stop := publishUntilStopped(t, found.NATSURL)
	await := func(what string, ok func() bool) time.Duration {
		t.Helper()
		began := time.Now()
		for ; !ok(); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("timed out waiting until %s: %s\n%s", what, readiness(found.Health), &p.Messages)
			}
		}
		return time.Since(began)
	}
	ready := func() bool { return readiness(found.Health) == "" }
	kill := func() {
		if !p.Ended() {
			_ = p.Process.Kill()
			<-p.Done
		}
	}
	var bad, good []time.Duration
	for round := range 40 {
		before := count.Load()
		await("events are stored", func() bool { return ready() && count.Load() > before+20 })
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
		free := embeddedtest.FillDisk(t, disk)
		bad = append(bad, await("the health is bad", func() bool { return !ready() }))
		why := readiness(found.Health)
		switch round % 4 {
		case 1:
			_ = syscall.Kill(engineOf(t, data), syscall.SIGKILL)
		case 2: // it starts on a full disk, or gives up
			kill()
			p = begin()
			await("up starts", func() bool { return p.Ended() || readiness(found.Health) != "" })
		case 3:
			kill()
		}
		free()
		if restart || p.Ended() {
			kill()
			p = begin()
		}
		good = append(good, await("the health is good", ready))
		t.Logf("round %d: bad after %v, good after %v: %s", round, bad[round], good[round], why)
	}
	stop()
	l, err := ledger.Open(t.Context(), found.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var rows, events uint64
	await("all is projected", func() bool {
		err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT count(), uniqExact(event_id) FROM events").Scan(&rows, &events)
		return err == nil && events >= count.Load()
	})
	if rows != events {
		t.Errorf("%d rows of %d events", rows, events)
	}
	var there []string
	if err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT groupArray(event_id) FROM events").Scan(&there); err != nil {
		t.Fatal(err)
	}
	slices.Sort(there)
	for _, id := range *acknowledged {
		if _, ok := slices.BinarySearch(there, id); !ok {
			t.Fatalf("the acknowledged event %s is not in the tables", id)
		}
	}
	if stdout, stderr, code := clitest.Run(t, "rebuild", "--compare-only", "--data", data); code != cli.ExitDone {
		t.Errorf("the tables are not what the stream gives: %s%s", stdout, stderr)
	}
	t.Logf("%d events acknowledged, %d in the tables; bad after at most %v, good after at most %v", len(*acknowledged), events, slices.Max(bad), slices.Max(good))
}

// readiness returns why `up` is not ready, or "".
func readiness(url string) string {
	client := http.Client{Timeout: 3 * time.Second}
	answer, err := client.Get(url)
	if err != nil {
		return "no answer"
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode == http.StatusOK {
		return ""
	}
	var body struct{ Reasons []string }
	_ = json.Unmarshal(text, &body)
	return fmt.Sprint(answer.StatusCode, " ", body.Reasons)
}

// publishUntilStopped publishes 100 events a second and repeats each under its id until it is acknowledged.
func publishUntilStopped(t *testing.T, url string) (acknowledged *[]string, count *atomic.Uint64, stop func()) {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged, count = new([]string), new(atomic.Uint64)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; {
			select {
			case <-end:
				return
			case <-time.After(10 * time.Millisecond):
			}
			id := fmt.Sprint("e-", i)
			e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: fmt.Sprint("i-", i)}, id, "urn:test", time.Now(), schema.Correlation{SessionID: "s"})
			if err != nil {
				panic(err)
			}
			m := e.Binary()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err = js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
			cancel()
			if err == nil {
				*acknowledged = append(*acknowledged, id)
				count.Add(1)
				i++
			}
		}
	}()
	return acknowledged, count, func() { close(end); <-done }
}
