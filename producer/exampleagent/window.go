package exampleagent

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/window"
)

// elide shortens what tools returned in earlier turns to one line that says
// where to read it again.
func (a *Agent) elide(ctx context.Context, call *producer.Call) error {
	pass, err := window.PlanElision(window.History{Items: a.items, Turn: a.count.turns, Head: a.head}, window.BeforeLastUser(), window.Style{
		Level: window.Hybrid,
		Decide: func(it window.Item) (window.Cut, bool) {
			return window.Cut{Level: window.Offloaded, StubTokens: a.tokens(stub(it)), ReloadRef: "file:" + it.Reads}, it.Reads != ""
		},
	})
	if err != nil {
		return err
	}
	for _, e := range pass.Elided {
		a.texts[e.ID] = stub(a.items[e.Index])
	}
	a.items, a.head = pass.Window, pass.Head
	return call.Elide(ctx, pass)
}

// remind puts a reminder beside the newest user message, where the one before
// does not stand any more.
func (a *Agent) remind(ctx context.Context, call *producer.Call) (err error) {
	id, text := a.id("reminder", a.count.turns), fmt.Sprintf("Reminder: turn %d. Read before you answer; name files.", a.count.turns)
	a.keep(id, text)
	a.items, a.head, err = call.InjectHead(ctx, a.items, a.head, "reminder", producer.Content{ID: id, Title: "reminder at the head", Text: text})
	return err
}

// shorten makes stubs of tool outputs, for when dropping and summarising are not
// enough.
func (a *Agent) shorten(_ context.Context, r window.Request) ([]window.Replacement, error) {
	var list []window.Replacement
	for _, it := range r.Window {
		if it.Reads != "" && slices.Contains(r.Source, it.ID) {
			list = append(list, window.Replacement{Of: []string{it.ID}, After: a.tokens(stub(it)), ReloadRef: "file:" + it.Reads})
		}
	}
	return list, nil
}

// summarize lets the model write what is to stand for a stretch of the
// conversation, and carries on what is still missing.
func (a *Agent) summarize(ctx context.Context, source []window.Item) (producer.Summary, error) {
	var request []Message
	for _, it := range source {
		request = append(request, Message{Role: it.Role, Text: a.texts[it.ID]})
	}
	reply, err := a.Model.Answer(ctx, append(request, Message{Role: window.RoleUser, Text: summaryPrompt}))
	if err != nil {
		return producer.Summary{}, err
	}
	s := producer.Summary{
		Content:   producer.Content{ID: "summary:" + a.callID(), Title: fmt.Sprintf("summary of %d items", len(source)), Text: reply.Text},
		LossNotes: []string{"what files and tools said; it can be read again"},
	}
	for _, path := range slices.Sorted(maps.Keys(a.gaps)) {
		s.OpenQuestions = append(s.OpenQuestions, a.gaps[path].ID())
	}
	a.keep(s.ID, s.Text)
	return s, nil
}

// adopt takes over what the ladder did to the window.
func (a *Agent) adopt(plan window.Plan) {
	a.items = plan.Window
	for _, rung := range plan.Steps {
		if rung.Step != window.CompactToolOutputs {
			continue
		}
		for _, r := range rung.Replaced {
			at := slices.IndexFunc(a.items, func(it window.Item) bool { return it.ID == r.Of[0] })
			a.texts[r.Of[0]] = stub(a.items[at])
		}
	}
}

// stub is what stands for a tool output that was left out.
func stub(it window.Item) string {
	return "[left out; read " + it.Reads + " again if it is needed]"
}

func (a *Agent) tokens(text string) int { return a.Counter.Count(a.Spec.Name, text).Tokens }
