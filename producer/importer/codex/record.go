package codex

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codexLine is one line of a Codex rollout. Since CLI 0.32 a line wraps a payload. In older
// versions the first line is the session's head, and each other line is a bare response item
// without a time.
type codexLine struct {
	Timestamp  string
	Type       string
	RecordType string        // type of a bare state line
	Payload    jsonscan.Span // nil for a bare line
	taken      bool          // the payload is already read
}

// codexPayload is the content that a line wraps.
type codexPayload interface{ Read(c *jsonscan.Cursor) bool }

// Read reads one line like [model.DecodeRecord]. If the type precedes the object and the line has
// no error, Read decodes the object directly into the result of target.
func (l *codexLine) Read(lines *jsonscan.Lines, text []byte, last bool, target func(kind string) codexPayload) error {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, model.ByteOrderMark))
	if len(text) == 0 {
		return model.ErrBlank
	}
	if lines.Read(text, func(c *jsonscan.Cursor) bool { return l.Members(c, target) }) {
		return nil
	}
	if !utf8.Valid(text) {
		return model.NewLineError(model.ReasonInvalidUTF8, "")
	}
	*l = codexLine{} // an error in the line has priority over an error in a payload
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsonscan.Lenient)
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		if err := dec.SkipValue(); err == nil {
			return model.NewLineError(model.ReasonNotAnObject, "JSON "+kind.String())
		}
	}
	err := l.decode(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return nil
		} else if err == nil {
			return model.NewLineError(model.ReasonMalformedJSON, "text after the record")
		}
	}
	var wrong *model.LineError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &wrong):
		return wrong
	case errors.As(err, &syntactic):
		return model.SyntaxError(syntactic, last)
	case last && errors.Is(err, io.ErrUnexpectedEOF):
		return model.NewLineError(model.ReasonTruncatedLine, "the log ends in the middle of a record")
	}
	return model.NewLineError(model.ReasonMalformedJSON, "")
}

func (l *codexLine) Members(c *jsonscan.Cursor, target func(kind string) codexPayload) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "timestamp":
			return c.Text(&l.Timestamp)
		case "type":
			return c.Text(&l.Type)
		case "record_type":
			return c.Text(&l.RecordType)
		case "payload":
			if c.Next() == '{' {
				if into := target(l.Type); into != nil {
					l.taken = true
					return into.Read(c)
				}
			}
			return c.Span(&l.Payload)
		}
		return c.Skip()
	})
}

// decode reads the members of a line and finds the error of the line.
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
		switch string(name) { // no program escapes these names
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
			l.Payload = jsonscan.Span(value)
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
			*into = jsonscan.TextOf(jsonscan.Span(value))
		case 'n':
		default:
			return model.NewLineError(model.ReasonUnexpectedValue, "JSON "+kind.String()+" for a string of the record")
		}
	}
	_, err := dec.ReadToken()
	return err
}

// bare reports whether the line has the form before wrapping.
func (l *codexLine) bare() bool { return l.Payload == nil && !l.taken }

// kind returns the record's native type. payload is the type of the wrapped content.
func (l *codexLine) kind(payload string) string {
	if l.Type == codexItem || l.Type == codexEvent {
		return l.Type + ":" + model.ShortText(payload, 64)
	}
	return model.ShortText(l.Type, 64)
}

// The types of wrapped lines.
const (
	codexMeta      = "session_meta"
	codexItem      = "response_item"
	codexEvent     = "event_msg"
	codexContext   = "turn_context"
	codexCompacted = "compacted"
	codexUsage     = "token_usage_record"
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
	Source       jsonscan.Span // a word, or an object for a sub-agent
	Instructions jsonscan.Span // {text}
	Git          *codexGit
	headless     bool // the log lacks the head, and the session is that of the file name
	subagent     bool
	depth        *int64
	baseText     *string
}

type codexGit struct {
	Commit string `json:"commit_hash"`
	Branch string `json:"branch"`
}

func (h *codexHead) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "id":
			return c.Text(&h.ID)
		case "timestamp":
			return c.Text(&h.Timestamp)
		case "forked_from_id":
			return c.Text(&h.ForkedFrom)
		case "parent_thread_id":
			return c.Text(&h.ParentThread)
		case "cwd":
			return c.Text(&h.Cwd)
		case "originator":
			return c.Text(&h.Originator)
		case "cli_version":
			return c.Text(&h.Version)
		case "model_provider":
			return c.Text(&h.Provider)
		case "source":
			return c.Span(&h.Source)
		case "base_instructions":
			return c.Span(&h.Instructions)
		case "git":
			return c.Into(&h.Git)
		}
		return c.Skip()
	})
}

