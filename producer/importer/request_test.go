package importer_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/canonical"
)

// recordedLog writes a Claude Code log with the requests that it records, in the form of 2.1.330.
// All texts are made up.
type recordedLog struct {
	lines    []string
	wire     map[string][]string // message id → digests of the parts of the request's messages
	messages []string            // digests of the messages so far
	parts    []string            // digests of their parts
	last     string              // last request
	kept     int                 // messages of the last request
	records  int
}

func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	sum, err := canonical.Sum(text)
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(sum[:])
}

func (l *recordedLog) write(record map[string]any) {
	l.records++
	record["sessionId"], record["version"] = "s-1", "2.1.330"
	if kind := record["type"]; kind == "user" || kind == "assistant" {
		record["uuid"] = fmt.Sprintf("u-%d", l.records)
		record["parentUuid"] = nil
	}
	record["timestamp"] = fmt.Sprintf("2026-11-01T10:%02d:%02d.000Z", l.records/60%60, l.records%60)
	text, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	l.lines = append(l.lines, string(text))
}

func (l *recordedLog) add(role string, parts ...any) {
	l.messages = append(l.messages, digestOf(map[string]any{"role": role, "content": parts}))
	for _, p := range parts {
		l.parts = append(l.parts, digestOf(p))
	}
}

var recordedShape = map[string]any{
	"system": []any{map[string]any{"type": "text", "text": "You are made up."}},
	"tools":  []any{map[string]any{"name": "Run", "description": "runs", "input_schema": map[string]any{"type": "object"}}},
}

