package claudecode

import (
	"context"
	"io"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// claudeImport is one import of one log.
type claudeImport struct {
	*model.Writer
	index  *claudeIndex
	finder *threadFinder
	record record       // buffer for the next record
	native claudeRecord // buffer for the next native record

	requests *requests // nil for a log without recorded requests
	command
}

// command holds the records of the last local command.
type command struct {
	caveat string // before a command
	exit   string // the command that ends the program
}

var claudeTool = model.NewTool(model.FormatClaudeCode)

// Import imports a Claude Code session log with one JSON record per line. Import passes the facts
// to emit in file order:
//
//   - per session and sub-agent a context.scope.opened;
//   - per piece of a message a context.item.added and a context.log.appended;
//   - per model call, before the call's items, a context.usage.recorded;
//   - per compaction a context.compaction.completed and a context.summary.created;
//   - per microcompaction a context.elision.applied.
//
// The file name appears in problems only. The log is read twice. Lines that are appended
// meanwhile are left for the next import. The error is an error of r, of emit or of ctx. The
// report lists problems of the log, also if Import returns an error.
func Import(ctx context.Context, file string, r io.ReadSeeker, opts model.Options, emit func(*schema.Event) error) (model.Report, error) {
	im := &claudeImport{Writer: model.NewWriter(claudeTool, file, opts, emit), finder: newThreadFinder()}
	err := im.run(ctx, r)
	return im.Report, err
}

func (im *claudeImport) run(ctx context.Context, r io.ReadSeeker) error {
	im.index = newClaudeIndex(&im.Lines)
	return im.Twice(ctx, r, im.index.line, im.line)
}

// line imports one line. The error is an error of emit; problems go to the report.
func (im *claudeImport) line(line []byte, number int, last bool) error {
	rec := &im.native
	*rec = claudeRecord{}
	err := model.DecodeRecord(&im.Lines, line, rec, last)
	if err == model.ErrBlank {
		return nil
	}
	if err == nil {
		rec.unwrap()
		err = rec.checkIDs()
	}
	if err != nil {
		im.Problem(number, err)
		return nil
	}
	if im.requests == nil && im.index.requests {
		im.requests = newRequests(im.Writer)
	}
	key, hasSession := im.finder.find(rec)
	class := claudeTypes[rec.kind()]
	if class == classAttachment && !rec.queuedPrompt() {
		class = classIgnored
	}
	switch {
	case class == classUnknown:
		im.Report.NoteUnknown("type " + model.Quoted(rec.kind()))
		return nil
	case class == classIgnored:
		im.Report.Ignore(rec.ignoredKind())
		if t := im.Threads[key]; t != nil && rec.UUID != "" {
			t.Log.Skipped(rec.UUID, rec.ParentUUID)
		}
		return nil
	case !hasSession:
		im.Problem(number, model.NewLineError(model.ReasonNoSession, "neither this record nor one before it names a session"))
		return nil
	case class == classRequest:
		if im.requests == nil {
			return nil
		}
		return im.request(line, rec, key, number)
	case class == classCost:
		return im.cost(line, key, number)
	}
	at, ok := im.time(rec, key, number)
	if !ok {
		return nil
	}
	f := &im.record
	*f = record{claudeRecord: rec, Origin: model.Origin{Thread: im.claudeThread(key, at, number, rec.wrapped.inProgress), Record: rec.id(key, number), Parent: rec.ParentUUID, At: at, Line: number}}
	if t := im.Threads[main(key)]; rec.wrapped.inProgress && t != nil && rec.wrapped.outer != "" {
		t.Log.Skipped(rec.wrapped.outer, rec.wrapped.outerParent) // records of the main thread follow the outer record
	}
	if rec.UUID == "" {
		im.Problem(number, model.NewLineError(model.ReasonNoUUID, ""))
	} else {
		f.Extra = map[string]any{"record_uuid": rec.UUID}
	}
	if !f.Thread.First(f.Hashed()) {
		if rec.wrapped.inProgress {
			return nil // the program repeats these records
		}
		im.Problem(number, model.NewLineError(model.ReasonDuplicateRecord, "an earlier record has this uuid"))
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

// main returns the main thread of the session.
func main(key model.ThreadKey) model.ThreadKey {
	return model.ThreadKey{Session: key.Session, Thread: key.Session}
}

// record is a record that becomes facts.
type record struct {
	*claudeRecord
	model.Origin
}

// time returns the record's time, or else the last known time of the session.
func (im *claudeImport) time(r *claudeRecord, key model.ThreadKey, number int) (time.Time, bool) {
	if at, ok := r.time(); ok {
		if s := im.Sessions[key.Session]; s != nil {
			s.Last = at
		}
		return at, true
	}
	if s := im.Sessions[key.Session]; s != nil && !s.Last.IsZero() {
		im.Problem(number, model.NewLineError(model.ReasonNoTime, "imported with the time of the previous record"))
		return s.Last, true
	}
	if first := im.index.firstTime[key.Session]; !first.IsZero() {
		im.Problem(number, model.NewLineError(model.ReasonNoTime, "imported with the time of the session's first record that has one"))
		return first, true
	}
	im.Problem(number, model.NewLineError(model.ReasonNoTime, "not imported: no record of the session has a time"))
	return time.Time{}, false
}

// secondBits leaves room for a million entries of a slice a second. Positions stay below 2⁵³.
const secondBits = 20

// claudeThread returns the state of a thread and creates it at the first record.
func (im *claudeImport) claudeThread(key model.ThreadKey, at time.Time, number int, inProgress bool) *model.Thread {
	if len(im.Sessions) > 0 && im.Sessions[key.Session] == nil {
		im.Problem(number, model.NewLineError(model.ReasonSecondSession, "another session begins here; both are imported"))
	}
	t, isNew := im.Thread(key)
	if isNew {
		if inProgress {
			t.InProgress()
		}
		if first, headless := im.finder.headless[key]; headless && first != "" { // revision 2: revision 1 began at 0
			t.Slice(first, at.Unix()<<secondBits)
		}
		t.Log.Results, t.Log.After = make(map[uint64]model.ResultAt), make(map[uint64]int64)
	}
	return t
}

// Open emits the thread's scope before its first other fact.
func (im *claudeImport) Open(r *record) error {
	if r.Thread.Opened {
		return nil
	}
	depth := int64(0)
	s := model.Scope{Kind: "session", Depth: &depth, Program: "claude-code", Local: map[string]string{"cwd": r.Cwd, "git_branch": r.GitBranch, "slug": r.Slug}}
	if r.Version != "" {
		s.Program += " " + model.ShortText(r.Version, 64)
	}
	if !r.Thread.Key.Main() {
		depth = 1
		s.Kind, s.ParentThread = "subagent", r.Thread.Key.Session
	}
	return im.Writer.Open(&r.Origin, s)
}