// complete reads the members of the head that have several forms.
func (h *codexHead) complete() {
	var text struct {
		Text *string `json:"text"`
	}
	if h.Instructions.Kind() == '{' && json.Unmarshal(h.Instructions, &text, jsonscan.Lenient) == nil {
		h.baseText = text.Text
	}
	var source struct {
		Subagent jsontext.Value `json:"subagent"`
	}
	if h.Source.Kind() != '{' || json.Unmarshal(h.Source, &source, jsonscan.Lenient) != nil || source.Subagent == nil {
		return
	}
	h.subagent = true
	var spawn struct {
		Spawn *struct {
			Parent string `json:"parent_thread_id"`
			Depth  *int64 `json:"depth"`
		} `json:"thread_spawn"`
	}
	if source.Subagent.Kind() == '{' && json.Unmarshal(source.Subagent, &spawn, jsonscan.Lenient) == nil && spawn.Spawn != nil {
		h.depth = spawn.Spawn.Depth
		if h.ParentThread == "" {
			h.ParentThread = spawn.Spawn.Parent
		}
	}
}

// codexResponseItem is an input or output item of the model's API. Encrypted members, and members
// without use for a model, are left out.
type codexResponseItem struct {
	Type      string
	Role      string
	Content   jsonscan.Span // blocks, or null
	Name      string
	Arguments jsonscan.Span // a string of JSON
	Input     jsonscan.Span // of a custom tool call
	Action    jsonscan.Span // of a shell call or a search
	CallID    string
	Output    jsonscan.Span // a string, blocks, or an object with content
}

func (i *codexResponseItem) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&i.Type)
		case "role":
			return c.Text(&i.Role)
		case "content":
			return c.Span(&i.Content)
		case "name":
			return c.Text(&i.Name)
		case "arguments":
			return c.Span(&i.Arguments)
		case "input":
			return c.Span(&i.Input)
		case "action":
			return c.Span(&i.Action)
		case "call_id":
			return c.Text(&i.CallID)
		case "output":
			return c.Span(&i.Output)
		}
		return c.Skip()
	})
}

// codexBrief holds the members of an item that pass 1 reads. Pass 2 reports errors in the other
// members.
type codexBrief struct {
	Type string
	Role string
}

func (b *codexBrief) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&b.Type)
		case "role":
			return c.Text(&b.Role)
		}
		return c.Skip()
	})
}

// codexEventMessage is an event for the program's interface. Most events repeat response items.
type codexEventMessage struct {
	Type     string
	TurnID   string
	Window   *int64
	Info     jsonscan.Span // for a token_count
	NumTurns *int64
}

func (e *codexEventMessage) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&e.Type)
		case "turn_id":
			return c.Text(&e.TurnID)
		case "model_context_window":
			return c.Count(&e.Window)
		case "info":
			return c.Span(&e.Info)
		case "num_turns":
			return c.Count(&e.NumTurns)
		}
		return c.Skip()
	})
}

type codexTurn struct {
	TurnID string
	Model  string
}

func (t *codexTurn) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "turn_id":
			return c.Text(&t.TurnID)
		case "model":
			return c.Text(&t.Model)
		}
		return c.Skip()
	})
}

// codexUsed is a token_usage_record. A token_count follows and has the counts.
type codexUsed struct {
	ResponseID string // the provider's id of the answer
}

func (u *codexUsed) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		if string(name) == "response_id" {
			return c.Text(&u.ResponseID)
		}
		return c.Skip()
	})
}

type codexCompaction struct {
	Message     string
	Replacement []codexResponseItem
}

func (m *codexCompaction) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "message":
			return c.Text(&m.Message)
		case "replacement_history":
			return jsonscan.ReadList(c, &m.Replacement, (*codexResponseItem).Read)
		}
		return c.Skip()
	})
}

// codexClass is the meaning of a response item for an import.
type codexClass int

const (
	codexUnknown codexClass = iota
	codexIgnored            // no model sees it
	codexInput              // input of the model
	codexOutput             // output of the model
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
	"ghost_snapshot":          codexIgnored, // a commit for undo
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
