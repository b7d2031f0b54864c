package capture

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/secrets"
	"github.com/ctxledger/ctxledger/schema"
)

// prose returns about n tokens of text that no other number gives.
func prose(number, n int) string {
	words := strings.Fields("the parser reads each line of a file and returns an error when the text ends before the record does so a caller can retry")
	var b strings.Builder
	for i := range n {
		if i%40 == 0 {
			fmt.Fprintf(&b, "\n%d.%d ", number, i)
		}
		b.WriteString(words[(number*7+i*i+i)%len(words)] + " ")
	}
	return b.String()
}

// TestCost measures a session of 300 calls whose window grows to about 150,000 tokens, with the
// rules that find secrets: CPU and bytes a call. It runs where CTXLEDGER_MEASURE is set, because
// the CPU of a shared machine is no constant.
func TestCost(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("set CTXLEDGER_MEASURE to measure")
	}
	rules, err := secrets.New()
	if err != nil {
		t.Fatal(err)
	}
	rec := new(producertest.Recorder)
	r := open(t, rec, func(c *Config) { c.Folder, c.Detector = t.TempDir(), rules })
	const calls = 300
	tools := make([]string, 12)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"Tool%d","description":%q,"input_schema":{"type":"object"}}`, i, prose(1000+i, 400))
	}
	messages := []string{fmt.Sprintf(`{"role":"user","content":%q}`, prose(0, 300))}
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	var spent time.Duration
	size := 0
	for call := range calls {
		body := fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":1000,"system":[{"type":"text","text":%q}],"tools":[%s],"messages":[%s]}`,
			prose(2000, 2000), strings.Join(tools, ","), strings.Join(messages, ","))
		size = len(body)
		parts := fmt.Sprintf(`[{"type":"text","text":%q},{"type":"tool_use","id":"toolu_%d","name":"Tool1","input":{"path":"file-%d"}}]`, prose(3000+call, 40), call, call)
		answer := fmt.Sprintf(`{"id":"msg_%d","type":"message","model":"claude-sonnet-4-5","content":%s,"usage":{"input_tokens":5,"cache_read_input_tokens":900,"cache_creation_input_tokens":7,"output_tokens":2}}`, call, parts)
		req := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
		req.Header.Set("X-Claude-Code-Session-Id", "s1")
		before := used()
		tap := r.Tap(req)
		tap.Sent([]byte(body))
		tap.Answered(200, http.Header{"Content-Type": {"application/json"}}, false)
		tap.Received([]byte(answer))
		tap.End()
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		spent += used() - before
		messages = append(messages, `{"role":"assistant","content":`+parts+`}`,
			fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, call, prose(5000+call, 370)))
	}
	var data, whole, blocks, wholes int
	kinds := make(map[schema.Type]int)
	for _, e := range rec.Events() {
		switch f := e.Fact.(type) {
		case *schema.AssemblyCreated:
			if f.BaseAssemblyID == "" {
				whole += len(e.Data)
				wholes++
				continue
			}
		case *schema.ItemAdded:
			blocks++
		}
		data += len(e.Data)
		kinds[e.Fact.EventType()] += len(e.Data)
	}
	last := rec.Events().Of(schema.TypeUsageRecorded)[calls-1].Fact.(*schema.UsageRecorded)
	allowed := 3*300*blocks/calls + 2048
	t.Logf("the last request has %d KB and %d tokens; %.1f ms of CPU a call; %d bytes a call of %d allowed; %d new blocks; %d whole assemblies with %d bytes apart; %v",
		size>>10, *last.HistoryTokens, float64(spent.Microseconds())/1000/calls, data/calls, allowed, blocks, wholes, whole, kinds)
	if spent > calls*30*time.Millisecond || data/calls > allowed {
		t.Error("over the bar")
	}
}
