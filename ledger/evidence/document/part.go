package document

import (
	"fmt"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/schema"
)

// Version is the schema_version of the documents of Agent Evidence and Agent Context.
const Version = "0.1.0"

// validate checks a header.
func validate(h pack.Header) error {
	if id, err := schema.EvidenceID(h.ID); err != nil || id != h.ID {
		return fmt.Errorf("pack id %q: want an id of Agent Evidence", clip(h.ID, 64))
	}
	if h.Created.IsZero() {
		return fmt.Errorf("pack %s: the time of creation is missing", h.ID)
	}
	if scopeID(h.Scope) == "" || h.Scope.Session == "" {
		return fmt.Errorf("pack %s: want a session as scope, or a turn, run or task of a session", h.ID)
	}
	return validateTellings(h)
}

// scopeID returns the id of the scope, "" for a scope of unknown kind.
func scopeID(s pack.Scope) string {
	switch s.Kind {
	case pack.ScopeTurn:
		return s.Turn
	case pack.ScopeRun:
		return s.Run
	case pack.ScopeTask:
		return s.Task
	case pack.ScopeSession:
		return s.Session
	}
	return ""
}

// Part names one of the streams of a file. A file consists of its parts, one after the other. Each
// part except the first begins with a line that occurs nowhere else in the file, see [Boundary].
type Part struct {
	File  string // path in the pack, with slashes
	Index int
}

// part is the index of a Part in parts.
type part int

const (
	envelopes part = iota
	surfaces
	items
	sourceRefs
	selections
	budgets
	assemblies
	compactions
	missing
	events
	sources
	omissions
	nodes
	edges
	redactions
	telemetry
	inputs
	snapshots
	traces
	verification
	readme
	partCount
)

// parts holds the file and index of each part. A part that begins within a file also has its first
// line.
var parts = [partCount]struct {
	Part
	boundary string
}{
	envelopes:    {Part{pack.ContextFile("envelopes"), 0}, ""},
	surfaces:     {Part{pack.ContextFile("surfaces"), 0}, ""},
	items:        {Part{pack.ContextFile("items"), 0}, ""},
	sourceRefs:   {Part{pack.ContextFile("source_refs"), 0}, ""},
	selections:   {Part{pack.ContextFile("selections"), 0}, ""},
	budgets:      {Part{pack.ContextFile("budgets"), 0}, ""},
	assemblies:   {Part{pack.ContextFile("assemblies"), 0}, ""},
	compactions:  {Part{pack.ContextFile("compactions"), 0}, ""},
	missing:      {Part{pack.ContextFile("missing_context"), 0}, ""},
	events:       {Part{pack.ContextFile("events"), 0}, ""},
	sources:      {Part{pack.SourceMapFile, 0}, ""},
	omissions:    {Part{pack.SourceMapFile, 1}, `],"omissions":[`},
	nodes:        {Part{pack.ProvenanceFile, 0}, ""},
	edges:        {Part{pack.ProvenanceFile, 1}, `],"edges":[`},
	redactions:   {Part{pack.PackFile, 0}, ""},
	telemetry:    {Part{pack.PackFile, 1}, `],"telemetry":[`},
	inputs:       {Part{pack.ReplayFile, 0}, ""},
	snapshots:    {Part{pack.ReplayFile, 1}, `],"snapshot_refs":[`},
	traces:       {Part{pack.ReplayFile, 2}, `],"trace_refs":[`},
	verification: {Part{pack.VerificationFile, 0}, ""},
	readme:       {Part{pack.ReadmeFile, 0}, ""},
}

// Parts returns the parts of all files of a [Builder], grouped by file and in order.
func Parts() []Part {
	list := make([]Part, partCount)
	for i, p := range parts {
		list[i] = p.Part
	}
	return list
}

// Files returns the files of a [Builder].
func Files() []string {
	var list []string
	for _, p := range parts {
		if p.Index == 0 {
			list = append(list, p.File)
		}
	}
	return list
}

// Boundary returns the first line of a part, "" for the first part of a file. JSON texts contain no
// line breaks, so no element equals a boundary.
func Boundary(p Part) string {
	for _, q := range parts {
		if q.Part == p {
			return q.boundary
		}
	}
	return ""
}
