package observe

import (
	"slices"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/schema"
)

// openCalls returns the tool calls that wait for their results, each after its thread.
func (o *observation) openCalls() (list []string) {
	for _, t := range o.s.Threads {
		for _, call := range t.Open {
			list = append(list, t.ID+"\x00"+call)
		}
	}
	return list
}

// scope records a new thread.
func (o *observation) scope() {
	if o.t.Opened {
		return
	}
	o.t.Opened = true
	o.s.take("thread\x00" + o.t.ID)
	o.add(o.scopeFact("session"), o.t.ID)
}

func (o *observation) scopeFact(kind string) *schema.ScopeOpened {
	fact := &schema.ScopeOpened{RunID: o.t.ID, ThreadID: o.t.ID, ScopeKind: kind, Program: o.c.Agent}
	fact.LocalMetadata = map[string]any{"dialect": string(o.x.Dialect)}
	if o.c.Altered {
		fact.LocalMetadata["client_altered"] = true
	}
	if o.x.Request.MaxOutput != nil {
		fact.Limits = map[string]any{"max_output_tokens": *o.x.Request.MaxOutput}
	}
	return fact
}

// child records threads whose answer a new tool result of this thread holds. Such a thread
// began while the tool call was open.
func (o *observation) child() {
	for i := o.change.keep; i < len(o.now); i++ {
		b := &o.now[i]
		if b.Layer != dialect.LayerToolResults || b.Tool == "" || b.from == nil || !b.from.Readable() {
			continue
		}
		open := o.t.ID + "\x00" + b.Tool
		for _, t := range o.s.Threads {
			if t == o.t || t.Parent != "" || !slices.Contains(t.OpenFor, open) || len(t.Answers) == 0 {
				continue
			}
			if last := t.Answers[len(t.Answers)-1]; last.proves(b.from.Text) != "" {
				t.Parent = o.t.ID
				o.adopt(t, b.Tool)
			}
		}
	}
}

// adopt records the parent of a thread.
func (o *observation) adopt(t *thread, toolCall string) {
	fact := &schema.ScopeOpened{RunID: t.ID, ParentRunID: o.t.ID, ThreadID: t.ID, ParentThreadID: o.t.ID, ScopeKind: "subagent", Program: o.c.Agent}
	fact.LocalMetadata = map[string]any{"tool_call_id": toolCall}
	f := o.add(fact, t.ID, "parent")
	f.IDs.ThreadID, f.IDs.RunID, f.IDs.ParentRunID, f.IDs.TurnID = t.ID, t.ID, o.t.ID, ""
	f.IDs.ToolCallID = toolCall
}
