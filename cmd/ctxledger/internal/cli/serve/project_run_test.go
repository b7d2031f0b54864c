package serve_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// kept runs a keeper on servers with one event projected.
func kept(t *testing.T, alarmed bool) (k *instance.Keeper, js jetstream.JetStream, sql clickhouse.Conn, end func() error) {
	t.Helper()
	clitest.NeedEngine(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := embeddedtest.Installation(t)
	nc, err := nats.Connect(s.NATSURL())
	must(err)
	t.Cleanup(nc.Close)
	js, err = jetstream.New(nc)
	must(err)
	_, err = streamio.EnsureStreams(t.Context(), js)
	must(err)
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	must(err)
	t.Cleanup(func() { l.Close() })
	_, err = shadow.Of(l).Migrate(t.Context())
	must(err)
	sql = embeddedtest.Connect(t, s.ClickHouseDSN())
	e, err := schema.ParseStructured(schema.Golden("context.log.appended"))
	must(err)
	m := e.Binary()
	_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data})
	must(err)

	c := projector.DefaultConfig(js, l)
	c.UntilCaughtUp, c.Log = true, slog.New(slog.NewTextHandler(t.Output(), nil))
	first, err := projector.New(c)
	must(err)
	must(first.Run(t.Context()))

	c.UntilCaughtUp, c.Metrics = false, metrics.New()
	k = &instance.Keeper{Config: c, Streams: []string{schema.EventStream}, Tables: shardmap.Plain(l), Pause: 10 * time.Millisecond}
	if alarmed {
		k.Waits = instance.Alarming
	}
	must(k.Start())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	begin := func() { done <- k.Run(ctx) }
	end = func() error {
		cancel()
		return <-done
	}
	t.Cleanup(cancel)
	go begin()
	return k, js, sql, end
}

func awaitState(t *testing.T, k *instance.Keeper, want projector.Health) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); k.Fleet().Projectors()[0].Health() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it is %+v, want %+v", k.Fleet().Projectors()[0].Health(), want)
		}
	}
}

func TestLostLeaseIsStoodByFor(t *testing.T) {
	t.Parallel()
	k, js, _, end := kept(t, false)
	awaitState(t, k, projector.Health{State: projector.Projecting})
	loser := k.Fleet()
	bucket, err := js.KeyValue(t.Context(), lease.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.Put(t.Context(), schema.EventStream+".projection", []byte(`{"epoch":99,"owner":"","holder":"another"}`)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); k.Fleet() == loser; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the loser was not followed")
		}
	}
	awaitState(t, k, projector.Health{State: projector.Projecting})
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A fork is shown for as long as it lasts where somebody looks, and ends the
// process where nobody does.
func TestForkIsShown(t *testing.T) {
	t.Parallel()
	fork := func(t *testing.T, k *instance.Keeper, js jetstream.JetStream, sql clickhouse.Conn, statement string) {
		t.Helper()
		if err := sql.Exec(t.Context(), "ALTER TABLE commits UPDATE digest = "+statement+" WHERE 1 SETTINGS mutations_sync = 1"); err != nil {
			t.Fatal(err)
		}
		bucket, err := js.KeyValue(t.Context(), lease.Bucket)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bucket.Put(t.Context(), schema.EventStream+".projection", []byte(`{"epoch":99,"owner":"","holder":"another"}`)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("to somebody", func(t *testing.T) {
		t.Parallel()
		k, js, sql, end := kept(t, true)
		awaitState(t, k, projector.Health{State: projector.Projecting})
		fork(t, k, js, sql, "reverse(digest)")
		awaitState(t, k, projector.Health{State: projector.Stopped, Reason: "stream_forked"})
		if err := sql.Exec(t.Context(), "ALTER TABLE commits UPDATE digest = reverse(digest) WHERE 1 SETTINGS mutations_sync = 1"); err != nil {
			t.Fatal(err)
		}
		awaitState(t, k, projector.Health{State: projector.Projecting})
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	t.Run("to nobody", func(t *testing.T) {
		t.Parallel()
		k, js, sql, end := kept(t, false)
		awaitState(t, k, projector.Health{State: projector.Projecting})
		fork(t, k, js, sql, "reverse(digest)")
		awaitState(t, k, projector.Health{State: projector.Stopped, Reason: "stream_forked"})
		if err := end(); err == nil || !instance.Alarming(err) {
			t.Errorf("it ended with %v", err)
		}
	})
}

func TestProjectListens(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := t.TempDir()
	embeddedtest.Start(t, func(c *embedded.Config) { c.Dir = data })
	if _, stderr, code := clitest.Run(t, "migrate", "--data", data); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	address := clitest.FreeAddress(t)
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- clitest.RunContext(ctx, []string{"project", "--listen", address, "--log-format", "json", "--log-level", "debug", "--data", data}, nil, &stdout, &stderr)
	}()
	// It listens, and is ready as a stand-by, before it has the lease.
	held := regexp.MustCompile(`(?m)^\S*lease_held\S* 1$`)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var ready bool
		var metrics []byte
		response, err := http.Get("http://" + address + "/readyz")
		if err == nil {
			response.Body.Close()
			ready = response.StatusCode == http.StatusOK
			if response, err = http.Get("http://" + address + "/metrics"); err == nil {
				metrics, err = io.ReadAll(response.Body)
				response.Body.Close()
			}
		}
		if ready && held.Match(metrics) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("ready %v, %v\n%s", ready, err, metrics)
		}
	}
	if _, stderr, code := clitest.Run(t, "project", "--listen", address, "--data", data); code != cli.ExitFailed || !strings.Contains(stderr, "choose another port with --listen") {
		t.Errorf("a second one ended with %d: %s", code, stderr)
	}
	stop()
	if got := <-code; got != cli.ExitDone {
		t.Errorf("project ended with %d\n%s", got, &stderr)
	}
	for line := range strings.Lines(stderr.String()) {
		if !jsontext.Value(line).IsValid() {
			t.Errorf("logged %q, want JSON", line)
		}
	}
	if !strings.Contains(stderr.String(), `"event":"lease_acquired"`) {
		t.Errorf("the lease is not logged: %s", &stderr)
	}
	for _, wrong := range [][]string{{"project", "--listen", "nowhere"}, {"project", "--recheck", "--listen", address}, {"version", "--log-format", "xml"}, {"version", "--log-level", "loud"}} {
		if _, stderr, code := clitest.Run(t, append(wrong, "--data", data)...); code != cli.ExitUsage {
			t.Errorf("%v ended with %d: %s", wrong, code, stderr)
		}
	}
}
