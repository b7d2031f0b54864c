package codex

import (
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
)

// codexBlock is one block of a message or of a tool's output.
type codexBlock struct {
	Type     string
	Text     string
	ImageURL jsonscan.Span
}

func (b *codexBlock) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&b.Type)
		case "text":
			return c.Text(&b.Text)
		case "image_url":
			return c.Span(&b.ImageURL)
		}
		return c.Skip()
	})
}

// readCodexBlocks reads an array of blocks.
func readCodexBlocks(value jsonscan.Span) (blocks []codexBlock, ok bool) {
	ok = jsonscan.Decode(value, func(c *jsonscan.Cursor) bool { return jsonscan.ReadList(c, &blocks, (*codexBlock).Read) })
	return blocks, ok
}

// pieces turns a response item into pieces. typed means that a user message may be typed by a
// user. toolName returns the name of the function that a result belongs to.
func (i *codexResponseItem) pieces(record string, typed bool, toolName func(call string) string) ([]model.Piece, []*model.LineError) {
	p := model.Piece{ID: record, Name: []string{"0"}}
	switch i.Type {
	case "message":
		return i.message(record, typed)
	case "reasoning":
		p.Kind, p.Layer, p.ItemType, p.Role, p.Title = "reasoning", model.LayerReasoning, model.ItemReasoning, "assistant", "Reasoning"
		if text, ok := joinBlocks(i.Content); ok {
			p.SetLogged(text)
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		i.Call(&p)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		return i.output(p, toolName(i.CallID)), nil
	case "compaction", "compaction_summary":
		p.Kind, p.Layer, p.ItemType, p.Role, p.Title = "computed_summary", model.LayerSummary, model.ItemMessage, "user", "Compaction summary"
	default: // tools that run at the provider have no output item
		name := strings.TrimSuffix(i.Type, "_call")
		p.Kind, p.Layer, p.ItemType, p.Role = "tool_call", model.LayerToolCalls, "codex:"+i.Type, "assistant"
		p.Function, p.Title, p.Mime = name, model.ToolTitle(name, "call"), "application/json"
		if i.Action != nil {
			p.SetLogged(string(i.Action))
		}
	}
	return []model.Piece{p}, nil
}

func (i *codexResponseItem) Call(p *model.Piece) {
	p.Function = model.ShortText(i.Name, 256)
	switch {
	case i.Type == "local_shell_call":
		p.Function = "local_shell"
		p.SetLogged(string(i.Action))
	case i.Type == "custom_tool_call":
		p.SetLogged(jsonscan.TextOf(i.Input))
	default:
		p.SetLogged(jsonscan.TextOf(i.Arguments))
		p.Mime = "application/json"
	}
	p.Kind, p.Layer, p.ItemType, p.Role = "tool_call", model.LayerToolCalls, model.ItemFunctionCall, "assistant"
	p.ToolCall, p.Title = i.CallID, model.ToolTitle(p.Function, "call")
	if i.CallID != "" {
		p.ID = i.CallID
	}
}

// output splits a result into its text and its images. The text is one piece, regardless of the
// number of blocks.
func (i *codexResponseItem) output(p model.Piece, name string) []model.Piece {
	p.Kind, p.Layer, p.ItemType, p.Role = "tool_result", model.LayerToolResults, model.ItemFunctionOutput, "tool"
	p.Function, p.ToolCall, p.Title = name, i.CallID, model.ToolTitle(name, "result")
	if i.CallID != "" {
		p.ID = model.ResultID(i.CallID)
	}
	output := i.Output
	if output.Kind() == '{' {
		var wrapped struct {
			Content      jsonscan.Span `json:"content"`
			ContentItems jsonscan.Span `json:"content_items"`
		}
		if json.Unmarshal(output, &wrapped, jsonscan.Lenient) == nil {
			if output = wrapped.Content; wrapped.ContentItems.Kind() == '[' {
				output = wrapped.ContentItems
			}
		}
	}
	var media []model.Piece
	if blocks, ok := readCodexBlocks(output); ok {
		var texts []string
		for n := range blocks {
			if b := &blocks[n]; b.isImage() {
				media = append(media, model.ImageAt(b.ImageURL, model.Piece{ID: p.ID + ":" + strconv.Itoa(n+1), Name: []string{strconv.Itoa(n + 1)}, Role: "tool", ToolCall: p.ToolCall}))
			} else {
				texts = append(texts, b.Text)
			}
		}
		p.SetLogged(strings.Join(texts, "\n"))
	} else {
		p.SetLogged(jsonscan.TextOf(output))
	}
	p.NoteTruncated("tokens truncated…", "chars truncated…", "bytes truncated…", "[... omitted ", "[... output truncated ")
	return append([]model.Piece{p}, media...)
}

// message makes a piece of each block.
func (i *codexResponseItem) message(record string, typed bool) (list []model.Piece, problems []*model.LineError) {
	blocks, err := decodeCodexBlocks(i.Content)
	if err != nil {
		return nil, []*model.LineError{err}
	}
	injected := !typed
	for n := range blocks {
		b := &blocks[n]
		p := model.Piece{ID: record, Name: []string{strconv.Itoa(n)}, ItemType: model.ItemMessage, Role: i.Role}
		if len(blocks) > 1 {
			p.ID = record + ":" + strconv.Itoa(n)
		}
		switch {
		case b.isImage():
			list = append(list, model.ImageAt(b.ImageURL, p))
			continue
		case b.Type != "input_text" && b.Type != "output_text" && b.Type != "text":
			name := model.BlockName(b.Type)
			problems = append(problems, model.NewLineError(model.ReasonUnknownBlock, "block "+strconv.Itoa(n)+" of type "+name))
			p.Kind, p.Layer, p.ItemType, p.Title = name, model.LayerMedia, "codex:"+name, "Block of an unknown type"
			list = append(list, p)
			continue
		}
		p.SetLogged(b.Text)
		switch {
		case i.Role == "assistant":
			p.Kind, p.Layer, p.Title = "assistant_message", model.LayerAssistant, "Assistant text"
		case i.Role == "system":
			p.Kind, p.Layer, p.Title = "system_instruction", model.LayerSystem, "System prompt"
		case i.Role != "user":
			p.Role = "developer"
			p.Kind, p.Layer, p.Title = "injected_message", model.LayerInjected, "Developer text"
		case injected || isCodexContext(b.Text):
			p.Kind, p.Layer, p.Title = "injected_message", model.LayerInjected, "Injected text"
		default:
			p.Kind, p.Layer, p.Title = "user_message", model.LayerUser, "User prompt"
		}
		list = append(list, p)
	}
	return list, problems
}

// isCodexContext reports whether a user message was written by the program, not by the user.
// isCodexContext compares the beginning of the text.
func isCodexContext(text string) bool {
	text = strings.TrimLeft(text[:min(len(text), 128)], " \n\r\t")
	for _, start := range []string{"<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>", "<permissions", "<subagent_notification>", "<user_shell_command>", "<collaboration_mode>"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

func (b *codexBlock) isImage() bool { return b.Type == "input_image" || b.Type == "image" }

func decodeCodexBlocks(value jsonscan.Span) ([]codexBlock, *model.LineError) {
	switch value.Kind() {
	case '"':
		return []codexBlock{{Type: "text", Text: jsonscan.TextOf(value)}}, nil
	case '[':
		blocks, ok := readCodexBlocks(value)
		if !ok {
			return nil, model.NewLineError(model.ReasonUnexpectedValue, "content holds blocks of another form")
		}
		return blocks, nil
	case 'n', 0:
		return nil, nil
	}
	return nil, model.NewLineError(model.ReasonUnexpectedValue, "content is neither a string nor an array")
}

// joinBlocks returns the text of blocks, and false when there is no text.
func joinBlocks(value jsonscan.Span) (string, bool) {
	blocks, err := decodeCodexBlocks(value)
	if err != nil || len(blocks) == 0 {
		return "", false
	}
	texts := make([]string, len(blocks))
	for i := range blocks {
		texts[i] = blocks[i].Text
	}
	return strings.Join(texts, "\n"), true
}
