package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// TestKilledWhileEventsArrive kills `up` twice while a client posts batches. After each answer that
// says stored, the client sends the batch again only at the end. The ledger has each event once, also
// when all of them arrive again.
func TestKilledWhileEventsArrive(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	const size = 20
	var batches []string // answered as stored, except the last one
	batch := func(n int) string {
		var events []string
		for i := range size {
			events = append(events, fmt.Sprintf(`{"specversion":"1.0","id":"%d-%d","source":"urn:test:kill","type":"dev.ctxledger.context.item.removed.v1",`+
				`"time":"2026-01-01T00:00:00Z","sessionid":"kill","datacontenttype":"application/json","data":{"schema_version":"0.1.0",`+
				`"event_type":"context.item.removed","item_id":"item-%d-%d"}}`, n, i, n, i))
		}
		return "[" + strings.Join(events, ",") + "]"
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{}}
	post := func(address, body string) (stored bool) {
		response, err := client.Post(address, "application/cloudevents-batch+json", strings.NewReader(body))
		if err != nil {
			return false // killed
		}
		defer response.Body.Close()
		var answer struct{ Stored int }
		return response.StatusCode == http.StatusOK && json.NewDecoder(response.Body).Decode(&answer) == nil && answer.Stored == size
	}
	pending := ""
	for life := range 3 {
		p, found := clitest.BeginUp(t, data, "--linger", "20ms")
		dead := make(chan struct{})
		if life < 2 {
			go func() {
				time.Sleep(time.Duration(150+200*life) * time.Millisecond)
				_ = p.Process.Kill()
				close(dead)
			}()
		}
		for alive, n := true, 0; alive && (life < 2 || n < 20); n++ {
			if pending == "" {
				pending = batch(len(batches))
			}
			if post(found.Events, pending) {
				batches, pending = append(batches, pending), ""
			} else if life == 2 {
				t.Fatal("a batch was not stored by a server that lives")
			}
			select {
			case <-dead:
				alive = false
			default:
			}
		}
		if life < 2 {
			p.Code(t, 30*time.Second)
			continue
		}
		for _, body := range batches {
			if !post(found.Events, body) {
				t.Fatal("a repeated batch was not stored")
			}
		}
		batches = append(batches, batch(len(batches))) // projected after all repeated events
		if !post(found.Events, batches[len(batches)-1]) {
			t.Fatal("the last batch was not stored")
		}
	}
	want := float64(len(batches) * size)
	count := func() (n float64) {
		for _, row := range clitest.Ask(t, data, "event-types") {
			if row["event_type"] == "context.item.removed" {
				n, _ = row["events"].(float64)
			}
		}
		return n
	}
	for deadline := time.Now().Add(20 * time.Second); count() < want && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if got := count(); got != want {
		t.Errorf("the ledger has %v of %v events that were answered as stored: %v", got, want, clitest.Ask(t, data, "event-types"))
	}
	t.Logf("%v events were answered as stored", want)
}
