package dialect

import (
	"bytes"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// chatAnswer reads a response that is one completion.
func chatAnswer(a *Answer, body []byte) {
	f, ok := members(body)
	if !ok {
		a.Problems++
		return
	}
	if a.failed(f) {
		return
	}
	a.chatHead(f)
	choices, _ := elements(f.get("choices"))
	for _, c := range choices {
		choice, _ := members(c)
		if stop := choice.text("finish_reason"); stop != "" {
			a.Stop = blockName(stop)
		}
		a.chatMessage(choice.get("message"))
	}
	a.Complete = len(choices) > 0
}

// chatMessage adds the blocks of a message as the next request has them.
func (a *Answer) chatMessage(message jsontext.Value) {
	w := windowReader{started: true}
	w.chatMessage(0, message)
	for _, b := range w.Blocks {
		b.Message = -1
		a.Blocks = append(a.Blocks, b)
	}
}

func (a *Answer) chatHead(f fields) {
	if id := short(f.text("id")); id != "" {
		a.MessageID = id
	}
	if model := short(f.text("model")); model != "" {
		a.Model = model
	}
	a.use(f.get("usage"), chatUsage)
}

// chatUsage divides the prompt by its cache, and the completion by its reasoning.
func chatUsage(f fields) schema.ProviderUsage {
	prompt, _ := members(f.get("prompt_tokens_details"))
	completion, _ := members(f.get("completion_tokens_details"))
	return divided(whole(f.get("prompt_tokens")), whole(prompt.get("cached_tokens")),
		whole(f.get("completion_tokens")), whole(completion.get("reasoning_tokens")))
}

// chatStream builds the messages of the choices from their chunks.
type chatStream struct {
	choices map[int64]*chatChoice
}

type chatChoice struct {
	texts   map[string][]byte // content, refusal and other texts
	whole   fields            // other members
	calls   map[int64]*chatCallGrowing
	ordered []string // names of texts, in the order of arrival
}

type chatCallGrowing struct {
	id, kind, name string
	arguments      []byte
}

func (s *chatStream) event(a *Answer, f fields) {
	if a.failed(f) {
		return
	}
	a.chatHead(f)
	choices, _ := elements(f.get("choices"))
	for _, c := range choices {
		choice, ok := members(c)
		at := whole(choice.get("index"))
		if !ok || at == nil {
			a.Problems++
			continue
		}
		if stop := choice.text("finish_reason"); stop != "" {
			a.Stop = blockName(stop)
		}
		if s.choices == nil {
			s.choices = make(map[int64]*chatChoice)
		}
		if s.choices[*at] == nil {
			s.choices[*at] = &chatChoice{texts: make(map[string][]byte), calls: make(map[int64]*chatCallGrowing)}
		}
		delta, _ := members(choice.get("delta"))
		s.choices[*at].add(delta)
	}
}

func (c *chatChoice) add(delta fields) {
	for _, m := range delta {
		switch {
		case m.name == "role" || m.value.Kind() == 'n':
		case m.name == "tool_calls":
			calls, _ := elements(m.value)
			for i, call := range calls {
				f, _ := members(call)
				at := whole(f.get("index"))
				if at == nil {
					at = new(int64)
					*at = int64(i)
				}
				if c.calls[*at] == nil {
					c.calls[*at] = &chatCallGrowing{}
				}
				c.calls[*at].add(f)
			}
		case m.value.Kind() == '"':
			if _, known := c.texts[m.name]; !known {
				c.ordered = append(c.ordered, m.name)
			}
			c.texts[m.name] = append(c.texts[m.name], textBytes(m.value)...)
		default:
			c.whole = append(c.whole, m)
		}
	}
}

func (g *chatCallGrowing) add(f fields) {
	if id := f.text("id"); id != "" {
		g.id = id
	}
	if kind := f.text("type"); kind != "" {
		g.kind = kind
	}
	if function, ok := members(f.get("function")); ok {
		g.name += function.text("name")
		g.arguments = append(g.arguments, textBytes(function.get("arguments"))...)
	}
}

func (g *chatCallGrowing) raw() jsontext.Value {
	kind := g.kind
	if kind == "" {
		kind = "function"
	}
	function := object(member{"name", quote(g.name)}, member{"arguments", quote(string(g.arguments))})
	return object(member{"id", quote(g.id)}, member{"type", quote(kind)}, member{"function", function})
}

// message returns the message in the form in which a client sends it back.
func (c *chatChoice) message() jsontext.Value {
	list := []member{{"role", quote("assistant")}}
	for _, name := range c.ordered {
		list = append(list, member{name, quote(string(c.texts[name]))})
	}
	list = append(list, c.whole...)
	var calls []jsontext.Value
	for _, at := range sortedKeys(c.calls) {
		calls = append(calls, c.calls[at].raw())
	}
	if len(calls) > 0 {
		list = append(list, member{"tool_calls", array(calls)})
	}
	return bytes.Clone(object(list...))
}

func (s *chatStream) end(a *Answer) {
	for _, at := range sortedKeys(s.choices) {
		a.chatMessage(s.choices[at].message())
	}
}
