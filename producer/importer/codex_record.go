package importer

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codexLine is one line of a Codex rollout. Since CLI 0.32 a line wraps what it
// holds; before, the first line was the session's head and each other line a
// bare response item, without a time.
type codexLine struct {
	Timestamp  string
	Type       string
	RecordType string // of a bare state line
	Payload    span   // nil for a bare line
	taken      bool   // the payload was read on the way
}

// codexPayload is what a line wraps.
type codexPayload interface{ read(c *cursor) bool }

// read reads one line, as [decodeRecord] does. An object is read on the way into what
// target returns for the line's type, where the type stands before it and nothing is
// wrong with the line.
func (l *codexLine) read(text []byte, last bool, target func(kind string) codexPayload) error {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))
	if len(text) == 0 {
		return errBlank
	}
	if !utf8.Valid(text) {
		return &lineError{ReasonInvalidUTF8, ""}
	}
	if readLine(text, func(c *cursor) bool { return l.members(c, target) }) {
		return nil
	}
	*l = codexLine{} // which payloads are not the form says less than what is wrong with the line
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		if err := dec.SkipValue(); err == nil {
			return &lineError{ReasonNotAnObject, "JSON " + kind.String()}
		}
	}
	err := l.decode(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return nil
		} else if err == nil {
			return &lineError{ReasonMalformedJSON, "text after the record"}
		}
	}
	var wrong *lineError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &syntactic):
		return syntaxError(syntactic, last)
	case last && errors.Is(err, io.ErrUnexpectedEOF):
		return &lineError{ReasonTruncatedLine, "the log ends in the middle of a record"}
	}
	return &lineError{ReasonMalformedJSON, ""}
}

func (l *codexLine) members(c *cursor, target func(kind string) codexPayload) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "timestamp":
			return c.string(&l.Timestamp)
		case "type":
			return c.string(&l.Type)
		case "record_type":
			return c.string(&l.RecordType)
		case "payload":
			if c.next() == '{' {
				if into := target(l.Type); into != nil {
					l.taken = true
					return into.read(c)
				}
			}
			return c.span(&l.Payload)
		}
		return c.skip()
	})
}

// decode is members for a line of which the decoder has to say what is wrong with it.
func (l *codexLine) decode(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		var into *string
		switch string(name) { // nobody escapes these
		case `"timestamp"`:
			into = &l.Timestamp
		case `"type"`:
			into = &l.Type
		case `"record_type"`:
			into = &l.RecordType
		case `"payload"`:
			value, err := dec.ReadValue()
			if err != nil {
				return err
			}
			l.Payload = span(value)
			continue
		default:
			if err := dec.SkipValue(); err != nil {
				return err
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		switch kind := value.Kind(); kind {
		case '"':
			*into = textOf(span(value))
		case 'n':
		default:
			return &lineError{ReasonUnexpectedValue, "JSON " + kind.String() + " for a string of the record"}
		}
	}
	_, err := dec.ReadToken()
	return err
}

// bare reports whether the line is of the form before wrapping.
func (l *codexLine) bare() bool { return l.Payload == nil && !l.taken }

// kind is the record's native type. payload is the type of what it wraps.
func (l *codexLine) kind(payload string) string {
	if l.Type == codexItem || l.Type == codexEvent {
		return l.Type + ":" + shortText(payload, 64)
	}
	return shortText(l.Type, 64)
}

// The types of wrapped lines.
const (
	codexMeta      = "session_meta"
	codexItem      = "response_item"
	codexEvent     = "event_msg"
	codexContext   = "turn_context"
	codexCompacted = "compacted"
)

// codexHead is the payload of a session_meta line.
type codexHead struct {
	ID           string
	Timestamp    string
	ForkedFrom   string
	ParentThread string
	Cwd          string
	Originator   string
	Version      string
	Provider     string
	Source       span // a word, or an object of a sub-agent
	Instructions span // {text}
	Git          *codexGit
	subagent     bool
	depth        *int64
	baseText     *string
}

type codexGit struct {
	Commit string `json:"commit_hash"`
	Branch string `json:"branch"`
}

func (h *codexHead) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.string(&h.ID)
		case "timestamp":
			return c.string(&h.Timestamp)
		case "forked_from_id":
			return c.string(&h.ForkedFrom)
		case "parent_thread_id":
			return c.string(&h.ParentThread)
		case "cwd":
			return c.string(&h.Cwd)
		case "originator":
			return c.string(&h.Originator)
		case "cli_version":
			return c.string(&h.Version)
		case "model_provider":
			return c.string(&h.Provider)
		case "source":
			return c.span(&h.Source)
		case "base_instructions":
			return c.span(&h.Instructions)
		case "git":
			return c.into(&h.Git)
		}
		return c.skip()
	})
}

