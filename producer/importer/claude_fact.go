package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/google/uuid"
)

// claudeNamespace is the name space of the event ids.
var claudeNamespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:ctxledger:import:claude-code"))

// errFactTooLarge is returned for a fact that no event can hold.
var errFactTooLarge = errors.New("fact too large")

// fact emits one fact of the record's thread. name tells the fact from others
// of its type in the session; toolCall is the call that it is about, or "".
func (im *claudeImport) fact(r *record, fact schema.Fact, toolCall string, name ...string) error {
	t := r.thread
	id := uuid.NewSHA1(claudeNamespace, []byte(strings.Join(append([]string{im.opts.Tenant, t.key.session, t.key.thread, string(fact.EventType())}, name...), "\x00")))
	event, err := schema.NewEvent(fact, id.String(), t.source, r.at, t.ids(im.opts.Tenant, toolCall))
	if err != nil {
		return fmt.Errorf("line %d of %s: %w", r.line, im.file, err)
	}
	if len(event.Data) > schema.MaxEventBytes {
		return errFactTooLarge
	}
	t.sequence++
	sequence := t.sequence
	event.Sequence = &sequence
	if err := im.emit(event); err != nil {
		return fmt.Errorf("emit a fact of line %d of %s: %w", r.line, im.file, err)
	}
	im.report.Facts++
	t.session.facts++
	return nil
}

// orProblem turns a fact that is too large into a problem of its line.
func (im *claudeImport) orProblem(r *record, err error) error {
	if err == errFactTooLarge {
		im.problem(r.line, &lineError{ReasonFactTooLarge, fmt.Sprintf("an event holds at most %d bytes", schema.MaxEventBytes)})
		return nil
	}
	return err
}

// metadata is what every fact says about where it comes from.
func (r *record) metadata() map[string]any {
	m := map[string]any{"line": r.line}
	if r.UUID != "" {
		m["record_uuid"] = r.UUID
	}
	return m
}

// open emits the thread's scope before its first other fact.
func (im *claudeImport) open(r *record) error {
	t := r.thread
	if t.opened {
		return nil
	}
	t.opened = true
	t.session.last = r.at
	depth := int64(0)
	scope := &schema.ScopeOpened{
		Common: schema.Common{Metadata: r.metadata()},
		RunID:  t.key.thread, RootRunID: t.key.session, ThreadID: t.key.thread,
		ScopeKind: "session", Depth: &depth, Program: "claude-code", LocalMetadata: make(map[string]any),
	}
	if r.Version != "" {
		scope.Program += " " + shortText(r.Version, 64)
	}
	if !t.key.main() {
		depth = 1
		scope.ScopeKind, scope.ParentRunID, scope.ParentThreadID = "subagent", t.key.session, t.key.session
	}
	for name, value := range map[string]string{"cwd": r.Cwd, "git_branch": r.GitBranch, "slug": r.Slug} {
		if value != "" {
			scope.LocalMetadata[name] = shortText(value, 2048)
		}
	}
	return im.fact(r, scope, "")
}
