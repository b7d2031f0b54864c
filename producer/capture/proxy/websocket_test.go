package proxy

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
	"github.com/ctxledger/ctxledger/schema"
)

// TestCodexByWebSocket runs the real client with its own provider, with which it talks by a
// compressed WebSocket. Each message continues the response before it, and the recorded windows
// are whole.
func TestCodexByWebSocket(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 50, CacheRead: 30, Output: 9, Reasoning: 4}
	server, r := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), modelserver.Call("exec_command", `{"cmd":"echo one"}`)}, Usage: usage, Fault: slow},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("exec_command", `{"cmd":"echo two"}`)}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: usage, Fault: modelserver.Fault{Malformed: `{"type":"resp`}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("nothing is left")}, Usage: usage},
	)), newRig(t)
	proxy, authority := forward(t, "api.openai.com", server.URL, true, r.Recorder)
	client := realclient.CodexOfOpenAI(t, proxy.String(), written(t, authority))
	if out := client.Run(t, "exec", "--skip-git-repo-check", "echo one, then two"); !strings.Contains(out, "both are done") {
		t.Errorf("the client printed %s", out)
	}
	if out := client.Run(t, "exec", "--skip-git-repo-check", "resume", "--last", "what is left?"); !strings.Contains(out, "nothing is left") {
		t.Errorf("the resumed client printed %s", out)
	}
	r.same(t, server)
	continued, warm := 0, 0
	for _, call := range server.Calls() {
		if !call.WebSocket {
			t.Errorf("call %d came by %s", call.Number, call.Method)
		}
		if len(call.Earlier) > 0 {
			continued++
		}
		if call.Warmup {
			warm++
		}
	}
	if continued < 3 || warm == 0 {
		t.Errorf("%d calls continue a response, %d only prepare one", continued, warm)
	}
	counts, threads := r.Counts(), make(map[string]int)
	sides := 0
	for _, e := range r.facts.Events().Of(schema.TypeUsageRecorded) {
		u := e.Fact.(*schema.UsageRecorded)
		threads[u.LineageID]++
		if u.Coverage != schema.CoverageComplete {
			t.Errorf("call %s is %s: %v", u.CallID, u.Coverage, u.CoverageReasons)
		}
		if meta := u.Metadata; meta["operation"] == "warm_up" && meta["side_call"] == true {
			sides++
		}
	}
	if counts.Unread > 0 || counts.Dropped > 0 || sides != warm || len(threads) != 1 {
		t.Errorf("%+v, %d side calls of %d, threads %v\n%s", counts, sides, warm, threads, r.facts.Events().String())
	}
}
