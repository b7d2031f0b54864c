package importer

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// claudeBlock is one block of a message's content.
type claudeBlock struct {
	Type      string
	Text      string
	Thinking  string
	ID        string
	Name      string
	Input     span
	ToolUseID string
	Content   span // of a tool result: a string or an array of blocks
	Source    span // of an image or a document
}

func (b *claudeBlock) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.string(&b.Type)
		case "text":
			return c.string(&b.Text)
		case "thinking":
			return c.string(&b.Thinking)
		case "data": // of redacted thinking, encrypted
			return c.aString()
		case "id":
			return c.string(&b.ID)
		case "name":
			return c.string(&b.Name)
		case "input":
			return c.span(&b.Input)
		case "tool_use_id":
			return c.string(&b.ToolUseID)
		case "content":
			return c.span(&b.Content)
		case "source":
			return c.span(&b.Source)
		}
		return c.skip()
	})
}

// readBlocks reads an array of blocks.
func readBlocks(value span) (blocks []claudeBlock, ok bool) {
	ok = decode(value, func(c *cursor) bool { return readList(c, &blocks, (*claudeBlock).read) })
	return blocks, ok
}

// decodeBlocks reads a message's content. A string is one text block.
func decodeBlocks(value span) ([]claudeBlock, bool) {
	switch value.Kind() {
	case '"':
		return []claudeBlock{{Type: "text", Text: textOf(value)}}, true
	case '[':
		return readBlocks(value)
	case 'n', 0:
		return nil, true
	}
	return nil, false
}

// contents turns the blocks of a record into pieces. toolName finds the name
// of the function that a result belongs to.
func (r *claudeRecord) contents(uuid string, blocks []claudeBlock, toolName func(id string) string) (list []piece, problems []*lineError) {
	for i := range blocks {
		b := &blocks[i]
		c := piece{id: uuid, name: []string{strconv.Itoa(i), "0"}}
		if len(blocks) > 1 {
			c.id = uuid + ":" + strconv.Itoa(i)
		}
		if problem := refused(nativeID{"a tool's id", b.ID}, nativeID{"tool_use_id", b.ToolUseID}); problem != nil {
			problem.detail = "block " + strconv.Itoa(i) + ": " + problem.detail
			problems = append(problems, problem)
			continue
		}
		switch {
		case b.Type == "text":
			r.textContent(&c, b.Text)
		case b.Type == "thinking" || b.Type == "redacted_thinking":
			reasoningContent(&c, b)
		case isToolUse(b.Type):
			toolUseContent(&c, b)
		case isToolResult(b.Type):
			list = append(list, toolResultContents(c, b, toolName(b.ToolUseID))...)
			continue
		case b.Type == "image" || b.Type == "document":
			mediaContent(&c, b)
		default:
			name := blockName(b.Type)
			problems = append(problems, &lineError{ReasonUnknownBlock, "block " + strconv.Itoa(i) + " of type " + name})
			c.kind, c.layer, c.itemType, c.title = name, layerMedia, "claude-code:"+name, "Block of an unknown type"
		}
		list = append(list, c)
	}
	return list, problems
}

// A server tool runs at the provider; its blocks have types of their own.
func isToolUse(blockType string) bool {
	return blockType == "tool_use" || blockType == "server_tool_use" || blockType == "mcp_tool_use"
}

func isToolResult(blockType string) bool {
	return blockType == "tool_result" || strings.HasSuffix(blockType, "_tool_result")
}

const (
	reminderPrefix = "<system-reminder>"
	skillPrefix    = "Base directory for this skill:"
)

func (r *claudeRecord) textContent(c *piece, text string) {
	c.setText(text)
	c.itemType = itemMessage
	switch start := strings.TrimSpace(text[:min(len(text), 256)]); {
	case r.Type == "assistant":
		c.kind, c.layer, c.title = "assistant_message", layerAssistant, "Assistant text"
	case r.IsCompactSummary:
		c.kind, c.layer, c.title = "computed_summary", layerSummary, "Compaction summary"
	case strings.HasPrefix(start, reminderPrefix):
		c.kind, c.layer, c.title = "system_reminder", layerInjected, "System reminder"
	case r.IsMeta && strings.HasPrefix(start, skillPrefix):
		c.kind, c.layer, c.title = "skill", layerInjected, "Skill text"
	case r.IsMeta:
		c.kind, c.layer, c.title = "injected_message", layerInjected, "Injected text"
	default:
		c.kind, c.layer, c.title = "user_message", layerUser, "User prompt"
	}
}

// reasoningContent leaves the text unknown where the log keeps a signature or
// ciphertext only.
func reasoningContent(c *piece, b *claudeBlock) {
	c.kind, c.layer, c.itemType, c.title = "reasoning", layerReasoning, itemReasoning, "Reasoning"
	if b.Thinking != "" {
		c.setText(b.Thinking)
	}
}

// toolUseContent takes the arguments, as the log has them, for the call's text.
func toolUseContent(c *piece, b *claudeBlock) {
	name := shortText(b.Name, 256)
	c.kind, c.layer, c.itemType = "tool_call", layerToolCalls, itemFunctionCall
	c.function, c.toolCall, c.mime = name, b.ID, "application/json"
	c.title = toolTitle(name, "call")
	if b.ID != "" {
		c.id = b.ID
	}
	c.setText(string(b.Input))
}

// toolResultContents splits a result into its text, which is one piece however
// many blocks it has, and its images and documents.
func toolResultContents(c piece, b *claudeBlock, name string) []piece {
	c.kind, c.layer, c.itemType = "tool_result", layerToolResults, itemFunctionOutput
	c.function, c.toolCall, c.title = name, b.ToolUseID, toolTitle(name, "result")
	if b.ToolUseID != "" {
		c.id = resultID(b.ToolUseID)
	}
	if b.Content.Kind() != '[' {
		var text string
		switch b.Content.Kind() {
		case '"':
			text = textOf(b.Content)
		case '{': // results of server tools
			text = string(b.Content)
		}
		c.setText(text)
		return []piece{c}
	}
	parts, ok := readBlocks(b.Content)
	if !ok {
		c.setText(string(b.Content))
		return []piece{c}
	}
	var texts []string
	var media []piece
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			texts = append(texts, p.Text)
		default:
			m := piece{id: c.id + ":" + strconv.Itoa(i+1), name: []string{c.name[0], strconv.Itoa(i + 1)}, toolCall: c.toolCall}
			mediaContent(&m, p)
			media = append(media, m)
		}
	}
	c.setText(strings.Join(texts, "\n"))
	return append([]piece{c}, media...)
}

// mediaContent keeps the size of an image or a document and nothing of it.
func mediaContent(c *piece, b *claudeBlock) {
	name := blockName(b.Type)
	c.kind, c.layer, c.itemType, c.title = name, layerMedia, "claude-code:"+name, "Media"
	var source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      span   `json:"data"`
	}
	if b.Source.Kind() != '{' || json.Unmarshal(b.Source, &source, lenient) != nil {
		return
	}
	c.mime = shortText(source.MediaType, 128)
	data, _ := source.Data.text()
	switch source.Type {
	case "base64":
		size := base64Bytes(data)
		c.size = &size
	case "text":
		size := int64(len(data))
		c.size = &size
	}
}
