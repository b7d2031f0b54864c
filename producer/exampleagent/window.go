package exampleagent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/window"
)

// elide shortens the tool results of earlier turns to one line with the place to read them
// again.
func (a *Agent) elide(ctx context.Context, call *producer.Call) error {
	pass, err := window.PlanElision(window.History{Items: a.items, Turn: a.count.turns, Head: a.head}, window.BeforeLastUser(), window.Style{
		Level: window.Hybrid,
		Weigh: func(s window.Standing) (window.Cut, bool) {
			it := s.Item
			return window.Cut{
				Level: window.Offloaded, StubTokens: a.tokens(stub(it)), ReloadRef: "file:" + it.Reads,
				Reason: fmt.Sprintf("a file, user messages since: %d", s.Age),
			}, it.Reads != ""
		},
	})
	if err != nil {
		return err
	}
	for _, e := range pass.Elided {
		a.whole[e.ID], a.texts[e.ID] = a.texts[e.ID], stub(a.items[e.Index])
	}
	a.items, a.head = pass.Window, pass.Head
	return call.Elide(ctx, pass)
}

// originals are the texts of elided items, by item id. The SDK restores items from this
// store.
type originals map[string]string

// Load returns the elided content of an item.
func (o originals) Load(_ context.Context, item, _ string) (producer.Content, error) {
	return producer.Content{Text: o[item]}, nil
}

// restore puts the contents of an elided file back into the window.
func (a *Agent) restore(ctx context.Context, path string) (string, error) {
	at := slices.IndexFunc(a.items, func(it window.Item) bool { return it.Kind == window.KindStub && it.Reads == path })
	if at < 0 {
		return "", &toolError{path + " was not left out"}
	}
	id := a.items[at].ID
	items, err := a.asked.Restore(ctx, a.items, a.whole, "model_request", id)
	if err != nil {
		return "", err
	}
	a.items, a.texts[id] = items, a.whole[id]
	return path + " is in the window again", nil
}

// remind attaches a reminder, the persona and the list of topics to the newest user
// message. The attachments of the previous message are removed.
func (a *Agent) remind(ctx context.Context, call *producer.Call) error {
	err := a.inject(ctx, call, "reminder", producer.Content{
		ID: a.id("reminder", a.count.turns), Title: "reminder at the head",
		Text: fmt.Sprintf("Reminder: turn %d. Read before you answer; name files.", a.count.turns),
	})
	if err == nil && a.Persona.Name != "" {
		err = a.become(ctx, call)
	}
	if err != nil || len(a.Topics) == 0 {
		return err
	}
	a.offer = a.id("offer", a.count.turns)
	offer := producer.Content{ID: a.offer, Title: "topics that can be recalled", Resource: Memory.Name}
	topics := slices.Sorted(maps.Keys(a.Topics))
	offer.Text = "You may recall: " + strings.Join(topics, ", ") + "."
	for _, topic := range topics {
		offer.Offers = append(offer.Offers, "topic:"+topic)
	}
	return a.inject(ctx, call, "topics", offer)
}

func (a *Agent) inject(ctx context.Context, call *producer.Call, kind string, content producer.Content) (err error) {
	a.keep(content.ID, content.Text)
	a.items, a.head, err = call.InjectHead(ctx, a.items, a.head, kind, content)
	return err
}

// become gives the model its persona. A change of the persona adds a permanent message.
func (a *Agent) become(ctx context.Context, call *producer.Call) (err error) {
	id, cue := a.id("persona", a.count.turns), a.id("persona-cue", a.count.turns)
	text := "From now on you are the " + a.Persona.Name + "."
	a.keep(id, a.Persona.Text)
	a.keep(cue, text)
	a.items, a.head, err = call.SetPersona(ctx, a.items, a.head, a.Persona.Name,
		producer.Content{ID: id, Title: "persona: " + a.Persona.Name, Text: a.Persona.Text},
		producer.Content{ID: cue, Title: "persona changed to " + a.Persona.Name, Text: text})
	return err
}

// load adds the notes of other agents to the window, once.
func (a *Agent) load(ctx context.Context) error {
	if a.count.turns > 1 || len(a.Scratchpad) == 0 {
		return nil
	}
	items, err := a.turn.LoadScratchpad(ctx, a.Scratchpad...)
	for i, item := range items {
		a.keep(item.ID, a.Scratchpad[i].Text)
	}
	a.items = append(a.items, items...)
	return err
}

// write writes the answer to the agent's scratchpads.
func (a *Agent) write(ctx context.Context, answer string) error {
	var entries []producer.ScratchpadEntry
	for _, e := range a.Scratchpad {
		if !slices.ContainsFunc(entries, func(w producer.ScratchpadEntry) bool { return w.ContextID == e.ContextID }) {
			entries = append(entries, producer.ScratchpadEntry{ContextID: e.ContextID, Text: answer})
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return a.turn.WriteScratchpad(ctx, entries...)
}

// shorten replaces tool outputs by stubs if dropping and summarizing are not enough.
func (a *Agent) shorten(_ context.Context, r window.Request) ([]window.Replacement, error) {
	var list []window.Replacement
	for _, it := range r.Window {
		if it.Reads != "" && slices.Contains(r.Source, it.ID) {
			list = append(list, window.Replacement{Of: []string{it.ID}, After: a.tokens(stub(it)), ReloadRef: "file:" + it.Reads})
		}
	}
	return list, nil
}

// summarize asks the model for the summary of a part of the conversation, and keeps the
// list of missing files.
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
		Content: producer.Content{ID: "summary:" + a.callID(), Title: fmt.Sprintf("summary of %d items", len(source)), Text: reply.Text, CallID: a.callID() + "/summary"},
		Model:   a.Spec.Name, Billed: &producer.Billed{Usage: reply.Billed},
		LossNotes: []string{"what files and tools said; it can be read again"}, Goals: a.Goals,
	}
	for _, path := range slices.Sorted(maps.Keys(a.gaps)) {
		s.OpenQuestions = append(s.OpenQuestions, a.gaps[path].ID())
	}
	a.keep(s.ID, s.Text)
	return s, nil
}

// adopt applies the ladder's changes to the agent's window.
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

// stub returns the text that replaces an omitted tool output.
func stub(it window.Item) string {
	return "[left out; read " + it.Reads + " again if it is needed]"
}

func (a *Agent) tokens(text string) int { return a.Counter.Count(a.Spec.Name, text).Tokens }
