package observe

import (
	"context"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// oneSecret is a detector that knows one secret.
type oneSecret string

func (s oneSecret) Detect(context.Context, string) []redact.Value {
	return []redact.Value{redact.Withhold(string(s), "policy:test", "secret")}
}

// TestTitles: a call and its result have the tool's argument, and a prompt its first words.
func TestTitles(t *testing.T) {
	t.Parallel()
	const body = `{"model":"claude-opus-4-5","max_tokens":9,"messages":[
		{"role":"user","content":"Fix hunter2hunter2 now"},
		{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src/app.go"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"package app"}]}]}`
	for _, c := range []struct {
		maker *title.Maker
		want  []string
	}{
		{nil, []string{"", "Read", "", "Bash"}},
		{&title.Maker{Detector: oneSecret("hunter2hunter2")}, []string{"Fix [redacted:policy:test] now", "Read src/app.go", "Read src/app.go", "Bash go test ./..."}},
	} {
		r := newRig(t)
		r.titles = c.maker
		var got []string
		for _, item := range of[*schema.ItemAdded](r.send(body, `[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"go test ./..."}}]`)) {
			if slices.Contains([]string{"user_message", "tool_call", "tool_result"}, item.ContextKind) {
				got = append(got, item.Title)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("titles %q, want %q", got, c.want)
		}
	}
}
