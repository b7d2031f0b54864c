package otlp

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// cases are the payloads of testdata with what becomes of them: session, agent, dialect, models,
// id and stop; the blocks of the window and of the answer; the usage; why it is partial; and the
// number of other records. They are written from the published conventions.
var cases = []struct {
	file string
	logs bool
	left int
	want string
}{
	{"genai-span.json", false, 2, `conv-1 Support Bot openai.chat_completions gpt-4o gpt-4o-2024-08-06 chatcmpl-1 tool_calls
system system "Be <brief> & kind."
tools  "{\"function\":{\"description\":\"Weather.\",\"name\":\"weather\",\"parameters\":{\"type\":\"object\"}},\"type\":\"function\"}"
user user "Weather in Paris?"
tool_calls assistant call_1 weather "{\"city\":\"Paris\"}"
tool_results tool call_1 "rainy, 57°F"
opaque user uri "{\"modality\":\"image\",\"type\":\"uri\",\"uri\":\"https://x/y.png\"}"
answer assistant "It rains."
uncached 57 read 40 output 40 reasoning 12`},
	{"genai-event.json", true, 1, `trace_5b8efff798038103d269b633813fc60c planner anthropic.messages claude-opus-4-5   
system  "Plan."
user user "Go."
partial tools_unknown`},
	{"ai-sdk.json", false, 1, `s-ai writer anthropic.messages claude-opus-4-5  msg_1 tool-calls
system  "Write."
tools  "{\"input_schema\":{\"type\":\"object\"},\"name\":\"rhyme\"}"
user user "A poem."
tool_calls assistant t1 rhyme "{\"word\":\"sea\"}"
tool_results user t1 "{\"rhyme\":\"tea\"}"
answer assistant "Well:"
answer tool_calls assistant t2 rhyme "{\"word\":\"land\"}"
uncached 10 read 2 output 5`},
	{"openinference.json", false, 1, `s-oi  openai.chat_completions gpt-4o   
system system "Help."
tools  "{\"function\":{\"name\":\"find\",\"parameters\":{}},\"type\":\"function\"}"
user user "first"
tool_calls assistant c1 find "{\"q\": 1}"
tool_results tool c1 "found"
user user "last"
answer assistant "Done."
uncached 6 read 3 output 4`},
	{"openllmetry.json", false, 0, `s-ol  anthropic.messages claude-opus-4-5   
system  "Answer."
tools  "{\"description\":\"Look.\",\"input_schema\":{\"type\":\"object\"},\"name\":\"look\"}"
user user "Why?"
answer assistant "Because."
answer tool_calls assistant tu1 look "{\"at\":\"x\"}" write 8 output 6`},
	{"claude-code.json", true, 1, `s-cc claude-code openai.chat_completions claude-opus-4-5   
uncached 3 read 1000 write 70 output 40
partial entries_missing system_unknown tools_unknown`},
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		body, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		read, message := Traces, proto.Message(&traces.TracesData{})
		if c.logs {
			read, message = Logs, &logs.LogsData{}
		}
		r, err := read(body, true)
		if err != nil {
			t.Fatal(c.file, err)
		}
		if len(r.Calls) != 1 || r.Left != c.left || r.Refused != 0 {
			t.Fatalf("%s: %d calls, %d left, %d refused", c.file, len(r.Calls), r.Left, r.Refused)
		}
		call := r.Calls[0]
		if got := shown(call); got != c.want {
			t.Errorf("%s becomes\n%s\nnot\n%s", c.file, got, c.want)
		}
		if since := call.At.Sub(time.Unix(1763000000, 0)); since < 0 || since > time.Microsecond {
			t.Errorf("%s: the time is %s", c.file, call.At)
		}
		// The binary form of the payload gives the same call.
		if err := (protojson.UnmarshalOptions{}).Unmarshal(hexAsBase64(body), message); err != nil {
			t.Fatal(err)
		}
		binary, err := proto.Marshal(message)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(binary, false)
		if err != nil || len(again.Calls) != 1 || !strings.EqualFold(again.Calls[0].Key, call.Key) {
			t.Fatalf("%s as protobuf: %v, %+v", c.file, err, again)
		}
		if got := shown(again.Calls[0]); got != c.want {
			t.Errorf("%s as protobuf becomes\n%s", c.file, got)
		}
	}
}

// hexAsBase64 writes the ids of a JSON payload as protobuf's JSON has them.
func hexAsBase64(body []byte) []byte {
	text := string(body)
	for _, name := range []string{"traceId", "spanId"} {
		parts := strings.Split(text, `"`+name+`":"`)
		for i := 1; i < len(parts); i++ {
			id, rest, _ := strings.Cut(parts[i], `"`)
			var raw []byte
			if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
				panic(err)
			}
			encoded, err := protojson.Marshal(&traces.Span{TraceId: raw})
			if err != nil {
				panic(err)
			}
			_, value, _ := strings.Cut(string(encoded), `:`)
			parts[i] = strings.Trim(strings.TrimSpace(value), `"}`) + `"` + rest
		}
		text = strings.Join(parts, `"`+name+`":"`)
	}
	return []byte(text)
}

