package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/producertest/latency"
)

// TestLatencyWithinUp measures the added latency of the recorder of `up`, which shares its process with
// NATS and the projector and the processors with ClickHouse: requests of 200 KB at 200/s.
func TestLatencyWithinUp(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("set CTXLEDGER_MEASURE to measure")
	}
	clitest.NeedEngine(t)
	data, provider := t.TempDir(), latency.Provider(t)
	_, found := clitest.BeginUp(t, data, "--upstream", "model="+provider.URL)
	client, body := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}, latency.Request(200<<10)
	turn := 0
	plan := latency.Plan{Turns: 5, PerTurn: 200, Every: 5 * time.Millisecond}
	settle := func() { // all calls of the turn are projected
		turn++
		clitest.AwaitRow(t, data, "SELECT count() FROM model_calls", fmt.Sprint(turn*plan.PerTurn))
	}
	times := plan.Measure(
		latency.Way{Ask: latency.Post(client, provider.URL, body)},
		latency.Way{Ask: latency.Post(client, latency.Reverse(t, provider.URL).URL, body)},
		latency.Way{Ask: latency.Post(client, found.Capture+"/model", body), Settle: settle})
	latency.Check(t, times[0], times[1], times[2])
}
