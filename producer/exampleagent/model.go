package exampleagent

import (
	"context"
	"errors"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Model answers one request. An adapter for a provider is all that is missing
// to let the agent work by itself.
type Model interface {
	Answer(context.Context, []Message) (Reply, error)
}

// Message is one message of a request, as the model sees it.
type Message struct{ Role, Text string }

// Reply is what a model says: what to do, or the answer when it asks for no
// tool.
type Reply struct {
	Text   string
	Tools  []ToolCall
	Billed schema.ProviderUsage // what the provider says it cost; unknown stays nil
}

// ToolCall asks the runtime to do something.
type ToolCall struct {
	Tool   string   `json:"tool"`             // "repo_read", "repo_list", "lint", "restore", "recall" or "delegate"
	Path   string   `json:"path,omitempty"`   // of a file or a folder; the topic to recall
	Task   string   `json:"task,omitempty"`   // for a child run
	Grants []string `json:"grants,omitempty"` // what the child run may touch
}

// summaryPrompt asks a model for a summary of the messages in front of it.
const summaryPrompt = "Summarise the conversation so far. Keep decisions, file names and open questions."

// Script is a model that says what is written down. It lists the messages where
// a summary is asked for, and is not safe for concurrent use.
type Script struct {
	Replies []Reply // the next first
}

// ErrScriptOver means that a script was asked once more than it has replies.
var ErrScriptOver = errors.New("the script has no more replies")

// Answer returns the next reply.
func (s *Script) Answer(_ context.Context, messages []Message) (Reply, error) {
	if n := len(messages); n > 0 && messages[n-1].Text == summaryPrompt {
		return Reply{Text: listed(messages[:n-1])}, nil
	}
	if len(s.Replies) == 0 {
		return Reply{}, ErrScriptOver
	}
	next := s.Replies[0]
	s.Replies = s.Replies[1:]
	return next, nil
}

// listed is a summary of sorts: how each message begins.
func listed(messages []Message) string {
	const most = 48 // bytes of each
	var b strings.Builder
	b.WriteString("Earlier in this session:\n")
	for _, m := range messages {
		begin, _, _ := strings.Cut(m.Text, "\n")
		b.WriteString("- " + m.Role + ": " + strings.ToValidUTF8(begin[:min(most, len(begin))], "") + "\n")
	}
	return b.String()
}
