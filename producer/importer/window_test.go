package importer_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// digests are the digests of texts.
func digests(texts []string) []string {
	opts := testOptions()
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = opts.Digest(text)
	}
	return list
}

// reconstructed is a window that the facts of a log describe.
type reconstructed struct {
	texts []string // digests, in the order of the item log
	usage *schema.UsageRecorded
}

// reconstruct follows the facts of a log: entries, stubs, elided entries and compactions. It returns the
// window of each call that has one.
func reconstruct(t rapid.TB, got imported) map[string]reconstructed {
	windows := make(map[string]reconstructed)
	var window []*schema.LogAppended
	for _, e := range got.events {
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch fact := fact.(type) {
		case *schema.LogAppended:
			window = append(window, fact)
		case *schema.ElisionApplied:
			for _, elided := range fact.ElidedItemRefs {
				at := slices.IndexFunc(window, func(entry *schema.LogAppended) bool { return *entry.Position == *elided.Position })
				if fact.Level == schema.ElideTrivial {
					window = slices.Delete(window, at, at+1)
				} else {
					window[at].ContentDigest = elided.StubDigest
				}
			}
		case *schema.CompactionCompleted:
			window = slices.DeleteFunc(window, func(entry *schema.LogAppended) bool { return !slices.Contains(fact.RetainedTailRefs, entry.ItemRef) })
		case *schema.UsageRecorded:
			if fact.WindowNext == nil {
				continue
			}
			w := reconstructed{usage: fact}
			for _, entry := range window {
				w.texts = append(w.texts, entry.ContentDigest)
			}
			windows[fact.CallID] = w
			items := int64(0)
			for _, layer := range fact.Layers {
				items += *layer.Items
			}
			if len(window) > 0 && *window[0].Position != *fact.WindowFirst || int(items) != len(window) {
				t.Errorf("the window of %s begins at %d with %d items; its facts give %d", fact.CallID, *fact.WindowFirst, items, len(window))
			}
		}
	}
	return windows
}

// compareWindows compares the windows of calls with the texts that the program sent. A window that is not exact
// names the missing entries, and an exact one does not.
func compareWindows(t rapid.TB, got imported, sent map[string][]string) {
	windows := reconstruct(t, got)
	if len(windows) != len(sent) {
		t.Errorf("%d windows, and %d calls were made", len(windows), len(sent))
	}
	for call, texts := range sent {
		w, known := windows[call]
		if !known {
			t.Errorf("no window of %s", call)
			continue
		}
		exact := slices.Equal(w.texts, digests(texts))
		if missing := slices.Contains(w.usage.CoverageReasons, string(schema.PartialEntries)); exact == missing {
			t.Errorf("the window of %s has %d texts, %d were sent; exact %t, coverage %v", call, len(w.texts), len(texts), exact, w.usage.CoverageReasons)
		}
	}
}

// sweLog makes trajectories of SWE-agent as the program does.
type sweLog struct {
	t       *rapid.T
	calling bool   // function calling; otherwise actions are in the text
	inputs  string // member with the inputs of the model: query, messages, or "" for none
	keep    int    // observations that the history processor keeps, 0 for all
	history []map[string]any
	steps   []map[string]any
	sent    map[string][]string // texts of each call
	texts   int
}

func (l *sweLog) text(what string) string {
	l.texts++
	return fmt.Sprintf("%s %d%s", what, l.texts, strings.Repeat(" é\n", rapid.IntRange(0, 3).Draw(l.t, "lines")))
}

// messages returns the input of the model with stubs, and its texts.
func (l *sweLog) messages() (list []map[string]any, texts []string) {
	var observations []int
	for i, m := range l.history {
		if m["message_type"] == "observation" {
			observations = append(observations, i)
		}
	}
	var elided []int
	if l.keep > 0 { // the first observation is the task, which stays
		elided = observations[1:max(1, len(observations)-l.keep)]
	}
	for i, m := range l.history {
		own := m["texts"].([]string)
		shown := map[string]any{"role": m["role"], "content": m["content"], "agent": "main", "message_type": m["message_type"]}
		if slices.Contains(elided, i) {
			own = []string{fmt.Sprintf("Old environment output: (%d lines omitted)", i)}
			shown["content"] = own[0]
		}
		list, texts = append(list, shown), append(texts, own...)
	}
	return list, texts
}

// step adds a step of the trajectory. before is the input that the log has of it.
func (l *sweLog) step(response string, before []map[string]any, texts []string) map[string]any {
	l.sent[fmt.Sprint("step-", len(l.steps))] = texts
	step := map[string]any{"response": response, "observation": "", "state": map[string]any{"working_dir": "/widget"}}
	if l.inputs == "query" {
		step["query"] = before
	}
	l.steps = append(l.steps, step)
	return step
}

