package importer

import (
	"path"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sweMessage is one message of a trajectory's history, as SWE-agent 0.2 to 1.1
// write it, or of mini-swe-agent's messages.
type sweMessage struct {
	Role        string
	Content     span // a string, or blocks
	Agent       string
	Kind        string
	IsDemo      bool
	Thought     span
	Action      span
	ToolCalls   []chosenCall
	ToolCallIDs []string
	ToolCallID  string
	Thinking    []struct {
		Thinking string `json:"thinking"`
	}
	Extra *sweExtra
}

// sweExtra is what mini-swe-agent adds to a message.
type sweExtra struct {
	Response  *ohResponse
	Cost      *float64
	Timestamp *float64
}

func (m *sweMessage) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "role":
			return c.string(&m.Role)
		case "content":
			return c.span(&m.Content)
		case "agent":
			return c.string(&m.Agent)
		case "message_type":
			return c.string(&m.Kind)
		case "is_demo":
			return c.into(&m.IsDemo)
		case "thought":
			return c.span(&m.Thought)
		case "action":
			return c.span(&m.Action)
		case "tool_calls":
			return readList(c, &m.ToolCalls, (*chosenCall).read)
		case "tool_call_ids":
			return c.into(&m.ToolCallIDs)
		case "tool_call_id":
			return c.string(&m.ToolCallID)
		case "thinking_blocks":
			return c.into(&m.Thinking)
		case "extra":
			return readNew(c, &m.Extra, (*sweExtra).read)
		}
		return c.skip()
	})
}

func (e *sweExtra) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "response":
			return readNew(c, &e.Response, (*ohResponse).read)
		case "cost":
			return c.into(&e.Cost)
		case "timestamp":
			return c.into(&e.Timestamp)
		}
		return c.skip()
	})
}

// sweStep is one step of a trajectory: what the model was asked, what it
// answered and what came of it.
type sweStep struct {
	Action      string
	Observation span
	Response    span
	State       span         // an object, or its text
	Query       []sweMessage // what the model was shown
	Messages    []sweMessage // the same, before 1.1
}

func (s *sweStep) read(c *cursor) bool {
	return c.members(func(name []byte) bool {
		switch string(name) {
		case "action":
			return c.string(&s.Action)
		case "observation":
			return c.span(&s.Observation)
		case "response":
			return c.span(&s.Response)
		case "state":
			return c.span(&s.State)
		case "query":
			return readList(c, &s.Query, (*sweMessage).read)
		case "messages":
			return readList(c, &s.Messages, (*sweMessage).read)
		}
		return c.skip()
	})
}

// shown are the messages that the model saw, nil when the log does not hold
// them.
func (s *sweStep) shown() []sweMessage {
	if s.Query != nil {
		return s.Query
	}
	return s.Messages
}

// place names the folder that the step ran in, which is the repository's.
func (s *sweStep) place() string {
	var state struct {
		WorkingDir string `json:"working_dir"`
	}
	value := s.State
	if value.Kind() == '"' {
		value = span(textOf(value))
	}
	if !jsontext.Value(value).IsValid() || value.Kind() != '{' || json.Unmarshal(value, &state, streamed) != nil || state.WorkingDir == "" {
		return ""
	}
	root, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+state.WorkingDir), "/"), "/")
	return root
}

// sweInfo is what the program says of the whole trial.
type sweInfo struct {
	Stats   *sweStats `json:"model_stats"`
	Version string    `json:"swe_agent_version"`
	Mini    string    `json:"mini_version"`
}

// sweStats are the program's own totals.
type sweStats struct {
	Cost     *float64 `json:"instance_cost"`
	Total    *float64 `json:"total_cost"`
	Sent     *int64   `json:"tokens_sent"`
	Received *int64   `json:"tokens_received"`
	Calls    *int64   `json:"api_calls"`
}

// sweConfig is what import reads of a replay_config.
type sweConfig struct {
	Agent struct {
		Model struct {
			Name string `json:"name"`
		} `json:"model"`
		History []struct {
			Type string `json:"type"`
		} `json:"history_processors"`
	} `json:"agent"`
	Problem struct {
		ID string `json:"id"`
	} `json:"problem_statement"`
}

// text is the message's text. Images are left out.
func (m *sweMessage) text() string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if m.Content.Kind() != '[' || json.Unmarshal(m.Content, &blocks, streamed) != nil {
		return textOf(m.Content)
	}
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// textIn is text that holds until room is used again.
func (m *sweMessage) textIn(room *[]byte) string {
	if m.Content.Kind() == '[' {
		return m.text()
	}
	return m.Content.textIn(room)
}

// calls are the ids of the tool calls that the message answers.
func (m *sweMessage) answers() []string {
	if m.ToolCallID != "" {
		return []string{m.ToolCallID}
	}
	return m.ToolCallIDs
}
