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

// Config is the configuration of an agent.
type Config struct {
	Run     *producer.RunContext // namespaces that the agent may access, and destination of its facts
	Model   Model                // model that answers
	Spec    producer.Model       // the model's name and window
	Policy  window.Policy        // policy for a full window; empty means the run's policy
	Counter *window.Counter      // counts tokens; must be the client's
	Guard   *redact.Guard        // values that the model must not see; must be the client's
	Files   fs.FS                // files that the agent's tools read
	Root    grant.Path           // namespace of Files, in grants
	System  string               // the system prompt
	Memory  []string             // files that are in the window from the beginning
	Prefix  string               // prefix of the agent's ids, which must be unique in the session
	Persona Persona              // persona of the agent; may change between turns
	Topics  map[string]string    // the agent's memory, which the model may recall, by topic; needs [Memory]
	// Scratchpad holds the notes of other agents for this agent. The agent's answers go
	// back there.
	Scratchpad []producer.ScratchpadEntry
	Goals      []string        // ids of the agent's goals; summaries keep them
	Attach     []producer.Part // images and files of the next prompt
}

// Persona is a name and its description for the model.
type Persona struct{ Name, Text string }

// Agent is a conversation in one run. Not safe for concurrent use.
type Agent struct {
	Config
	turn  *producer.Turn
	items []window.Item     // candidates for the next window, in order
	head  window.Head       // content that is attached to the newest user message
	asked *producer.Call    // the newest model call
	offer string            // the item that offers the topics
	texts map[string]string // texts that the model sees, by item id
	whole originals
	gaps  map[string]*producer.Gap // open gaps, by path
	count struct{ turns, calls, tools, helpers, asked int }
}

// maxCalls is the largest number of model calls in one turn.
const maxCalls = 100

// New begins the conversation with the permanent content of the window and with the memory
// files.
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

// Ask runs one user turn. Ask returns the model's answer when the turn's facts are stored.
// Ask may return an error together with an answer. The turn is sealed in any case, because
// the facts of a failed turn are especially important.
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

// call asks the model once. call records the selected content, its order, its visibility to
// the model, and the cost.
func (a *Agent) call(ctx context.Context, call *producer.Call) (Reply, error) {
	plan, err := call.FitWithSummary(ctx, a.items, a.Policy, producer.Compaction{Goals: a.Goals}, a.summarize, a.shorten)
	if err != nil {
		return Reply{}, err // a *window.LimitError names the items that did not fit
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

// add adds content to the context. The content is recorded as an item and kept as text for
// the model, both without withheld values.
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

// keep stores the text that the model sees of an item.
func (a *Agent) keep(id, text string) { a.texts[id], _ = a.Guard.Mask(text) }

// id returns a numbered id for the agent's records of a kind.
func (a *Agent) id(kind string, n int) string { return fmt.Sprintf("%s%s-%d", a.Prefix, kind, n) }

// callID returns the id of the newest model call.
func (a *Agent) callID() string { return fmt.Sprintf("%scall-%02d", a.Prefix, a.count.calls) }
