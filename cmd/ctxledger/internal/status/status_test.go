package status

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

// A running projector with its status, on servers of the test's own.
type running struct {
	*projector.Projector
	url  string
	stop func()
}

func begin(t *testing.T, s *embeddedtest.Servers) running {
	t.Helper()
	nc, err := nats.Connect(s.NATSURL(), nats.MaxReconnects(-1))
	must(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	must(t, err)
	_, err = streamio.EnsureStreams(t.Context(), js)
	must(t, err)
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, err = shadow.Of(l).Migrate(t.Context())
	must(t, err)
	c := projector.DefaultConfig(js, l)
	c.Metrics = metrics.New()
	p, err := projector.New(c)
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop := func() {
		cancel()
		err := <-done
		done <- err
		if err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := Serve(listener, Process{
		Projectors: func() []Projector { return []Projector{p} },
		NATS:       Connected(nc.IsConnected), ClickHouse: l.Ping, Metrics: NewRegistry(c.Metrics),
	})
	t.Cleanup(func() { server.Close() })
	return running{p, "http://" + listener.Addr().String(), stop}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	response, err := http.Get(r.url + path)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(body)
}

func (r running) ready(t *testing.T) (code int, body Readiness) {
	t.Helper()
	code, text := r.get(t, "/readyz")
	must(t, json.Unmarshal([]byte(text), &body, json.RejectUnknownMembers(true)))
	return code, body
}

func (r running) await(t *testing.T, what string, ok func(int, Readiness) bool) Readiness {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		code, body := r.ready(t)
		if ok(code, body) {
			return body
		}
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting until the process %s; the answer is %d %+v", what, code, body)
		}
	}
}

// scrape reads /metrics as Prometheus does and returns the values of a metric by
// the text of its labels.
func (r running) scrape(t *testing.T, name string) map[string]float64 {
	t.Helper()
	_, text := r.get(t, "/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	must(t, err)
	values := make(map[string]float64)
	for _, m := range families[name].GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		slices.Sort(labels)
		values[strings.Join(labels, ",")] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return values
}

// TestFromStandbyToALedgerThatIsDown goes through the states that a probe sees.
func TestFromStandbyToALedgerThatIsDown(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t)
	first := begin(t, s)
	first.await(t, "projects", func(code int, r Readiness) bool {
		return code == http.StatusOK && r.Streams[schema.EventStream].State == projector.Projecting
	})
	second := begin(t, s)
	standby := second.await(t, "stands by", func(code int, r Readiness) bool {
		return r.Streams[schema.EventStream].State == projector.Standby
	})
	if !standby.Ready || len(standby.Reasons) > 0 {
		t.Errorf("a healthy standby is %+v", standby)
	}
	if held := second.scrape(t, "ctxledger_projector_lease_held"); held["stream="+schema.EventStream] != 0 || len(held) != 1 {
		t.Errorf("the standby's lease is %v", held)
	}
	first.stop()
	stopped, why := first.ready(t)
	if stopped != http.StatusServiceUnavailable || why.Projector || !slices.Equal(why.Reasons, []string{"the projector of " + schema.EventStream + " is stopped"}) {
		t.Errorf("the first is %d %+v", stopped, why)
	}
	second.await(t, "takes over", func(code int, r Readiness) bool {
		return code == http.StatusOK && r.Streams[schema.EventStream].State == projector.Projecting
	})
	if held := second.scrape(t, "ctxledger_projector_lease_held"); held["stream="+schema.EventStream] != 1 {
		t.Errorf("the lease is %v", held)
	}

	must(t, syscall.Kill(s.EnginePID(), syscall.SIGSTOP))
	down := second.await(t, "misses the ledger", func(code int, r Readiness) bool { return code == http.StatusServiceUnavailable })
	if down.Ready || down.ClickHouse || !down.NATS || !slices.Equal(down.Reasons, []string{"ClickHouse does not answer"}) {
		t.Errorf("without the ledger it is %+v", down)
	}
	if code, text := second.get(t, "/healthz"); code != http.StatusOK || text != `{"alive":true}` {
		t.Errorf("/healthz answers %d %s: a ledger that is down is no reason to be ended", code, text)
	}
	must(t, syscall.Kill(s.EnginePID(), syscall.SIGCONT))
	second.await(t, "is ready again", func(code int, r Readiness) bool { return code == http.StatusOK && r.Ready })
}

