package importer

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The layers that fill a window; the package comment says what each holds.
const (
	layerUser        = "user"
	layerAssistant   = "assistant"
	layerReasoning   = "reasoning"
	layerToolCalls   = "tool_calls"
	layerToolResults = "tool_results"
	layerSummary     = "summary"
	layerInjected    = "injected"
	layerMedia       = "media"
	layerElided      = "elided"
)

// content is one piece of a message: what becomes an item and an entry of the
// item log.
type content struct {
	id       string // native
	block    int    // index in the record
	part     int    // index in a tool result, 0 for its text
	kind     string // context_kind
	layer    string
	itemType string
	title    string
	name     string // of the function
	toolCall string
	mime     string
	text     *string // nil when the log does not hold the text
	size     *int64  // bytes; of text when there is text
}

func (c *content) setText(text string) {
	size := int64(len(text))
	c.text, c.size = &text, &size
}

// claudeBlock is one block of a message's content.
type claudeBlock struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Data      string         `json:"data"` // of redacted thinking, encrypted
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
	ToolUseID string         `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"` // of a tool result: a string or an array of blocks
	Source    jsontext.Value `json:"source"`  // of an image or a document
}

// decodeBlocks reads a message's content. A string is one text block.
func decodeBlocks(value jsontext.Value) ([]claudeBlock, error) {
	switch value.Kind() {
	case '"':
		var text string
		err := json.Unmarshal(value, &text, lenient)
		return []claudeBlock{{Type: "text", Text: text}}, err
	case '[':
		var blocks []claudeBlock
		err := json.Unmarshal(value, &blocks, lenient)
		return blocks, err
	case 'n', 0:
		return nil, nil
	}
	return nil, &lineError{ReasonUnexpectedValue, "message.content is neither a string nor an array"}
}

// contents turns the blocks of a record into pieces. toolName finds the name
// of the function that a result belongs to.
func (r *claudeRecord) contents(uuid string, blocks []claudeBlock, toolName func(id string) string) (list []content, problems []*lineError) {
	for i := range blocks {
		b := &blocks[i]
		c := content{id: uuid, block: i}
		if len(blocks) > 1 {
			c.id = uuid + ":" + strconv.Itoa(i)
		}
		if !validID(b.ID) || !validID(b.ToolUseID) {
			problems = append(problems, &lineError{ReasonBadID, "block " + strconv.Itoa(i) + " has a tool id that cannot travel"})
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

func (r *claudeRecord) textContent(c *content, text string) {
	c.setText(text)
	c.itemType = "message"
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
func reasoningContent(c *content, b *claudeBlock) {
	c.kind, c.layer, c.itemType, c.title = "reasoning", layerReasoning, "reasoning", "Reasoning"
	if b.Thinking != "" {
		c.setText(b.Thinking)
	}
}

// toolUseContent takes the arguments, as the log has them, for the call's text.
func toolUseContent(c *content, b *claudeBlock) {
	name := shortText(b.Name, 256)
	c.kind, c.layer, c.itemType = "tool_call", layerToolCalls, "function_call"
	c.name, c.toolCall, c.mime = name, b.ID, "application/json"
	c.title = toolTitle(name, "call")
	if b.ID != "" {
		c.id = b.ID
	}
	c.setText(string(b.Input))
}

// toolResultContents splits a result into its text, which is one piece however
// many blocks it has, and its images and documents.
func toolResultContents(c content, b *claudeBlock, name string) []content {
	c.kind, c.layer, c.itemType = "tool_result", layerToolResults, "function_call_output"
	c.name, c.toolCall, c.title = name, b.ToolUseID, toolTitle(name, "result")
	if b.ToolUseID != "" {
		c.id = resultID(b.ToolUseID)
	}
	if b.Content.Kind() != '[' {
		var text string
		switch b.Content.Kind() {
		case '"':
			_ = json.Unmarshal(b.Content, &text, lenient) // syntax and kind are known to be right
		case '{': // results of server tools
			text = string(b.Content)
		}
		c.setText(text)
		return []content{c}
	}
	var parts []claudeBlock
	if json.Unmarshal(b.Content, &parts, lenient) != nil {
		c.setText(string(b.Content))
		return []content{c}
	}
	var texts []string
	var media []content
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			texts = append(texts, p.Text)
		default:
			m := content{id: c.id + ":" + strconv.Itoa(i+1), block: c.block, part: i + 1, toolCall: c.toolCall}
			mediaContent(&m, p)
			media = append(media, m)
		}
	}
	c.setText(strings.Join(texts, "\n"))
	return append([]content{c}, media...)
}

// mediaContent keeps the size of an image or a document and nothing of it.
func mediaContent(c *content, b *claudeBlock) {
	name := blockName(b.Type)
	c.kind, c.layer, c.itemType, c.title = name, layerMedia, "claude-code:"+name, "Media"
	var source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	if b.Source.Kind() != '{' || json.Unmarshal(b.Source, &source, lenient) != nil {
		return
	}
	c.mime = shortText(source.MediaType, 128)
	switch source.Type {
	case "base64":
		data := strings.TrimRight(source.Data, "=")
		size := int64(base64.RawStdEncoding.DecodedLen(len(data)))
		c.size = &size
	case "text":
		size := int64(len(source.Data))
		c.size = &size
	}
}

// resultID is the item id of a tool call's result.
func resultID(toolCall string) string { return toolCall + ":result" }

func toolTitle(name, what string) string {
	if name == "" {
		return "Tool " + what
	}
	return shortText(name, 64) + " " + what
}

// blockName is a block's type as it may stand in an item type.
func blockName(blockType string) string {
	for i := range len(blockType) {
		if c := blockType[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return "unknown"
		}
	}
	if blockType == "" || len(blockType) > 64 {
		return "unknown"
	}
	return blockType
}
