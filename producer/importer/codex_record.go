package importer

import (
	"bytes"
	"errors"
	"io"
	"sync"
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
	RecordType string         // of a bare state line
	Payload    jsontext.Value // a part of the line's own bytes, nil for a bare line
	taken      bool           // the payload was decoded on the way
}

// read reads one line, as [decodeRecord] does: it is what most of the time goes
// into, and needs no copy of the payload. An object is decoded on the way into
// what target returns for the line's type, where the type stands before it and
// nothing is wrong with the line.
func (l *codexLine) read(text []byte, last bool, target func(kind string) any) error {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, byteOrderMark))
	if len(text) == 0 {
		return errBlank
	}
	if !utf8.Valid(text) {
		return &lineError{ReasonInvalidUTF8, ""}
	}
	room := lineDecoders.Get().(*lineDecoder)
	defer lineDecoders.Put(room)
	dec := room.begin(text)
	if kind := dec.PeekKind(); kind != '{' && kind != 0 {
		if err := dec.SkipValue(); err == nil {
			return &lineError{ReasonNotAnObject, "JSON " + kind.String()}
		}
	}
	err := l.members(dec, target)
	if err != nil && l.taken { // which payloads are not the form says less than what is wrong with the line
		*l = codexLine{}
		err = l.members(room.begin(text), nil)
	}
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

// lineDecoder decodes one line after another in place.
type lineDecoder struct {
	dec  *jsontext.Decoder
	text bytes.Buffer
}

var lineDecoders = sync.Pool{New: func() any { return &lineDecoder{dec: jsontext.NewDecoder(new(bytes.Buffer))} }}

func (d *lineDecoder) begin(text []byte) *jsontext.Decoder {
	d.text = *bytes.NewBuffer(text)
	d.dec.Reset(&d.text, lenient)
	return d.dec
}

func (l *codexLine) members(dec *jsontext.Decoder, target func(kind string) any) error {
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
			if target != nil && l.Type != "" && dec.PeekKind() == '{' {
				if into := target(l.Type); into != nil {
					l.taken = true
					if err = json.UnmarshalDecode(dec, into); err != nil {
						return err
					}
					continue
				}
			}
			if l.Payload, err = dec.ReadValue(); err != nil {
				return err
			}
			continue
		}
		if into == nil {
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
			*into = lineWord(value)
		case 'n':
		default:
			return &lineError{ReasonUnexpectedValue, "JSON " + kind.String() + " for a string of the record"}
		}
	}
	_, err := dec.ReadToken()
	return err
}

// lineWord is the text of a string. That of most types needs no copy.
func lineWord(value jsontext.Value) string {
	switch string(value) {
	case `"` + codexItem + `"`:
		return codexItem
	case `"` + codexEvent + `"`:
		return codexEvent
	case `"` + codexContext + `"`:
		return codexContext
	}
	return textOf(span(value))
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
	ID           string         `json:"id"`
	Timestamp    string         `json:"timestamp"`
	ForkedFrom   string         `json:"forked_from_id"`
	ParentThread string         `json:"parent_thread_id"`
	Cwd          string         `json:"cwd"`
	Originator   string         `json:"originator"`
	Version      string         `json:"cli_version"`
	Provider     string         `json:"model_provider"`
	Source       jsontext.Value `json:"source"`            // a word, or an object of a sub-agent
	Instructions jsontext.Value `json:"base_instructions"` // {text}
	Git          *codexGit      `json:"git"`
	subagent     bool
	depth        *int64
	baseText     *string
}

type codexGit struct {
	Commit string `json:"commit_hash"`
	Branch string `json:"branch"`
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

// codexResponseItem is what the model's API was sent or answered.
type codexResponseItem struct {
	Type      string `json:"type"`
	ID        span   `json:"id"`
	Role      string `json:"role"`
	Content   span   `json:"content"` // blocks, or null
	Summary   span   `json:"summary"` // of reasoning
	Encrypted span   `json:"encrypted_content"`
	Name      string `json:"name"`
	Arguments span   `json:"arguments"` // a string of JSON
	Input     span   `json:"input"`     // of a custom tool call
	Action    span   `json:"action"`    // of a shell call or a search
	CallID    string `json:"call_id"`
	Output    span   `json:"output"` // a string, blocks, or an object with content
	Result    span   `json:"result"` // of an image generation
}

// codexEventMessage is what the program told its interface. Most of it repeats
// response items.
type codexEventMessage struct {
	Type     string `json:"type"`
	TurnID   string `json:"turn_id"`
	Window   *int64 `json:"model_context_window"`
	Info     span   `json:"info"` // of a token_count
	NumTurns *int64 `json:"num_turns"`
}

type codexTurn struct {
	TurnID string `json:"turn_id"`
	Model  string `json:"model"`
}

type codexCompaction struct {
	Message     string              `json:"message"`
	Replacement []codexResponseItem `json:"replacement_history"`
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