// begin writes the prompt, the system prompt and the tools.
func (l *recordedLog) begin(prompt string) {
	l.wire = make(map[string][]string)
	l.write(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": prompt}})
	l.write(map[string]any{"type": "api-request-shape", "shapeHash": digestOf(recordedShape), "shape": recordedShape})
	parts := []any{map[string]any{"type": "text", "text": "<system-reminder>made up</system-reminder>"}, map[string]any{"type": "text", "text": prompt}}
	message := map[string]any{"role": "user", "content": parts}
	l.write(map[string]any{"type": "api-request-blob", "hash": digestOf(message), "message": message})
	l.add("user", parts...)
}

// call writes a request and its answer, which calls a tool, and the tool's result.
func (l *recordedLog) call(n int, resultBytes int) {
	id, message := fmt.Sprintf("q-%d", n), fmt.Sprintf("msg_%d", n)
	request := map[string]any{"type": "api-request", "id": id, "shapeHash": digestOf(recordedShape), "keep": l.kept, "tail": l.messages[l.kept:]}
	if l.last != "" {
		request["base"] = l.last
	}
	l.write(request)
	l.last, l.kept = id, len(l.messages)
	l.wire[message] = append([]string{digestOf(recordedShape["system"].([]any)[0]), digestOf(recordedShape["tools"].([]any)[0])}, l.parts...)
	text := map[string]any{"type": "text", "text": fmt.Sprintf("answer %d", n)}
	use := map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": "Run", "input": map[string]any{"z": n, "a": "é"}}
	for _, part := range []any{text, use} {
		l.write(map[string]any{"type": "assistant", "requestRef": id, "message": map[string]any{
			"id": message, "model": "claude-x", "role": "assistant", "content": []any{part},
			"usage": map[string]any{"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 2},
		}})
	}
	l.add("assistant", text, use)
	result := map[string]any{"type": "tool_result", "tool_use_id": fmt.Sprintf("toolu_%d", n), "content": strings.Repeat("r", resultBytes) + fmt.Sprint(n)}
	l.write(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": []any{result}}})
	l.add("user", result)
}

func (l *recordedLog) text() []byte { return []byte(strings.Join(l.lines, "\n") + "\n") }

func importRecorded(tb testing.TB, text []byte) imported {
	tb.Helper()
	opts := testOptions()
	opts.Equality = schema.KeyRing{Keys: []schema.Key{opts.Key}}.Equality()
	return importText(tb, "recorded.jsonl", text, opts)
}

// check compares the windows that count as serialized with the requests, and returns their number.
func (l *recordedLog) check(t *testing.T, got imported) (proven int) {
	t.Helper()
	checkValid(t, got.events)
	opts := testOptions()
	equality := schema.KeyRing{Keys: []schema.Key{opts.Key}}.Equality()
	windows := got.windows(t)
	for message, usage := range got.calls(t) {
		if usage.Fidelity != schema.FidelitySerialized {
			if usage.Coverage != schema.CoveragePartial {
				t.Errorf("%s is %s and %s", message, usage.Fidelity, usage.Coverage)
			}
			continue
		}
		proven++
		window := windows[usage.AssemblyID]
		if len(window) != len(l.wire[message]) {
			t.Fatalf("%s has %d blocks instead of %d", message, len(window), len(l.wire[message]))
		}
		for i, want := range l.wire[message] {
			var sum [32]byte
			if _, err := hex.Decode(sum[:], []byte(want)); err != nil {
				t.Fatal(err)
			}
			if window[i].EqualityDigest != equality.EqualityDigest(sum) {
				t.Errorf("block %d of %s differs", i, message)
			}
		}
	}
	return proven
}

// TestRecordedRequests: windows are the recorded requests. All blocks have an item, and blocks of
// records have the items of the records.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	var log recordedLog
	log.begin("go on")
	for n := range 200 {
		log.call(n, 20)
	}
	got := importRecorded(t, log.text())
	if proven := log.check(t, got); proven != 200 || len(got.report.Problems) > 0 {
		t.Errorf("%d proven windows, problems %v", proven, got.report.Problems)
	}
	for id, window := range got.windows(t) {
		for i, b := range window {
			if len(b.ItemRefs) != 1 || b.Tokens == nil {
				t.Fatalf("block %d of %s is %+v", i, id, b)
			}
		}
	}
	usage := got.calls(t)["msg_3"]
	if usage.TotalTokens == nil || *usage.SystemTokens == 0 || *usage.ToolsTokens == 0 || usage.Coverage != schema.CoverageComplete {
		t.Errorf("the usage is %+v", usage)
	}
}

// TestRecordedRequestsThatDiffer changes content under its digest, in a blob, in an answer, in a
// result and in the system prompt, and cuts the log. The windows with the changed message are not
// serialized, and the report says why. The others stay proven.
func TestRecordedRequestsThatDiffer(t *testing.T) {
	t.Parallel()
	var log recordedLog
	log.begin("go on")
	for n := range 10 {
		log.call(n, 20)
	}
	for name, test := range map[string]struct {
		change func(text []byte) []byte
		proven int
	}{
		"a blob's text":     {replaced(`made up\u003c`, `made UP\u003c`), 0},
		"an answer":         {replaced(`"answer 4"`, `"Answer 4"`), 5},
		"arguments":         {replaced(`"z":4`, `"z":5`), 5},
		"a result":          {replaced(`rr4"`, `rr5"`), 5},
		"the system prompt": {replaced("You are made up.", "You are MADE up."), 0},
		"the first half is gone": {func(text []byte) []byte {
			return text[bytes.Index(text, []byte(`"q-5"`)):][bytes.IndexByte(text[bytes.Index(text, []byte(`"q-5"`)):], '\n')+1:]
		}, 0},
		"the base is another": {replaced(`"base":"q-4"`, `"base":"q-3"`), 5},
		"keep is too large":   {replaced(`"base":"q-4"`, `"base":"q-4","keep":900,"other":1`), 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := test.change(log.text())
			got := importRecorded(t, text)
			if proven := log.check(t, got); proven != test.proven || (proven < 10) == (len(got.report.Problems) == 0) {
				t.Errorf("%d windows instead of %d are proven; problems %v", proven, test.proven, got.report.Problems)
			}
			if calls := got.report.Calls; calls != 10 && name != "the first half is gone" {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

func replaced(old, with string) func([]byte) []byte {
	return func(text []byte) []byte { return bytes.Replace(text, []byte(old), []byte(with), 1) }
}

// TestSizeOfRecordedRequests: 2,000 calls with windows of 140 blocks make at most 12 MB of
// assemblies.
func TestSizeOfRecordedRequests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("imports 2,000 calls")
	}
	var log recordedLog
	log.begin("go on")
	for n := range 2000 {
		if n%46 == 45 { // a compaction begins a new window
			log.messages, log.parts, log.last, log.kept = log.messages[:1], log.parts[:2], "", 0
		}
		log.call(n, 20)
	}
	got := importRecorded(t, log.text())
	size, facts := 0, 0
	for _, e := range got.events {
		if e.EventType() == schema.TypeAssemblyCreated {
			size += len(e.Data)
			facts++
		}
	}
	if proven := log.check(t, got); proven != 2000 {
		t.Errorf("%d proven windows", proven)
	}
	t.Logf("%d assemblies of %d bytes", facts, size)
	if size > 12_000_000 {
		t.Errorf("the assemblies have %d bytes", size)
	}
}