// turn adds the steps until an answer that the program can read, and the answer with its result.
func (l *sweLog) turn() {
	before, texts := l.messages()
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(l.t, "failures") {
		failed, problem := l.text("failed"), l.text("problem")
		step := l.step(failed, before, texts)
		before, texts = l.messages()
		if l.inputs == "messages" {
			step["messages"] = before
		}
		before = append(before, map[string]any{"role": "assistant", "content": failed, "agent": "main"}, map[string]any{"role": "user", "content": problem, "agent": "main"})
		texts = append(texts, failed, problem)
	}
	thought, action, result := l.text("thought"), strings.TrimSpace(l.text("act")), l.text("result")
	answer := map[string]any{"role": "assistant", "content": thought, "action": action, "agent": "main", "message_type": "action", "texts": []string{thought, action}}
	observed := map[string]any{"role": "user", "content": result, "agent": "main", "message_type": "observation", "texts": []string{result}}
	if l.calling {
		id := fmt.Sprint("call_", l.texts)
		answer["tool_calls"] = []any{map[string]any{"id": id, "function": map[string]any{"name": "bash", "arguments": action}}}
		observed["role"], observed["tool_call_ids"] = "tool", []string{id}
	} else {
		answer["content"] = thought + "\n```\n" + action + "\n```"
		answer["texts"] = []string{thought + "\n```\n\n```", action}
	}
	step := l.step(answer["content"].(string), before, texts)
	l.history = append(l.history, answer, observed)
	if l.inputs == "messages" {
		step["messages"], _ = l.messages()
	}
}

func (l *sweLog) log() []byte {
	for _, m := range l.history {
		delete(m, "texts")
	}
	text, err := json.Marshal(map[string]any{"trajectory": l.steps, "history": l.history, "info": map[string]any{"exit_status": "submitted"}, "environment": "widget"})
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// TestWindowsOfSWEAgent: the window of each call of a generated trajectory has the texts that the program sent,
// in order, with the stubs of its history processor. The second call after an answer that the program could not
// read has the answer and an error in its window, which the history lacks. All calls are of the task's turn.
func TestWindowsOfSWEAgent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &sweLog{
			t: t, calling: rapid.Bool().Draw(t, "calling"), inputs: rapid.SampledFrom([]string{"query", "messages", ""}).Draw(t, "inputs"),
			sent: make(map[string][]string),
		}
		if l.inputs != "" {
			l.keep = rapid.IntRange(0, 3).Draw(t, "kept observations")
		}
		system, task := l.text("system"), l.text("task")
		l.history = append(l.history,
			map[string]any{"role": "system", "content": system, "agent": "main", "message_type": "system_prompt", "texts": []string{system}},
			map[string]any{"role": "user", "content": task, "agent": "main", "message_type": "observation", "texts": []string{task}})
		for range rapid.IntRange(1, 7).Draw(t, "turns") {
			l.turn()
		}
		got := importAs(t, model.FormatSWEAgent, "log.traj", l.log(), testOptions())
		checkValid(t, got.events)
		compareWindows(t, got, l.sent)
		for _, e := range got.events {
			if e.EventType() == schema.TypeUsageRecorded && e.TurnID != "message-1" {
				t.Errorf("the call %s has the turn %q", e.Subject, e.TurnID)
			}
		}
	})
}

// viewed is the window of an OpenHands agent: the texts of the events that it has not forgotten.
type viewed struct {
	ids     []string
	texts   map[string][]string
	summary string
	sent    map[string][]string // texts of each call
}

func (v *viewed) add(id string, texts ...string) {
	v.ids = append(v.ids, id)
	v.texts[id] = texts
}

// call notes the window of an answer, once.
func (v *viewed) call(response string) {
	if _, again := v.sent[response]; again {
		return
	}
	v.sent[response] = []string{}
	for _, id := range v.ids {
		v.sent[response] = append(v.sent[response], v.texts[id]...)
	}
}

// forget forgets events. A summary takes the place of the summary before, and is the newest entry: the metadata
// summary_offset of the compaction says where the program puts it.
func (v *viewed) forget(id string, forgotten []string, summary *string) {
	if summary != nil {
		forgotten = append(slices.Clone(forgotten), v.summary)
	}
	v.ids = slices.DeleteFunc(v.ids, func(id string) bool { return slices.Contains(forgotten, id) })
	if summary != nil {
		v.summary = id
		v.add(id, *summary)
	}
}

// TestWindowsOfOpenHands: the window of each call of a generated conversation has the texts of the events that
// the agent has not forgotten, in order.
func TestWindowsOfOpenHands(t *testing.T) {
	t.Parallel()
	t.Run("SDK", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			lines := conversationLines(t)
			v := &viewed{texts: make(map[string][]string), sent: make(map[string][]string)}
			for _, line := range lines[1:] {
				v.event(t, line)
			}
			got := importAs(t, model.FormatOpenHands, "events", []byte(strings.Join(lines, "\n")+"\n"), testOptions())
			checkValid(t, got.events)
			compareWindows(t, got, v.sent)
		})
	})
	t.Run("before the SDK", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			v := &viewed{texts: make(map[string][]string), sent: make(map[string][]string)}
			text := v.run(t)
			got := importAs(t, model.FormatOpenHands, "output.jsonl", text, testOptions())
			checkValid(t, got.events)
			compareWindows(t, got, v.sent)
		})
	})
}

