package bench

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}

// TestRawRestsInTheSameCompression: the raw table has the default codec of the ledger's tables.
// Otherwise the ratio would include a difference in compression.
func TestRawRestsInTheSameCompression(t *testing.T) {
	t.Parallel()
	dsn := embeddedtest.ClickHouse(t).ClickHouseDSN()
	l, err := ledger.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := shadow.Of(l).Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := connect(dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	codec := regexp.MustCompile(`default_compression_codec = '([^']+)'`)
	var engine string
	if err := conn.QueryRow(t.Context(), `SELECT engine_full FROM system.tables WHERE database = currentDatabase() AND name = 'events'`).Scan(&engine); err != nil {
		t.Fatal(err)
	}
	ledgers, raw := codec.FindStringSubmatch(engine), codec.FindStringSubmatch(statement("create_raw"))
	if !slices.Equal(ledgers, raw) {
		t.Errorf("the ledger's tables have %q, the raw one has %q", ledgers, raw)
	}
}

func TestSeedStoresEveryEvent(t *testing.T) {
	t.Parallel()
	js := jetStream(t)
	const n = 2500 // more than two batches
	got, err := preload(t.Context(), js, 1, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != n || state.LastSeq != n {
		t.Errorf("the stream holds %d messages up to %d, want %d", state.Msgs, state.LastSeq, n)
	}
	if got.Data <= 0 || got.Headers <= 0 || got.Stored < got.Data+got.Headers {
		t.Errorf("the sizes do not add up: %+v", got)
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no /proc")
		}
		t.Skip("there is no /proc")
	}
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; { // uses a measurable CPU time
		schema.Types()
	}
	if cpu, ok := cpuSeconds(os.Getpid()); !ok || cpu <= 0 {
		t.Errorf("CPU time %v, %v", cpu, ok)
	}
	if peak, ok := peakBytes(os.Getpid()); !ok || peak < 1<<20 {
		t.Errorf("peak %v, %v", peak, ok)
	}
	if _, ok := cpuSeconds(1 << 30); ok {
		t.Error("a process that is not there has CPU time")
	}
	if _, ok := peakBytes(1 << 30); ok {
		t.Error("a process that is not there has memory")
	}
}

func TestSummarise(t *testing.T) {
	t.Parallel()
	round := func(rate, cpu, peak float64, nats *float64) Round {
		return Round{PerSecond: rate, CPU: Processes{Client: &cpu, NATS: nats}, Peak: Processes{Client: &peak}}
	}
	got := summarise([]Round{round(30, 3, 100, new(1.0)), round(10, 1, 300, nil), round(20, 2, 200, new(2.0))}, 500_000)
	if got.PerSecond != 20 || *got.CPUPerMillion.Client != 4 || *got.Peak.Client != 300 {
		t.Errorf("got %v, %v, %v", got.PerSecond, *got.CPUPerMillion.Client, *got.Peak.Client)
	}
	if got.CPUPerMillion.NATS != nil || got.Peak.ClickHouse != nil {
		t.Error("what one round did not know has a figure")
	}
}

func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{5}, 5}, {[]float64{9, 1, 4}, 4}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := middle(slices.Clone(c.values)); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i) // 1 to 100
	}
	for part, want := range map[float64]float64{0.5: 51, 0.99: 100, 1: 100} {
		if got := percentile(values, part); got != want {
			t.Errorf("percentile %v is %v, want %v", part, got, want)
		}
	}
	if got := percentile(nil, 0.5); got != 0 {
		t.Errorf("of nothing it is %v", got)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	p := pace{begin: time.Unix(100, 0), rate: 200}
	if got := p.due(3).Sub(p.begin); got != 15*time.Millisecond {
		t.Errorf("the fourth event is due after %v", got)
	}
	for after, want := range map[time.Duration]int{0: 1, 14 * time.Millisecond: 3, 15 * time.Millisecond: 4, time.Second: 201} {
		if got := p.dueBy(p.begin.Add(after)); got != want {
			t.Errorf("after %v %d are due, want %d", after, got, want)
		}
	}
}

// TestRingRenewsIdentities: the second round has the same messages with new ids, without the
// headers of a batch.
func TestRingRenewsIdentities(t *testing.T) {
	t.Parallel()
	r := newRing(1, 3)
	seen := make(map[string]bool)
	for range 2 {
		for range 3 {
			m := r.next()
			id := m.Header["ce-id"][0]
			if seen[id] || m.Header[schema.MsgIDHeader][0] != id || m.Header["Nats-Batch-Commit"] != nil {
				t.Fatalf("message %s: %v", id, m.Header)
			}
			seen[id] = true
			m.Header["Nats-Batch-Commit"] = []string{"1"}
			e, err := schema.ParseMessage(m.Header, m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if _, violations := schema.Validate(e); len(violations) > 0 {
				t.Fatal(violations)
			}
		}
	}
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	if err := DefaultConfig("x").Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"folder": func(c *Config) { c.Dir = "" }, "events": func(c *Config) { c.Events = 0 },
		"rounds": func(c *Config) { c.Rounds = 0 }, "latency": func(c *Config) { c.Latency = -1 },
	} {
		c := DefaultConfig("x")
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReportOfUnknownFigures: an unknown value is null and a question mark, not zero.
func TestReportOfUnknownFigures(t *testing.T) {
	t.Parallel()
	unknown := summarise([]Round{{}}, 1)
	r := Report{Stream: Preloaded{Events: 1}, Raw: unknown, Unlogged: unknown, Drain: unknown}
	var table, text strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`raw copy +0 +0 +\? +\? +\?`).MatchString(table.String()) {
		t.Errorf("the table has no question marks:\n%s", &table)
	}
	if err := json.MarshalWrite(&text, &r); err != nil {
		t.Fatal(err)
	}
	var found struct {
		Drain struct {
			Peak map[string]any `json:"peak_bytes"`
		} `json:"drain"`
	}
	if err := json.Unmarshal([]byte(text.String()), &found); err != nil {
		t.Fatal(err)
	}
	if value, there := found.Drain.Peak["nats"]; !there || value != nil {
		t.Errorf("peak memory of NATS is %v", value)
	}
}
