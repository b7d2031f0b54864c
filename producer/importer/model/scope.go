package model

import "github.com/ctxledger/ctxledger/schema"

// Scope holds the properties of a thread as a whole.
type Scope struct {
	Kind         string // session or subagent
	Depth        *int64 // 0 at the root, nil when unknown
	ParentThread string
	Program      string            // name and version
	Local        map[string]string // by name; "" is left out
	Limits       map[string]any
}

// Open emits the thread's scope before its first other fact.
func (w *Writer) Open(o *Origin, s Scope) error {
	t := o.Thread
	if t.Opened {
		return nil
	}
	t.Opened = true
	t.Session.Last = o.At
	if t.Session.folder == "" {
		t.Session.folder = s.Local["cwd"]
	}
	fact := &schema.ScopeOpened{
		Common: schema.Common{Metadata: o.metadata()},
		RunID:  t.Key.Thread, ParentRunID: t.ParentRun, RootRunID: t.RootRun, ThreadID: t.Key.Thread, ParentThreadID: s.ParentThread,
		ScopeKind: s.Kind, Depth: s.Depth, Program: s.Program, LocalMetadata: make(map[string]any), Limits: s.Limits,
	}
	for name, value := range s.Local {
		if value != "" {
			fact.LocalMetadata[name] = ShortText(value, 2048)
		}
	}
	return w.fact(o, fact, "")
}