// shown writes a call as the cases have it.
func shown(c Call) string {
	x := c.Exchange
	lines := []string{strings.Join([]string{c.Session, c.Agent, string(x.Dialect), x.Request.Model, x.Answer.Model, x.Answer.MessageID, x.Answer.Stop}, " ")}
	block := func(b dialect.Block) string {
		text := b.Text
		if !b.Readable() {
			text = b.Raw
		}
		words := []string{b.Role}
		if b.ID != "" {
			words = append(words, b.ID)
		}
		if b.Name != "" && b.Layer != dialect.LayerTools {
			words = append(words, b.Name)
		}
		return strings.Join(words, " ") + fmt.Sprintf(" %q", text)
	}
	for _, b := range x.Request.Blocks {
		lines = append(lines, string(b.Layer)+" "+block(b))
	}
	for _, b := range x.Answer.Blocks {
		layer := ""
		if b.Layer != dialect.LayerAssistant {
			layer = string(b.Layer) + " "
		}
		lines = append(lines, "answer "+layer+block(b))
	}
	var usage []string
	u := reflect.ValueOf(x.Answer.Usage)
	for name, field := range map[string]string{"1uncached": "UncachedInput", "2read": "CacheRead", "3write": "CacheWrite", "4output": "Output", "5reasoning": "Reasoning"} {
		if n, ok := u.FieldByName(field).Interface().(*int64); ok && n != nil {
			usage = append(usage, fmt.Sprint(name, " ", *n))
		}
	}
	for _, order := range "12345" {
		for _, one := range usage {
			if strings.HasPrefix(one, string(order)) {
				lines = append(lines, one[1:])
			}
		}
	}
	text := strings.Join(lines, "\n")
	for _, name := range []string{"read", "write", "output", "reasoning"} {
		text = strings.Replace(text, "\n"+name+" ", " "+name+" ", 1)
	}
	if len(usage) > 0 && !strings.Contains(text, "\nuncached") {
		text = strings.Replace(text, " read ", "\nread ", 1)
	}
	if len(c.Partial) > 0 {
		text += "\npartial " + strings.Join(c.Partial, " ")
	}
	return text
}

// TestPage keeps the page equal to the code. UPDATE=1 writes it.
func TestPage(t *testing.T) {
	t.Parallel()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile("MAPPING.md", []byte(Page()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile("MAPPING.md")
	if err != nil || string(page) != Page() {
		t.Errorf("MAPPING.md differs from the code (%v): run UPDATE=1 go test ./producer/capture/otlp -run TestPage", err)
	}
	for _, row := range Mapping {
		if about[row.Target] == "" {
			t.Errorf("the page does not say what %s becomes", row.Target)
		}
	}
}

// TestEveryAttributeIsRead: each row of the mapping changes what a call becomes.
func TestEveryAttributeIsRead(t *testing.T) {
	t.Parallel()
	for _, row := range Mapping {
		base := attributes{"gen_ai.operation.name": "chat"}
		with := attributes{"gen_ai.operation.name": "chat"}
		name, value := row.Name, any("anthropic-word")
		switch row.Form {
		case Number:
			value = int64(7)
		case Parts:
			value = `[{"role":"user","type":"text","content":"x","parts":[{"type":"text","content":"x"}]}]`
		case AISDK:
			value = `[{"role":"user","content":"x"}]`
		case JSONText:
			value = `[{"name":"x","toolCallId":"x","toolName":"x","input":{}}]`
		case Prefixed:
			if name += ".0.content"; row.Target == Tools {
				name = row.Name + ".0.name"
			}
		case Nested:
			name += ".0.message.content"
		}
		if row.Name == "llm.tools" {
			name, value = "llm.tools.0.tool.json_schema", `{"name":"x"}`
		}
		with[name] = value
		var plain, changed Read
		plain.add(base, 1, "t", "s")
		changed.add(with, 1, "t", "s")
		if len(plain.Calls) != 1 || len(changed.Calls) != 1 || reflect.DeepEqual(plain.Calls, changed.Calls) {
			t.Errorf("%s of %s is not read: %+v", row.Name, row.Of, changed)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "{", "[]", "null", `{"resourceSpans":1}`, "\xff\xff\xff"} {
		if _, err := Traces([]byte(body), true); body != "null" && !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := Logs([]byte("\xff\xff\xff"), false); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
	// A call that names neither a conversation nor a trace is refused.
	r, err := Traces([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}]}]}]}`), true)
	if err != nil || r.Refused != 1 || len(r.Calls) != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestMutations: damaged payloads give an error or calls with a session, and never a panic.
func TestMutations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		body, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			damaged := slices.Clone(body)
			for range 1 + random.IntN(6) {
				at := random.IntN(len(damaged))
				damaged[at] = body[random.IntN(len(body))]
			}
			for _, read := range []func([]byte, bool) (Read, error){Traces, Logs} {
				r, err := read(damaged[:len(damaged)-random.IntN(2)], true)
				if err != nil && !errors.Is(err, ErrMalformed) {
					t.Fatal(err)
				}
				for _, call := range r.Calls {
					if call.Session == "" {
						t.Fatalf("a call has no session: %s", damaged)
					}
				}
			}
		}
	}
}

// FuzzRead: no body makes the readers panic, and each call has a session.
func FuzzRead(f *testing.F) {
	for _, c := range cases {
		body, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body, c.logs, true)
	}
	f.Fuzz(func(t *testing.T, body []byte, asLogs, fromJSON bool) {
		read := Traces
		if asLogs {
			read = Logs
		}
		r, err := read(body, fromJSON)
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Error(err)
		}
		for _, call := range r.Calls {
			if call.Session == "" {
				t.Errorf("a call has no session: %+v", call)
			}
		}
	})
}