// event follows an event of the SDK.
func (v *viewed) event(t *rapid.T, line string) {
	type block struct {
		Text string `json:"text"`
	}
	var e struct {
		ID, Kind string
		System   block                      `json:"system_prompt"`
		Message  struct{ Content []block }  `json:"llm_message"`
		Response string                     `json:"llm_response_id"`
		Call     struct{ Arguments string } `json:"tool_call"`
		Observed struct{ Content []block }  `json:"observation"`
		Forgot   []string                   `json:"forgotten_event_ids"`
		Summary  *string
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatal(err)
	}
	switch e.Kind {
	case "SystemPromptEvent":
		v.add(e.ID, e.System.Text, "[]")
	case "MessageEvent":
		v.add(e.ID, e.Message.Content[0].Text)
	case "ActionEvent":
		v.call(e.Response)
		v.add(e.ID, e.Call.Arguments)
	case "ObservationEvent":
		v.add(e.ID, e.Observed.Content[0].Text)
	case "Condensation":
		v.forget(e.ID, e.Forgot, e.Summary)
	default:
		t.Fatal(e.Kind)
	}
}

// run makes the output of a run before the SDK. A condensation lists the events that it forgets or gives their
// range, and has a summary or none. It forgets only events that the agent still sees.
func (v *viewed) run(t *rapid.T) []byte {
	var history []map[string]any
	add := func(e map[string]any) int {
		e["id"], e["timestamp"] = len(history), fmt.Sprintf("2025-04-30T08:%02d:%02d.000000", len(history)/60, len(history)%60)
		history = append(history, e)
		return len(history) - 1
	}
	id := func(n int) string { return fmt.Sprint(n) }
	v.add(id(add(map[string]any{"source": "agent", "action": "system", "args": map[string]any{"content": "You act.", "tools": []any{}}})), "You act.", "[]")
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		prompt := fmt.Sprint("prompt ", len(history))
		v.add(id(add(map[string]any{"source": "user", "action": "message", "args": map[string]any{"content": prompt}})), prompt)
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			n := len(history)
			response, call, thought, arguments, result := fmt.Sprint("resp-", n), fmt.Sprint("call-", n), fmt.Sprint("thought ", n), fmt.Sprintf(`{"command":"c %d"}`, n), fmt.Sprint("result ", n)
			meta := map[string]any{"function_name": "execute_bash", "tool_call_id": call, "model_response": map[string]any{"id": response, "model": "m", "choices": []any{map[string]any{
				"finish_reason": "tool_calls", "message": map[string]any{"content": thought, "tool_calls": []any{map[string]any{"id": call, "function": map[string]any{"name": "execute_bash", "arguments": arguments}}}},
			}}}}
			v.call(response)
			v.add(id(add(map[string]any{"source": "agent", "action": "run", "args": map[string]any{"command": "c", "thought": thought}, "tool_call_metadata": meta})), thought, arguments)
			v.add(id(add(map[string]any{"source": "agent", "observation": "run", "content": result, "cause": n, "tool_call_metadata": meta})), result)
			seen := slices.DeleteFunc(slices.Clone(v.ids), func(id string) bool { return id == "0" || id == v.summary })
			if len(seen) < 3 || rapid.IntRange(0, 3).Draw(t, "condensed") > 0 {
				continue
			}
			from := rapid.IntRange(0, len(seen)-2).Draw(t, "from")
			forgotten := seen[from : from+rapid.IntRange(1, len(seen)-from-1).Draw(t, "forgotten")]
			args := make(map[string]any)
			var first, last int
			fmt.Sscan(forgotten[0], &first)
			fmt.Sscan(forgotten[len(forgotten)-1], &last)
			if last-first+1 == len(forgotten) && rapid.Bool().Draw(t, "range") {
				args["forgotten_events_start_id"], args["forgotten_events_end_id"] = first, last
			} else {
				var list []int
				for _, id := range forgotten {
					var n int
					fmt.Sscan(id, &n)
					list = append(list, n)
				}
				args["forgotten_event_ids"] = list
			}
			var summary *string
			if rapid.Bool().Draw(t, "summary") {
				text := fmt.Sprint("summary ", len(history))
				summary = &text
				args["summary"], args["summary_offset"] = text, 1
			}
			v.forget(id(add(map[string]any{"source": "agent", "action": "condensation", "args": args})), forgotten, summary)
		}
	}
	text, err := json.Marshal(map[string]any{"instance_id": "one", "metadata": map[string]any{}, "test_result": map[string]any{}, "history": history})
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
