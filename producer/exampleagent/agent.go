package exampleagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// Config is what an agent works with.
type Config struct {
	Run     *producer.RunContext // what it may touch, and where its facts go
	Model   Model                // what answers
	Spec    producer.Model       // the model's name and window
	Policy  window.Policy        // what to do when the window is full; the run's where it is empty
	Counter *window.Counter      // counts tokens; that of the client
	Guard   *redact.Guard        // what the model must not see, either; that of the client
	Files   fs.FS                // what its tools read
	Root    grant.Path           // the namespace that Files is, in grants
	System  string               // the system prompt
	Memory  []string             // files that are in the window from the beginning
	Prefix  string               // of its ids, which must be unique in the session
	Persona Persona              // what it is told to be; may change between turns
	Topics  map[string]string    // what it remembers and the model may ask for, by topic; needs [Memory]
	// Scratchpad is what other agents wrote down for it. What it answers goes back there.
	Scratchpad []producer.ScratchpadEntry
	Goals      []string        // ids of what it is after; summaries keep them
	Attach     []producer.Part // images and files that come with the next prompt
}

// Persona is a name, and what the model is told of it.
type Persona struct{ Name, Text string }

// Agent is a conversation in one run. Not safe for concurrent use.
type Agent struct {
	Config
	turn  *producer.Turn
	items []window.Item     // candidates for the next window, in order
	head  window.Head       // what stands with the newest user message
	asked *producer.Call    // the newest model call
	offer string            // the item that offers the topics
	texts map[string]string // by item id, as the model sees it
	whole originals
	gaps  map[string]*producer.Gap // open ones, by path
	count struct{ turns, calls, tools, helpers, asked int }
}

// maxCalls is how often the model is asked in one turn.
const maxCalls = 100

// New begins the conversation with what is always in the window, and with what
// is remembered.
func New(ctx context.Context, c Config) (*Agent, error) {
	a := &Agent{Config: c, texts: make(map[string]string), whole: make(originals), gaps: make(map[string]*producer.Gap)}
	begin := []producer.Content{
		{ID: c.Prefix + "system", Title: "system prompt", ContextKind: "system_instruction", Layer: "system", Role: window.RoleSystem,
			Kind: window.KindFixed, Pinned: true, Text: c.System},
		{ID: c.Prefix + "tools", Title: "tool definitions", ContextKind: "tool_definition", Layer: window.LayerTools, Role: window.RoleSystem,
			Kind: window.KindFixed, Pinned: true, Text: toolDefinitions},
	}
	for i, name := range c.Memory {
		text, err := fs.ReadFile(c.Files, name)
		if err != nil {
			return nil, fmt.Errorf("remember: %w", err)
		}
		begin = append(begin, producer.Content{
			ID: c.Prefix + "memory:" + name, Title: "memory: " + name, ContextKind: "memory", Layer: "memory", Role: window.RoleSystem,
			Kind: window.KindRetrieved, Priority: i + 1, Text: string(text), SourceURI: "repo:///" + name, SourceKind: "file",
		})
	}
	for _, content := range begin {
		if err := a.add(ctx, content); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Ask is one user turn. It returns what the model answered once the turn's facts
// are stored. An error may come beside an answer: the turn is sealed in any case,
// since what happened in it is worth knowing then above all.
func (a *Agent) Ask(ctx context.Context, prompt string) (string, error) {
	a.count.turns++
	a.turn = a.Run.Turn(a.id("turn", a.count.turns), a.Spec)
	answer, err := a.work(ctx, prompt)
	_, sealErr := a.turn.Seal(ctx)
	return answer, errors.Join(err, sealErr)
}

// work lets the model call tools until it answers.
func (a *Agent) work(ctx context.Context, prompt string) (string, error) {
	if err := a.load(ctx); err != nil {
		return "", err
	}
	user := a.id("user", a.count.turns)
	err := a.add(ctx, producer.Content{
		ID: user, Title: "user: " + prompt, ContextKind: "user_message", Layer: "user",
		Role: window.RoleUser, Kind: window.KindMessage, Text: prompt, Parts: a.Attach,
	})
	a.Attach = nil
	if err != nil {
		return "", err
	}
	call := a.next()
	a.head = a.head.UserMessage(user)
	if err := a.elide(ctx, call); err != nil {
		return "", err
	}
	if err := a.remind(ctx, call); err != nil {
		return "", err
	}
	for range maxCalls {
		reply, err := a.call(ctx, call)
		switch {
		case err != nil:
			return "", err
		case len(reply.Tools) == 0:
			return reply.Text, errors.Join(a.add(ctx, producer.Content{
				ID: a.id("answer", a.count.turns), Title: "assistant: " + reply.Text, ContextKind: "assistant_message", Layer: "assistant",
				Role: window.RoleAssistant, Kind: window.KindMessage, Text: reply.Text, CallID: a.callID(),
			}), a.write(ctx, reply.Text))
		}
		for _, tool := range reply.Tools {
			if err := a.use(ctx, tool); err != nil {
				return "", err
			}
		}
		call = a.next()
	}
	return "", fmt.Errorf("no answer after %d calls", maxCalls)
}

// call asks the model once, and records what fitted, in which order it was put,
// that the model saw it, and what that cost.
func (a *Agent) call(ctx context.Context, call *producer.Call) (Reply, error) {
	plan, err := call.FitWithSummary(ctx, a.items, a.Policy, producer.Compaction{Goals: a.Goals}, a.summarize, a.shorten)
	if err != nil {
		return Reply{}, err // a *window.LimitError says what would not go
	}
	a.adopt(plan)
	asm, err := call.Assemble(ctx, plan)
	if err != nil {
		return Reply{}, err
	}
	var request []Message
	for _, block := range asm.OrderedBlocks {
		request = append(request, Message{Role: block.Role, Text: a.texts[block.ItemRefs[0].ID()]})
	}
	if err := call.Inject(ctx, asm, schema.InjectMessageHistory); err != nil {
		return Reply{}, err
	}
	reply, err := a.Model.Answer(ctx, request)
	if err != nil {
		return Reply{}, fmt.Errorf("ask %s: %w", a.Spec.Name, err)
	}
	return reply, call.Usage(ctx, plan, reply.Billed)
}

// add puts content behind what is in the context: recorded as an item, and kept as
// text for the model, both without what the guard withholds.
func (a *Agent) add(ctx context.Context, c producer.Content) error {
	a.keep(c.ID, c.Text)
	var item window.Item
	var err error
	if a.turn == nil { // before the first turn
		item, err = a.Run.Add(ctx, a.Spec.Name, c)
	} else {
		item, err = a.turn.Add(ctx, c)
	}
	if err != nil {
		return err
	}
	a.items = append(a.items, item)
	return nil
}

// next begins the next step of the turn, and its model call.
func (a *Agent) next() *producer.Call {
	a.count.calls++
	a.turn = a.turn.In(producer.Place{Step: a.id("step", a.count.calls)})
	a.asked = a.turn.Call(a.callID())
	return a.asked
}

// keep is what the model sees of an item.
func (a *Agent) keep(id, text string) { a.texts[id], _ = a.Guard.Mask(text) }

// id numbers the agent's records of a kind.
func (a *Agent) id(kind string, n int) string { return fmt.Sprintf("%s%s-%d", a.Prefix, kind, n) }

// callID is the id of the newest model call.
func (a *Agent) callID() string { return fmt.Sprintf("%scall-%02d", a.Prefix, a.count.calls) }
