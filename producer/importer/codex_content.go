package importer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// codexBlock is one block of a message or of a tool's output.
type codexBlock struct {
	Type     string
	Text     string
	ImageURL span
}

func (b *codexBlock) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&b.Type)
		case "text":
			return c.string(&b.Text)
		case "image_url":
			return c.span(&b.ImageURL)
		}
		return c.skip()
	})
}

// readCodexBlocks reads an array of blocks.
func readCodexBlocks(value span) (blocks []codexBlock, ok bool) {
	ok = decode(value, func(c *cursor) bool { return readList(c, &blocks, (*codexBlock).read) })
	return blocks, ok
}

// pieces turns a response item into pieces. typed says that a user message may
// be a user's own; toolName finds the function that a result belongs to.
func (i *codexResponseItem) pieces(record string, typed bool, toolName func(call string) string) ([]piece, []*lineError) {
	p := piece{id: record, name: []string{"0"}}
	switch i.Type {
	case "message":
		return i.message(record, typed)
	case "reasoning":
		p.kind, p.layer, p.itemType, p.role, p.title = "reasoning", layerReasoning, itemReasoning, "assistant", "Reasoning"
		if text, ok := joinBlocks(i.Content); ok {
			p.setLogged(text)
		}
	case "function_call", "custom_tool_call", "local_shell_call":
		i.call(&p)
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		return i.output(p, toolName(i.CallID)), nil
	case "compaction", "compaction_summary":
		p.kind, p.layer, p.itemType, p.role, p.title = "computed_summary", layerSummary, itemMessage, "user", "Compaction summary"
	default: // tools that run at the provider have no output of their own
		name := strings.TrimSuffix(i.Type, "_call")
		p.kind, p.layer, p.itemType, p.role = "tool_call", layerToolCalls, "codex:"+i.Type, "assistant"
		p.function, p.title, p.mime = name, toolTitle(name, "call"), "application/json"
		if i.Action != nil {
			p.setLogged(string(i.Action))
		}
	}
	return []piece{p}, nil
}

func (i *codexResponseItem) call(p *piece) {
	p.function = shortText(i.Name, 256)
	switch {
	case i.Type == "local_shell_call":
		p.function = "local_shell"
		p.setLogged(string(i.Action))
	case i.Type == "custom_tool_call":
		p.setLogged(textOf(i.Input))
	default:
		p.setLogged(textOf(i.Arguments))
		p.mime = "application/json"
	}
	p.kind, p.layer, p.itemType, p.role = "tool_call", layerToolCalls, itemFunctionCall, "assistant"
	p.toolCall, p.title = i.CallID, toolTitle(p.function, "call")
	if i.CallID != "" {
		p.id = i.CallID
	}
}

// output splits a result into its text, which is one piece however many blocks
// it has, and its images.
func (i *codexResponseItem) output(p piece, name string) []piece {
	p.kind, p.layer, p.itemType, p.role = "tool_result", layerToolResults, itemFunctionOutput, "tool"
	p.function, p.toolCall, p.title = name, i.CallID, toolTitle(name, "result")
	if i.CallID != "" {
		p.id = resultID(i.CallID)
	}
	output := i.Output
	if output.Kind() == '{' {
		var wrapped struct {
			Content      span `json:"content"`
			ContentItems span `json:"content_items"`
		}
		if json.Unmarshal(output, &wrapped, lenient) == nil {
			if output = wrapped.Content; wrapped.ContentItems.Kind() == '[' {
				output = wrapped.ContentItems
			}
		}
	}
	var media []piece
	if blocks, ok := readCodexBlocks(output); ok {
		var texts []string
		for n := range blocks {
			if b := &blocks[n]; b.isImage() {
				media = append(media, imageAt(b.ImageURL, piece{id: p.id + ":" + strconv.Itoa(n+1), name: []string{strconv.Itoa(n + 1)}, role: "tool", toolCall: p.toolCall}))
			} else {
				texts = append(texts, b.Text)
			}
		}
		p.setLogged(strings.Join(texts, "\n"))
	} else {
		p.setLogged(textOf(output))
	}
	p.noteTruncated("tokens truncated…", "chars truncated…", "bytes truncated…", "[... omitted ", "[... output truncated ")
	return append([]piece{p}, media...)
}

// message makes a piece of each block.
func (i *codexResponseItem) message(record string, typed bool) (list []piece, problems []*lineError) {
	blocks, err := decodeCodexBlocks(i.Content)
	if err != nil {
		return nil, []*lineError{err}
	}
	injected := !typed
	for n := range blocks {
		b := &blocks[n]
		p := piece{id: record, name: []string{strconv.Itoa(n)}, itemType: itemMessage, role: i.Role}
		if len(blocks) > 1 {
			p.id = record + ":" + strconv.Itoa(n)
		}
		switch {
		case b.isImage():
			list = append(list, imageAt(b.ImageURL, p))
			continue
		case b.Type != "input_text" && b.Type != "output_text" && b.Type != "text":
			name := blockName(b.Type)
			problems = append(problems, &lineError{ReasonUnknownBlock, "block " + strconv.Itoa(n) + " of type " + name})
			p.kind, p.layer, p.itemType, p.title = name, layerMedia, "codex:"+name, "Block of an unknown type"
			list = append(list, p)
			continue
		}
		p.setLogged(b.Text)
		switch {
		case i.Role == "assistant":
			p.kind, p.layer, p.title = "assistant_message", layerAssistant, "Assistant text"
		case i.Role == "system":
			p.kind, p.layer, p.title = "system_instruction", layerSystem, "System prompt"
		case i.Role != "user":
			p.role = "developer"
			p.kind, p.layer, p.title = "injected_message", layerInjected, "Developer text"
		case injected || isCodexContext(b.Text):
			p.kind, p.layer, p.title = "injected_message", layerInjected, "Injected text"
		default:
			p.kind, p.layer, p.title = "user_message", layerUser, "User prompt"
		}
		list = append(list, p)
	}
	return list, problems
}

// isCodexContext tells text that the program wrote in the user's name from the
// user's own, by how it begins.
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

func decodeCodexBlocks(value span) ([]codexBlock, *lineError) {
	switch value.Kind() {
	case '"':
		return []codexBlock{{Type: "text", Text: textOf(value)}}, nil
	case '[':
		blocks, ok := readCodexBlocks(value)
		if !ok {
			return nil, &lineError{ReasonUnexpectedValue, "content holds blocks of another form"}
		}
		return blocks, nil
	case 'n', 0:
		return nil, nil
	}
	return nil, &lineError{ReasonUnexpectedValue, "content is neither a string nor an array"}
}

// joinBlocks is the text of blocks, and false when there is none.
func joinBlocks(value span) (string, bool) {
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
