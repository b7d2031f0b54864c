package importer

import "github.com/ctxledger/ctxledger/schema"

// scope is what a log says about a thread as a whole.
type scope struct {
	kind         string // session or subagent
	depth        *int64 // 0 at the root, nil when it is unknown
	parentThread string
	program      string            // name and version
	local        map[string]string // by name, "" is left out
	limits       map[string]any
}

// open emits the thread's scope before its first other fact.
func (w *writer) open(o *origin, s scope) error {
	t := o.thread
	if t.opened {
		return nil
	}
	t.opened = true
	t.session.last = o.at
	fact := &schema.ScopeOpened{
		Common: schema.Common{Metadata: o.metadata()},
		RunID:  t.key.thread, ParentRunID: t.parentRun, RootRunID: t.rootRun, ThreadID: t.key.thread, ParentThreadID: s.parentThread,
		ScopeKind: s.kind, Depth: s.depth, Program: s.program, LocalMetadata: make(map[string]any), Limits: s.limits,
	}
	for name, value := range s.local {
		if value != "" {
			fact.LocalMetadata[name] = shortText(value, 2048)
		}
	}
	return w.fact(o, fact, "")
}
