package exampleagent

import (
	"context"
	"errors"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
)

// Model answers one request. With an adapter for a provider, the agent works without a
// script.
type Model interface {
	Answer(context.Context, []Message) (Reply, error)
}

// Message is one message of a request, as the model sees it.
type Message struct{ Role, Text string }

// Reply is a model's reply: tool calls, or the final answer.
type Reply struct {
	Text   string
	Tools  []ToolCall
	Billed schema.ProviderUsage // the provider's bill; unknown values stay nil
}

// ToolCall asks the runtime to run a tool.
type ToolCall struct {
	Tool   string   `json:"tool"`             // "repo_read", "repo_list", "lint", "restore", "recall" or "delegate"
	Path   string   `json:"path,omitempty"`   // path of a file or a folder, or the topic to recall
	Task   string   `json:"task,omitempty"`   // task for a child run
	Grants []string `json:"grants,omitempty"` // namespaces that the child run may access
}

// summaryPrompt asks a model for a summary of the messages before it.
const summaryPrompt = "Summarise the conversation so far. Keep decisions, file names and open questions."

// Script is a model with prepared replies. Asked for a summary, Script lists the messages.
// Script is not safe for concurrent use.
type Script struct {
	Replies []Reply // in order of use
}

// ErrScriptOver means that the model was asked more often than the script has replies.
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

// listed returns a simple summary: the beginning of each message.
func listed(messages []Message) string {
	const most = 48 // largest number of bytes of each message
	var b strings.Builder
	b.WriteString("Earlier in this session:\n")
	for _, m := range messages {
		begin, _, _ := strings.Cut(m.Text, "\n")
		b.WriteString("- " + m.Role + ": " + strings.ToValidUTF8(begin[:min(most, len(begin))], "") + "\n")
	}
	return b.String()
}
