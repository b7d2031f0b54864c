package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// drawn describes blocks on one line each: layer, kind, role, id, name, text.
func drawn(blocks []Block) string {
	var out strings.Builder
	for _, b := range blocks {
		fmt.Fprintf(&out, "%s %s role=%s id=%s name=%s m=%d %q\n", b.Layer, b.Kind, b.Role, b.ID, b.Name, b.Message, b.Text)
	}
	return out.String()
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   Dialect
		body string
		want string
		more func(Request) bool
	}{
		"anthropic": {AnthropicMessages, `{"model":"m","max_tokens":9,"metadata":{"user_id":"user_a_account_b_session_s-1"},
			"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],
			"tools":[{"name":"Bash","input_schema":{}}],
			"messages":[{"role":"user","content":"hi"},
				{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"tool_use","id":"t1","name":"Bash","input":{"a":1}}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"o"},{"type":"image","source":{}}]},{"type":"text","text":"<system-reminder>r"}]},
				{"role":"system","content":"later","extra":{"a":1}}],
			"novel":{"x":1}}`,
			`system system_prompt role= id= name= m=-1 "be brief"
tools tool_definition role= id= name=Bash m=-1 "{\"name\":\"Bash\",\"input_schema\":{}}"
user user_message role=user id= name= m=0 "hi"
reasoning reasoning role=assistant id= name= m=1 "t"
opaque reasoning role=assistant id= name=redacted_thinking m=1 ""
tool_calls tool_call role=assistant id=t1 name=Bash m=1 "{\"a\":1}"
tool_results tool_result role=user id=t1 name= m=2 "o"
injected system_reminder role=user id= name= m=2 "<system-reminder>r"
injected injected_message role=system id= name= m=3 "later"
opaque message_members role=system id= name=extra m=3 ""
opaque request_member role= id= name=novel m=-1 ""
`, func(r Request) bool { return r.Session == "s-1" && *r.MaxOutput == 9 && r.Blocks[0].Cached }},
		"chat": {OpenAIChat, `{"model":"g","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:"}}]},
				{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"c1","content":"out"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
			`system system_prompt role=system id= name= m=0 "s"
tools tool_definition role= id= name=f m=-1 "{\"type\":\"function\",\"function\":{\"name\":\"f\"}}"
user user_message role=user id= name= m=1 "hi"
media image role=user id= name= m=1 ""
tool_calls tool_call role=assistant id=c1 name=f m=2 "{}"
tool_results tool_result role=tool id=c1 name= m=3 "out"
`, func(r Request) bool { return r.Stream && r.MaxOutput == nil }},
		"responses": {OpenAIResponses, `{"model":"g","instructions":"s","previous_response_id":"r0","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
				{"type":"reasoning","id":"x","summary":[],"encrypted_content":"e"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
				{"type":"function_call_output","call_id":"c1","output":"out"},{"type":"compaction","encrypted_content":"z"}]}`,
			`system system_prompt role= id= name= m=-1 "s"
user user_message role=user id= name= m=0 "hi"
opaque reasoning role=assistant id= name= m=1 ""
tool_calls tool_call role=assistant id=c1 name=f m=2 "{}"
tool_results tool_result role=tool id=c1 name= m=3 "out"
opaque unknown role= id= name=compaction m=4 ""
`, func(r Request) bool { return r.Previous == "r0" }},
	} {
		r, err := c.of.ReadRequest([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := drawn(r.Blocks); got != c.want || !c.more(r) {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestReadRequestRefuses(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		"": ErrNotJSON, "[]": ErrNotJSON, "{": ErrNotJSON, `{"messages":[]} x`: ErrNotJSON, "\xff": ErrNotJSON,
		`{}`: ErrNotRequest, `{"messages":1}`: ErrNotRequest, `{"model":"m","prompt":"x"}`: ErrNotRequest,
	} {
		if _, err := AnthropicMessages.ReadRequest([]byte(body)); err != want {
			t.Errorf("%q: %v, want %v", body, err, want)
		}
	}
}

// TestNoPersonIsRead: of metadata.user_id the session alone is kept.
func TestNoPersonIsRead(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]string{
		"user_8a_account_77_session_s1": "s1", `{"device_id":"d","account_uuid":"a","session_id":"s2"}`: "s2",
		"anna@example.org": "", "": "", "x_session_" + strings.Repeat("s", 300): "",
	} {
		body := fmt.Appendf(nil, `{"messages":[],"metadata":{"user_id":%s}}`, quote(user))
		r, err := AnthropicMessages.ReadRequest(body)
		if err != nil || r.Session != want {
			t.Errorf("%q: session %q, %v", user, r.Session, err)
		}
		if len(r.Blocks) > 0 {
			t.Errorf("%q is a block", user)
		}
	}
}

// TestNoBlockIsLost: every part of every message, and every definition, is a block in its
// order, whatever its type.
func TestNoBlockIsLost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SampledFrom([]string{"text", "tool_use", "tool_result", "thinking", "image", "novel", ""})
		var messages, want [][]byte
		n := 0
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			var list []jsontext.Value
			for range rapid.IntRange(0, 5).Draw(t, "parts") {
				raw := fmt.Appendf(nil, `{"type":%q,"n":%d,"text":%s}`, kinds.Draw(t, "kind"), n, quote(rapid.String().Draw(t, "text")))
				list, want, n = append(list, raw), append(want, raw), n+1
			}
			messages = append(messages, fmt.Appendf(nil, `{"role":"user","content":%s}`, array(list)))
		}
		body := fmt.Appendf(nil, `{"messages":[%s]}`, bytes.Join(messages, []byte(",")))
		r, err := AnthropicMessages.ReadRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Blocks) != len(want) {
			t.Fatalf("%d blocks of %d parts", len(r.Blocks), len(want))
		}
		for i := range want {
			if !bytes.Equal(r.Blocks[i].Raw, want[i]) {
				t.Fatalf("block %d is %s, want %s", i, r.Blocks[i].Raw, want[i])
			}
		}
	})
}

func FuzzReadRequest(f *testing.F) {
	f.Add(`{"model":"m","system":"s","messages":[{"role":"user","content":"hi"}]}`)
	f.Add(`{"instructions":"s","input":[{"type":"message","role":"user","content":"x"},1,null]}`)
	f.Add(`{"messages":[{"role":"tool","content":[1]},[],{"tool_calls":[{}]}],"tools":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, d := range []Dialect{AnthropicMessages, OpenAIChat, OpenAIResponses} {
			r, err := d.ReadRequest([]byte(body))
			if err != nil {
				continue
			}
			for _, b := range r.Blocks {
				if !jsontext.Value(b.Raw).IsValid(lenient...) || b.Layer == "" || b.Kind == "" {
					t.Errorf("%s of %s: block %+v", d, body, b)
				}
			}
		}
	})
}