// TestRefusedWrites: a process whose writes fail for ten seconds is not ready and says why. It is
// ready again after a commit.
func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Installation(t)
	r := begin(t, s)
	r.await(t, "projects", func(code int, _ Readiness) bool { return code == http.StatusOK })
	l, err := ledger.Open(t.Context(), s.ClickHouseDSN())
	must(t, err)
	defer l.Close()
	conn := l.SQL(nil).Conn
	must(t, conn.Exec(t.Context(), "INSERT INTO events (stream_seq) VALUES (1)"))
	must(t, conn.Exec(t.Context(), "ALTER TABLE events MODIFY SETTING parts_to_delay_insert = 1, parts_to_throw_insert = 1"))
	e, err := schema.ParseStructured(schema.Golden("context.log.appended"))
	must(t, err)
	m := e.Binary()
	_, err = s.JetStream(t).PublishMsg(t.Context(), &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
	must(t, err)
	refused := r.await(t, "is not ready", func(code int, _ Readiness) bool { return code == http.StatusServiceUnavailable })
	if refused.Projector || !refused.NATS || !refused.ClickHouse || len(refused.Reasons) != 1 || !strings.HasSuffix(refused.Reasons[0], ": write: clickhouse 252") {
		t.Errorf("while writes are refused it is %+v", refused)
	}
	must(t, conn.Exec(t.Context(), "ALTER TABLE events RESET SETTING parts_to_delay_insert, parts_to_throw_insert"))
	r.await(t, "is ready again", func(code int, body Readiness) bool {
		return code == http.StatusOK && body.Streams[schema.EventStream].Committed == 1
	})
}

// TestReadinessDoesNotWaitForAClient: a client that does not answer, and does not end with its
// context either, holds no probe up.
func TestReadinessDoesNotWaitForAClient(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	defer close(end)
	p := Process{
		Projectors: func() []Projector { return nil }, NATS: Connected(func() bool { return true }),
		ClickHouse: func(context.Context) error { <-end; return nil },
	}
	if r := p.ready(t.Context()); r.Ready || r.ClickHouse || !slices.Equal(r.Reasons, []string{"ClickHouse does not answer"}) {
		t.Errorf("it is %+v", r)
	}
}

// TestReadinessOfAProjector: short failures are no reason, and a missing key is one.
func TestReadinessOfAProjector(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		health projector.Health
		status projector.Status
	}{
		"": {health: projector.Health{State: projector.Projecting, Waiting: "write: clickhouse 252", Failing: 9 * time.Second}},
		"the projector of S has repeated a failed step for 12s: write: clickhouse 243": {
			health: projector.Health{State: projector.Projecting, Waiting: "write: clickhouse 243", Failing: 12300 * time.Millisecond}},
		"the projector of S lacks 2 keys that redactions name, and does not recognise their values: add the key files that the log names": {
			health: projector.Health{State: projector.Projecting}, status: projector.Status{UnknownKeys: 2}},
		"the projector of S is stopped: stream_forked": {health: projector.Health{State: projector.Stopped, Reason: "stream_forked"}},
	} {
		r := Readiness{Projector: true, Streams: make(map[string]Progress)}
		r.add("S", c.health, c.status)
		if got := strings.Join(r.Reasons, "; "); got != want || r.Projector != (want == "") {
			t.Errorf("%+v gives %q, %v", c, got, r.Projector)
		}
	}
}

func TestScrape(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Installation(t)
	r := begin(t, s)
	nc, err := nats.Connect(s.NATSURL())
	must(t, err)
	defer nc.Close()
	e, err := schema.ParseStructured(schema.Golden("context.log.appended"))
	must(t, err)
	m := e.Binary()
	for i, data := range [][]byte{m.Data, m.Data, []byte("{")} {
		header := nats.Header{}
		for name, values := range m.Header {
			header[name] = values
		}
		header[schema.MsgIDHeader] = []string{string(rune('a' + i))} // past the stream's own duplicate window
		must(t, nc.PublishMsg(&nats.Msg{Subject: m.Subject, Header: header, Data: data}))
	}
	r.await(t, "has committed", func(_ int, body Readiness) bool { return body.Streams[schema.EventStream].Committed == 3 })
	stream := "stream=" + schema.EventStream
	for name, want := range map[string]map[string]float64{
		"ctxledger_projector_messages_total":    {stream: 3},
		"ctxledger_projector_duplicates_total":  {stream: 1},
		"ctxledger_projector_quarantined_total": {"code=" + string(schema.CodeMalformed) + "," + stream: 1},
		"ctxledger_projector_rows_total": {
			stream + ",table=events": 1, stream + ",table=log_items": 1, stream + ",table=duplicates": 1, stream + ",table=quarantine": 1,
		},
	} {
		got := r.scrape(t, name)
		for labels, value := range want {
			if got[labels] != value || len(got) != len(want) {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
	}
	if build := r.scrape(t, "ctxledger_build_info"); len(build) != 1 {
		t.Errorf("the build is %v", build)
	}
}

// stuck is a projector that hangs.
type stuck struct{}

func (stuck) Stream() string           { return "CTX" }
func (stuck) Status() projector.Status { return projector.Status{} }
func (stuck) Health() projector.Health {
	return projector.Health{State: projector.Projecting, Stuck: true}
}

func TestStuckIsNotAlive(t *testing.T) {
	t.Parallel()
	p := Process{Projectors: func() []Projector { return []Projector{stuck{}} }}
	if l := p.alive(); p.Alive() || l.Alive || !slices.Equal(l.Stuck, []string{"CTX"}) {
		t.Errorf("it is %+v", l)
	}
}
