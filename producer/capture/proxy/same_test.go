package proxy

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/schema"
)

var dialects = map[modelserver.Dialect]dialect.Dialect{
	modelserver.AnthropicMessages: dialect.AnthropicMessages, modelserver.OpenAIChat: dialect.OpenAIChat, modelserver.OpenAIResponses: dialect.OpenAIResponses,
}

// same compares the recorded calls with those that the server received: blocks digest for
// digest in their order, and the usage.
func (r rig) same(t *testing.T, server *modelserver.Server) {
	t.Helper()
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	windows, usages := make(map[string][]string), make(map[string]*schema.UsageRecorded)
	attempts := make(map[string]int) // windows of attempts without an answer
	var calls []string
	counted := 0
	for _, e := range r.facts.Events() {
		switch f := e.Fact.(type) {
		case *schema.AssemblyCreated:
			id := f.AssemblyID
			if f.BaseAssemblyID != "" && windows[id] == nil {
				windows[id] = slices.Clone(windows[f.BaseAssemblyID][:*f.Keep])
			}
			for _, b := range f.OrderedBlocks {
				windows[id] = append(windows[id], b.EqualityDigest)
			}
		case *schema.UsageRecorded:
			if f.Metadata["operation"] == string(dialect.CountTokens) {
				counted++
				continue
			}
			calls = append(calls, f.CallID)
			if f.ProviderMessageID != "" {
				usages[f.ProviderMessageID] = f
			} else if f.AssemblyID != "" {
				if !empty(f.Usage) {
					t.Errorf("the attempt %s has the usage %+v", f.CallID, f.Usage)
				}
				attempts[strings.Join(windows[f.AssemblyID], "\n")]++
			}
		}
	}
	received, blocks := 0, 0
	for _, call := range server.Calls() {
		received++
		request, err := dialects[call.Dialect].ReadRequest(call.Whole())
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, b := range request.Blocks {
			want = append(want, r.ring.Equality().EqualityDigest(sha256.Sum256(observe.Canonical(b.Raw))))
		}
		blocks += len(want)
		u := usages[call.MessageID]
		if call.MessageID == "" || u == nil {
			if key := strings.Join(want, "\n"); attempts[key] > 0 {
				attempts[key]--
			} else {
				t.Errorf("call %d with status %d is missing", call.Number, call.Status)
			}
			continue
		}
		if got := windows[u.AssemblyID]; !slices.Equal(got, want) {
			t.Errorf("call %d has %d blocks, want %d", call.Number, len(got), len(want))
		}
		billed(t, call, u)
	}
	if len(calls) != received {
		t.Errorf("%d calls are recorded, %d were received", len(calls), received)
	}
	for _, request := range server.Requests() {
		if strings.HasSuffix(request.Target, "/count_tokens") {
			counted--
		}
	}
	if counted != 0 {
		t.Errorf("%d counts of tokens too many", counted)
	}
	t.Logf("%d calls, %d blocks, %d facts", received, blocks, len(r.facts.Events()))
}

// empty reports whether nothing is known of a usage.
func empty(u schema.ProviderUsage) bool { return u == schema.ProviderUsage{} }

// spent is the usage that a provider sent: the input that it includes in other counts is not taken
// out. Missing counts are nil.
type spent struct {
	Input     *int64 `json:"input_tokens"`
	Prompt    *int64 `json:"prompt_tokens"`
	Read      *int64 `json:"cache_read_input_tokens"`
	Written   *int64 `json:"cache_creation_input_tokens"`
	Output    *int64 `json:"output_tokens"`
	Completed *int64 `json:"completion_tokens"`
	Details   struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	PromptDetails struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// usagesSent returns the usage that a client knew after each part of an answer, beginning with none.
func usagesSent(call *modelserver.Request) (list []schema.ProviderUsage) {
	var now spent
	list = append(list, schema.ProviderUsage{})
	for part := range bytes.Lines(call.Sent) {
		part = bytes.TrimPrefix(bytes.TrimSpace(part), []byte("data: "))
		type holder struct {
			Usage *spent `json:"usage"`
		}
		var event struct {
			holder   `json:",inline"`
			Message  holder `json:"message"`
			Response holder `json:"response"`
		}
		for _, at := range []**spent{&event.Usage, &event.Message.Usage, &event.Response.Usage} {
			*at = &now // later counts replace earlier ones
		}
		before := now
		if json.Unmarshal(part, &event) != nil {
			now = before
			continue
		}
		u := schema.ProviderUsage{UncachedInput: now.Input, CacheRead: now.Read, CacheWrite: now.Written, Output: now.Output}
		for _, of := range [...][2]*int64{{now.Input, now.Details.Cached}, {now.Prompt, now.PromptDetails.Cached}} {
			if of[0] != nil && of[1] != nil {
				rest := *of[0] - *of[1]
				u.UncachedInput, u.CacheRead = &rest, of[1]
			}
		}
		if now.Completed != nil {
			u.Output = now.Completed
		}
		list = append(list, u)
	}
	return list
}

// billed compares the usage of a recorded call with the bytes that the provider sent.
func billed(t *testing.T, call *modelserver.Request, u *schema.UsageRecorded) {
	t.Helper()
	got := schema.ProviderUsage{UncachedInput: u.Usage.UncachedInput, CacheRead: u.Usage.CacheRead, CacheWrite: u.Usage.CacheWrite, Output: u.Usage.Output}
	if u.Usage.CacheWrite5m != nil {
		sum := deref(u.Usage.CacheWrite5m) + deref(u.Usage.CacheWrite1h)
		got.CacheWrite = &sum
	}
	if u.Usage.Reasoning != nil {
		sum := deref(u.Usage.Output) + *u.Usage.Reasoning
		got.Output = &sum
	}
	known := usagesSent(call)
	incomplete := u.Metadata["incomplete_response"] == true
	if !incomplete { // a client that leaves may not have received the last part
		known = known[len(known)-1:]
	}
	if !slices.ContainsFunc(known, func(sent schema.ProviderUsage) bool { return text(sent) == text(got) }) {
		t.Errorf("call %d has the usage %s, want %s", call.Number, text(got), text(known[len(known)-1]))
	}
	fault, sent := call.Answer.Fault, call.Answer.Usage
	cut := fault.CutAfter > 0 || fault.StreamError
	if cut && !incomplete {
		t.Errorf("call %d was cut, which %v does not say", call.Number, u.Metadata)
	}
	if cut && text(got) != text(known[len(known)-1]) {
		t.Errorf("the cut call %d has the usage %s, want %s", call.Number, text(got), text(known[len(known)-1]))
	}
	said := call.Dialect != modelserver.OpenAIChat || bytes.Contains(call.Sent, []byte("prompt_tokens")) // the client asked for it
	if !incomplete && said && (deref(got.UncachedInput) != sent.Input || deref(got.Output) != sent.Output || deref(got.CacheRead) != sent.CacheRead || deref(got.CacheWrite) != sent.CacheWrite5m+sent.CacheWrite1h) {
		t.Errorf("call %d has the usage %s, want %+v", call.Number, text(got), sent)
	}
	if unread := u.Metadata["unread_events"]; fault.Malformed != "" && unread == nil {
		t.Errorf("call %d has a malformed event, which %v does not say", call.Number, u.Metadata)
	}
}

// text returns a value as JSON.
func text(v any) string {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(out)
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