// complete reads what of the head has several forms.
func (h *codexHead) complete() {
	var text struct {
		Text *string `json:"text"`
	}
	if h.Instructions.Kind() == '{' && json.Unmarshal(h.Instructions, &text, lenient) == nil {
		h.baseText = text.Text
	}
	var source struct {
		Subagent jsontext.Value `json:"subagent"`
	}
	if h.Source.Kind() != '{' || json.Unmarshal(h.Source, &source, lenient) != nil || source.Subagent == nil {
		return
	}
	h.subagent = true
	var spawn struct {
		Spawn *struct {
			Parent string `json:"parent_thread_id"`
			Depth  *int64 `json:"depth"`
		} `json:"thread_spawn"`
	}
	if source.Subagent.Kind() == '{' && json.Unmarshal(source.Subagent, &spawn, lenient) == nil && spawn.Spawn != nil {
		h.depth = spawn.Spawn.Depth
		if h.ParentThread == "" {
			h.ParentThread = spawn.Spawn.Parent
		}
	}
}

// codexResponseItem is what the model's API was sent or answered. What it holds
// besides is encrypted, or no model sees it.
type codexResponseItem struct {
	Type      string
	Role      string
	Content   span // blocks, or null
	Name      string
	Arguments span // a string of JSON
	Input     span // of a custom tool call
	Action    span // of a shell call or a search
	CallID    string
	Output    span // a string, blocks, or an object with content
}

func (i *codexResponseItem) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&i.Type)
		case "role":
			return c.string(&i.Role)
		case "content":
			return c.span(&i.Content)
		case "name":
			return c.string(&i.Name)
		case "arguments":
			return c.span(&i.Arguments)
		case "input":
			return c.span(&i.Input)
		case "action":
			return c.span(&i.Action)
		case "call_id":
			return c.string(&i.CallID)
		case "output":
			return c.span(&i.Output)
		}
		return c.skip()
	})
}

// codexBrief is what pass 1 reads of an item. An item that has another form in
// what it leaves out is pass 2's to report.
type codexBrief struct {
	Type string
	Role string
}

func (b *codexBrief) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&b.Type)
		case "role":
			return c.string(&b.Role)
		}
		return c.skip()
	})
}

// codexEventMessage is what the program told its interface. Most of it repeats
// response items.
type codexEventMessage struct {
	Type     string
	TurnID   string
	Window   *int64
	Info     span // of a token_count
	NumTurns *int64
}

func (e *codexEventMessage) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&e.Type)
		case "turn_id":
			return c.string(&e.TurnID)
		case "model_context_window":
			return c.count(&e.Window)
		case "info":
			return c.span(&e.Info)
		case "num_turns":
			return c.count(&e.NumTurns)
		}
		return c.skip()
	})
}

type codexTurn struct {
	TurnID string
	Model  string
}

func (t *codexTurn) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "turn_id":
			return c.string(&t.TurnID)
		case "model":
			return c.string(&t.Model)
		}
		return c.skip()
	})
}

type codexCompaction struct {
	Message     string
	Replacement []codexResponseItem
}

func (m *codexCompaction) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "message":
			return c.string(&m.Message)
		case "replacement_history":
			return readList(c, &m.Replacement, (*codexResponseItem).read)
		}
		return c.skip()
	})
}

// codexClass says what a response item is to an import.
type codexClass int

const (
	codexUnknown codexClass = iota
	codexIgnored            // no model sees it
	codexInput              // the model was sent it
	codexOutput             // the model answered it
)

// codexItems classifies the response items of CLI 0.2 to 0.14x.
var codexItems = map[string]codexClass{
	"reasoning":               codexOutput,
	"function_call":           codexOutput,
	"custom_tool_call":        codexOutput,
	"local_shell_call":        codexOutput,
	"web_search_call":         codexOutput,
	"image_generation_call":   codexOutput,
	"tool_search_call":        codexOutput,
	"function_call_output":    codexInput,
	"custom_tool_call_output": codexInput,
	"tool_search_output":      codexInput,
	"compaction":              codexInput,
	"compaction_summary":      codexInput,
	"ghost_snapshot":          codexIgnored, // a commit to go back to
	"other":                   codexIgnored,
}

func (i *codexResponseItem) class() codexClass {
	if i.Type != "message" {
		return codexItems[i.Type]
	}
	if i.Role == "assistant" {
		return codexOutput
	}
	return codexInput
}
