package claudecode

import (
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
)

// claudeBlock is one block of a message's content.
type claudeBlock struct {
	Type      string
	Text      string
	Thinking  string
	ID        string
	Name      string
	Input     jsonscan.Span
	ToolUseID string
	Content   jsonscan.Span // of a tool result: a string or an array of blocks
	Source    jsonscan.Span // of an image or a document
}

func (b *claudeBlock) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&b.Type)
		case "text":
			return c.Text(&b.Text)
		case "thinking":
			return c.Text(&b.Thinking)
		case "data": // data of redacted thinking, encrypted
			return c.SkipText()
		case "id":
			return c.Text(&b.ID)
		case "name":
			return c.Text(&b.Name)
		case "input":
			return c.Span(&b.Input)
		case "tool_use_id":
			return c.Text(&b.ToolUseID)
		case "content":
			return c.Span(&b.Content)
		case "source":
			return c.Span(&b.Source)
		}
		return c.Skip()
	})
}

// readBlocks reads an array of blocks.
func readBlocks(value jsonscan.Span) (blocks []claudeBlock, ok bool) {
	ok = jsonscan.Decode(value, func(c *jsonscan.Cursor) bool { return jsonscan.ReadList(c, &blocks, (*claudeBlock).Read) })
	return blocks, ok
}

// decodeBlocks reads a message's content. A string becomes one text block.
func decodeBlocks(value jsonscan.Span) ([]claudeBlock, bool) {
	switch value.Kind() {
	case '"':
		return []claudeBlock{{Type: "text", Text: jsonscan.TextOf(value)}}, true
	case '[':
		return readBlocks(value)
	case 'n', 0:
		return nil, true
	}
	return nil, false
}

// contents turns the blocks of a record into pieces. toolName returns the name of the function
// that a result belongs to.
func (r *claudeRecord) contents(uuid string, blocks []claudeBlock, toolName func(id string) string) (list []model.Piece, problems []*model.LineError) {
	for i := range blocks {
		b := &blocks[i]
		c := model.Piece{ID: uuid, Name: []string{strconv.Itoa(i), "0"}}
		if len(blocks) > 1 {
			c.ID = uuid + ":" + strconv.Itoa(i)
		}
		if problem := model.Refused(model.NativeID{Member: "a tool's id", ID: b.ID}, model.NativeID{Member: "tool_use_id", ID: b.ToolUseID}); problem != nil {
			problem.Detail = "block " + strconv.Itoa(i) + ": " + problem.Detail
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
			name := model.BlockName(b.Type)
			problems = append(problems, model.NewLineError(model.ReasonUnknownBlock, "block "+strconv.Itoa(i)+" of type "+name))
			c.Kind, c.Layer, c.ItemType, c.Title = name, model.LayerMedia, "claude-code:"+name, "Block of an unknown type"
		}
		list = append(list, c)
	}
	return list, problems
}

// isToolUse reports whether a block is a tool call. A server tool runs at the provider, and its
// blocks have other types.
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

func (r *claudeRecord) textContent(c *model.Piece, text string) {
	c.SetText(text)
	c.ItemType = model.ItemMessage
	switch start := strings.TrimSpace(text[:min(len(text), 256)]); {
	case r.Type == "assistant":
		c.Kind, c.Layer, c.Title = "assistant_message", model.LayerAssistant, "Assistant text"
	case r.IsCompactSummary:
		c.Kind, c.Layer, c.Title = "computed_summary", model.LayerSummary, "Compaction summary"
	case strings.HasPrefix(start, reminderPrefix):
		c.Kind, c.Layer, c.Title = "system_reminder", model.LayerInjected, "System reminder"
	case r.IsMeta && strings.HasPrefix(start, skillPrefix):
		c.Kind, c.Layer, c.Title = "skill", model.LayerInjected, "Skill text"
	case r.IsMeta:
		c.Kind, c.Layer, c.Title = "injected_message", model.LayerInjected, "Injected text"
	default:
		c.Kind, c.Layer, c.Title = "user_message", model.LayerUser, "User prompt"
	}
}

// reasoningContent leaves the text unknown if the log holds only a signature or ciphertext.
func reasoningContent(c *model.Piece, b *claudeBlock) {
	c.Kind, c.Layer, c.ItemType, c.Title = "reasoning", model.LayerReasoning, model.ItemReasoning, "Reasoning"
	if b.Thinking != "" {
		c.SetText(b.Thinking)
	}
}

// toolUseContent sets the call's text to the original text of its arguments.
func toolUseContent(c *model.Piece, b *claudeBlock) {
	name := model.ShortText(b.Name, 256)
	c.Kind, c.Layer, c.ItemType = "tool_call", model.LayerToolCalls, model.ItemFunctionCall
	c.Function, c.ToolCall, c.Mime = name, b.ID, "application/json"
	c.Title = model.ToolTitle(name, "call")
	if b.ID != "" {
		c.ID = b.ID
	}
	c.SetText(string(b.Input))
}

// toolResultContents splits a result into its text and its images and documents. The text is one
// piece, regardless of the number of blocks.
func toolResultContents(c model.Piece, b *claudeBlock, name string) []model.Piece {
	c.Kind, c.Layer, c.ItemType = "tool_result", model.LayerToolResults, model.ItemFunctionOutput
	c.Function, c.ToolCall, c.Title = name, b.ToolUseID, model.ToolTitle(name, "result")
	if b.ToolUseID != "" {
		c.ID = model.ResultID(b.ToolUseID)
	}
	if b.Content.Kind() != '[' {
		var text string
		switch b.Content.Kind() {
		case '"':
			text = jsonscan.TextOf(b.Content)
		case '{': // results of server tools
			text = string(b.Content)
		}
		c.SetText(text)
		return []model.Piece{c}
	}
	parts, ok := readBlocks(b.Content)
	if !ok {
		c.SetText(string(b.Content))
		return []model.Piece{c}
	}
	var texts []string
	var media []model.Piece
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case "text":
			texts = append(texts, p.Text)
		default:
			m := model.Piece{ID: c.ID + ":" + strconv.Itoa(i+1), Name: []string{c.Name[0], strconv.Itoa(i + 1)}, ToolCall: c.ToolCall}
			mediaContent(&m, p)
			media = append(media, m)
		}
	}
	c.SetText(strings.Join(texts, "\n"))
	return append([]model.Piece{c}, media...)
}

// mediaContent keeps the size of an image or a document, but not the content.
func mediaContent(c *model.Piece, b *claudeBlock) {
	name := model.BlockName(b.Type)
	c.Kind, c.Layer, c.ItemType, c.Title = name, model.LayerMedia, "claude-code:"+name, "Media"
	var source struct {
		Type      string        `json:"type"`
		MediaType string        `json:"media_type"`
		Data      jsonscan.Span `json:"data"`
	}
	if b.Source.Kind() != '{' || json.Unmarshal(b.Source, &source, jsonscan.Lenient) != nil {
		return
	}
	c.Mime = model.ShortText(source.MediaType, 128)
	data, _ := source.Data.Text()
	switch source.Type {
	case "base64":
		size := model.Base64Bytes(data)
		c.Size = &size
	case "text":
		size := int64(len(data))
		c.Size = &size
	}
}
