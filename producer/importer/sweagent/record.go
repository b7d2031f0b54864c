package sweagent

import (
	"path"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sweMessage is one message of a trajectory's history in SWE-agent 0.2 to 1.1, or one of the
// messages of mini-swe-agent.
type sweMessage struct {
	Role        string
	Content     jsonscan.Span // a string, or blocks
	Agent       string
	Kind        string
	IsDemo      bool
	Thought     jsonscan.Span
	Action      jsonscan.Span
	ToolCalls   []completion.ToolCall
	ToolCallIDs []string
	ToolCallID  string
	Thinking    []struct {
		Thinking string `json:"thinking"`
	}
	Extra *sweExtra
}

// sweExtra holds the members that mini-swe-agent adds to a message.
type sweExtra struct {
	Response  *completion.Response
	Cost      *float64
	Timestamp *float64
}

func (m *sweMessage) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "role":
			return c.Text(&m.Role)
		case "content":
			return c.Span(&m.Content)
		case "agent":
			return c.Text(&m.Agent)
		case "message_type":
			return c.Text(&m.Kind)
		case "is_demo":
			return c.Into(&m.IsDemo)
		case "thought":
			return c.Span(&m.Thought)
		case "action":
			return c.Span(&m.Action)
		case "tool_calls":
			return jsonscan.ReadList(c, &m.ToolCalls, (*completion.ToolCall).Read)
		case "tool_call_ids":
			return c.Into(&m.ToolCallIDs)
		case "tool_call_id":
			return c.Text(&m.ToolCallID)
		case "thinking_blocks":
			return c.Into(&m.Thinking)
		case "extra":
			return jsonscan.ReadNew(c, &m.Extra, (*sweExtra).Read)
		}
		return c.Skip()
	})
}

func (e *sweExtra) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "response":
			return jsonscan.ReadNew(c, &e.Response, (*completion.Response).Read)
		case "cost":
			return c.Into(&e.Cost)
		case "timestamp":
			return c.Into(&e.Timestamp)
		}
		return c.Skip()
	})
}

// sweStep is one step of a trajectory: the model's input, its answer and the result.
type sweStep struct {
	Action      string
	Observation jsonscan.Span
	Response    jsonscan.Span
	State       jsonscan.Span // an object, or its JSON text
	Query       []sweMessage  // input of the model
	Messages    []sweMessage  // before 1.1: the messages after the step, which are the input of the next one
}

func (s *sweStep) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "action":
			return c.Text(&s.Action)
		case "observation":
			return c.Span(&s.Observation)
		case "response":
			return c.Span(&s.Response)
		case "state":
			return c.Span(&s.State)
		case "query":
			return jsonscan.ReadList(c, &s.Query, (*sweMessage).Read)
		case "messages":
			return jsonscan.ReadList(c, &s.Messages, (*sweMessage).Read)
		}
		return c.Skip()
	})
}

// first returns the messages that the model saw at the first step, nil when the log does not hold
// them. Before 1.1, they are the messages before the step's answer.
func (s *sweStep) first(room *[]byte) []sweMessage {
	if s.Query != nil {
		return s.Query
	}
	response := s.Response.TextIn(room)
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if m := &s.Messages[i]; m.Role == "assistant" && !m.IsDemo && m.Text() == response {
			return s.Messages[:i]
		}
	}
	return s.Messages
}

// place returns the first folder of the step's working directory, which is the repository's name.
func (s *sweStep) place() string {
	var state struct {
		WorkingDir string `json:"working_dir"`
	}
	value := s.State
	if value.Kind() == '"' {
		value = jsonscan.Span(jsonscan.TextOf(value))
	}
	if !jsontext.Value(value).IsValid() || value.Kind() != '{' || json.Unmarshal(value, &state, jsonscan.Streamed) != nil || state.WorkingDir == "" {
		return ""
	}
	root, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+state.WorkingDir), "/"), "/")
	return root
}

// sweInfo is the program's summary of the whole trial.
type sweInfo struct {
	Stats   *sweStats `json:"model_stats"`
	Version string    `json:"swe_agent_version"`
	Mini    string    `json:"mini_version"`
	Exit    string    `json:"exit_status"` // empty while the program works on the trial
}

// sweStats are the program's totals.
type sweStats struct {
	Cost     *float64 `json:"instance_cost"`
	Total    *float64 `json:"total_cost"`
	Sent     *int64   `json:"tokens_sent"`
	Received *int64   `json:"tokens_received"`
	Calls    *int64   `json:"api_calls"`
}

// sweConfig holds the members of a replay_config that import reads.
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

// Text returns the message's text. Images are left out.
func (m *sweMessage) Text() string {
	var blocks []struct {
		Text string `json:"text"`
	}
	if m.Content.Kind() != '[' || json.Unmarshal(m.Content, &blocks, jsonscan.Streamed) != nil {
		return jsonscan.TextOf(m.Content)
	}
	texts := make([]string, 0, len(blocks))
	for _, b := range blocks {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// TextIn is Text with the result in room. The result is valid until room is reused.
func (m *sweMessage) TextIn(room *[]byte) string {
	if m.Content.Kind() == '[' {
		return m.Text()
	}
	return m.Content.TextIn(room)
}

// answers returns the ids of the tool calls that the message answers.
func (m *sweMessage) answers() []string {
	if m.ToolCallID != "" {
		return []string{m.ToolCallID}
	}
	return m.ToolCallIDs
}
