package importer

import (
	"context"
	"io"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// claudeImport is one import of one log.
type claudeImport struct {
	*writer
	index  *claudeIndex
	finder *threadFinder
	record record       // the last, room for the next
	native claudeRecord // as above
}

var claudeTool = newTool(FormatClaudeCode)

// ClaudeCode imports a Claude Code session log, one JSON record a line, and
// passes its facts to emit in file order. Per session and sub-agent it emits
// a context.scope.opened; per piece of a message a context.item.added and a
// context.log.appended; per model call, before the call's own items, a
// context.usage.recorded; per compaction a context.compaction.completed and a
// context.summary.created; per microcompaction a context.elision.applied.
//
// The file name only names problems. The log is read twice; what is appended
// to it meanwhile is left for the next import. The error is that of r, of emit
// or of ctx; whatever is wrong with the log itself is in the report, also when
// there is an error.
func ClaudeCode(ctx context.Context, file string, r io.ReadSeeker, opts Options, emit func(*schema.Event) error) (Report, error) {
	im := &claudeImport{writer: newWriter(claudeTool, file, opts, emit), finder: newThreadFinder()}
	err := im.run(ctx, r)
	return im.report, err
}

func (im *claudeImport) run(ctx context.Context, r io.ReadSeeker) error {
	im.index = newClaudeIndex()
	return im.twice(ctx, r, im.index.line, im.line)
}

// line imports one line. The error is emit's; problems go to the report.
func (im *claudeImport) line(line []byte, number int, last bool) error {
	rec := &im.native
	*rec = claudeRecord{}
	err := decodeRecord(line, rec, last)
	if err == errBlank {
		return nil
	}
	if err == nil {
		err = rec.checkIDs()
	}
	if err != nil {
		im.problem(number, err)
		return nil
	}
	key, hasSession := im.finder.find(rec)
	class := claudeTypes[rec.kind()]
	if class == classAttachment && !rec.queuedPrompt() {
		class = classIgnored
	}
	switch {
	case class == classUnknown:
		im.problem(number, &lineError{ReasonUnknownType, "type " + quoteType(rec.kind())})
		return nil
	case class == classIgnored:
		im.report.ignore(rec.ignoredKind())
		if t := im.threads[key]; t != nil && rec.UUID != "" {
			t.log.skipped(rec.UUID, rec.ParentUUID)
		}
		return nil
	case !hasSession:
		im.problem(number, &lineError{ReasonNoSession, "neither this record nor one before it names a session"})
		return nil
	}
	at, ok := im.time(rec, key, number)
	if !ok {
		return nil
	}
	f := &im.record
	*f = record{claudeRecord: rec, origin: origin{thread: im.claudeThread(key, number), record: rec.id(key, number), parent: rec.ParentUUID, at: at, line: number}}
	if rec.UUID == "" {
		im.problem(number, &lineError{ReasonNoUUID, ""})
	} else {
		f.extra = map[string]any{"record_uuid": rec.UUID}
	}
	if !f.thread.first(f.hashed()) {
		im.problem(number, &lineError{ReasonDuplicateRecord, "a record with this uuid stands above"})
		return nil
	}
	switch class {
	case classCompaction:
		return im.boundary(f)
	case classElision:
		return im.microcompact(f)
	}
	return im.message(f)
}

// record is a record on its way to facts.
type record struct {
	*claudeRecord
	origin
}

// time is the record's time, or the session's last known one.
func (im *claudeImport) time(r *claudeRecord, key threadKey, number int) (time.Time, bool) {
	if at, ok := r.time(); ok {
		if s := im.sessions[key.session]; s != nil {
			s.last = at
		}
		return at, true
	}
	if s := im.sessions[key.session]; s != nil && !s.last.IsZero() {
		im.problem(number, &lineError{ReasonNoTime, "imported with the time of the record before"})
		return s.last, true
	}
	if first := im.index.firstTime[key.session]; !first.IsZero() {
		im.problem(number, &lineError{ReasonNoTime, "imported with the time of the session's first record that has one"})
		return first, true
	}
	im.problem(number, &lineError{ReasonNoTime, "not imported: no record of the session has a time"})
	return time.Time{}, false
}

// claudeThread returns the state of a thread, made at its first record.
func (im *claudeImport) claudeThread(key threadKey, number int) *thread {
	if len(im.sessions) > 0 && im.sessions[key.session] == nil {
		im.problem(number, &lineError{ReasonSecondSession, "another session begins here; both are imported"})
	}
	t, isNew := im.thread(key)
	if isNew {
		t.log.partial = im.finder.headless[key]
		t.log.results, t.log.after = make(map[uint64]resultAt), make(map[uint64]int64)
	}
	return t
}

// open emits the thread's scope before its first other fact.
func (im *claudeImport) open(r *record) error {
	if r.thread.opened {
		return nil
	}
	depth := int64(0)
	s := scope{kind: "session", depth: &depth, program: "claude-code", local: map[string]string{"cwd": r.Cwd, "git_branch": r.GitBranch, "slug": r.Slug}}
	if r.Version != "" {
		s.program += " " + shortText(r.Version, 64)
	}
	if !r.thread.key.main() {
		depth = 1
		s.kind, s.parentThread = "subagent", r.thread.key.session
	}
	return im.writer.open(&r.origin, s)
}
