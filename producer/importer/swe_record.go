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
	Role        string       `json:"role"`
	Content     span         `json:"content"` // a string, or blocks
	Agent       string       `json:"agent"`
	Kind        string       `json:"message_type"`
	IsDemo      bool         `json:"is_demo"`
	Thought     span         `json:"thought"`
	Action      span         `json:"action"`
	ToolCalls   []chosenCall `json:"tool_calls"`
	ToolCallIDs []string     `json:"tool_call_ids"`
	ToolCallID  string       `json:"tool_call_id"`
	Thinking    []struct {
		Thinking string `json:"thinking"`
	} `json:"thinking_blocks"`
	Extra *struct { // of mini-swe-agent
		Response  *ohResponse `json:"response"`
		Cost      *float64    `json:"cost"`
		Timestamp *float64    `json:"timestamp"`
	} `json:"extra"`
}

// sweStep is one step of a trajectory: what the model was asked, what it
// answered and what came of it.
type sweStep struct {
	Action      string       `json:"action"`
	Observation span         `json:"observation"`
	Response    span         `json:"response"`
	State       span         `json:"state"`    // an object, or its text
	Query       []sweMessage `json:"query"`    // what the model was shown
	Messages    []sweMessage `json:"messages"` // the same, before 1.1
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

// calls are the ids of the tool calls that the message answers.
func (m *sweMessage) answers() []string {
	if m.ToolCallID != "" {
		return []string{m.ToolCallID}
	}
	return m.ToolCallIDs
}
