package claudecode

import (
	"bytes"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
)

// agentProgress is the data of a progress record that holds a message of a sub-agent. Versions
// before 2.1.3xx write these records into the log of the main thread, some of them next to a file
// of the sub-agent with the same messages.
type agentProgress struct {
	Type    string
	AgentID string
	Message jsonscan.Span // a record without the members of its session
}

var agentProgressMark = []byte("agent_progress")

func (p *agentProgress) Read(c *jsonscan.Cursor) bool {
	return c.Members(func(name []byte) bool {
		switch string(name) {
		case "type":
			return c.Text(&p.Type)
		case "agentId":
			return c.Text(&p.AgentID)
		case "message":
			return c.Span(&p.Message)
		}
		return c.Skip()
	})
}

// progressOf reads the data of a progress record, nil for data without a message of a sub-agent.
func progressOf(kind string, data jsonscan.Span) *agentProgress {
	if kind != "progress" || !bytes.Contains(data, agentProgressMark) {
		return nil
	}
	p := new(agentProgress)
	if !jsonscan.Decode(data, p.Read) || p.Type != "agent_progress" || p.AgentID == "" || p.Message.Kind() != '{' {
		return nil
	}
	return p
}

// unwrap replaces a progress record by the record of the sub-agent that it holds.
func (r *claudeRecord) unwrap() {
	p := progressOf(r.Type, r.Data)
	if p == nil {
		return
	}
	var inner claudeRecord
	if !jsonscan.Decode(p.Message, inner.Read) || inner.Message == nil || inner.Message.Role == "" {
		return
	}
	if inner.Type = "user"; inner.Message.Role == "assistant" {
		inner.Type = "assistant"
	}
	if inner.Timestamp == "" {
		inner.Timestamp = r.Timestamp
	}
	inner.SessionID, inner.Version, inner.Cwd, inner.GitBranch = r.SessionID, r.Version, r.Cwd, r.GitBranch
	inner.AgentID, inner.IsSidechain = p.AgentID, true
	inner.wrapped = wrapping{true, r.UUID, r.ParentUUID}
	*r = inner
}

// unwrap is [claudeRecord.unwrap] for pass 1.
func (r *indexRecord) unwrap() {
	p := progressOf(r.Type, r.Data)
	if p == nil {
		return
	}
	var inner indexRecord
	if !jsonscan.Decode(p.Message, inner.Read) || inner.Message == nil || inner.Message.Role == "" {
		return
	}
	if inner.Type = "user"; inner.Message.Role == "assistant" {
		inner.Type = "assistant"
	}
	if inner.Timestamp == "" {
		inner.Timestamp = r.Timestamp
	}
	inner.SessionID, inner.AgentID, inner.IsSidechain = r.SessionID, p.AgentID, true
	*r = inner
}
