package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// claudeImport is one import of one log.
type claudeImport struct {
	file     string
	opts     Options
	emit     func(*schema.Event) error
	report   Report
	index    *claudeIndex
	finder   *threadFinder
	sessions map[string]*session
	threads  map[threadKey]*thread
}

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
	im := &claudeImport{
		file: file, opts: opts, emit: emit, report: Report{Files: 1},
		finder: newThreadFinder(), sessions: make(map[string]*session), threads: make(map[threadKey]*thread),
	}
	err := im.run(ctx, r)
	for _, s := range im.sessions {
		if s.facts > 0 {
			im.report.Sessions++
		}
		im.report.ToolUses += len(s.tools)
		im.report.ToolResults += len(s.answers)
		for call := range s.tools {
			if !s.answers[call] {
				im.report.UnansweredToolUses++
			}
		}
	}
	return im.report, err
}

func (im *claudeImport) run(ctx context.Context, r io.ReadSeeker) error {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("find the end of %s: %w", im.file, err)
	}
	switch binary, err := im.rewindAndSniff(r); {
	case err != nil:
		return err
	case size == 0:
		im.problem(0, &lineError{ReasonEmptyFile, ""})
		return nil
	case binary:
		im.problem(0, &lineError{ReasonBinaryFile, "a session log is text"})
		return nil
	}
	progress := newProgress(im.opts.Progress, 2*size)
	defer progress.done()
	im.index, err = buildClaudeIndex(ctx, newLineReader(r, im.opts.maxLineBytes()), progress.at)
	if err != nil {
		return fmt.Errorf("read %s: %w", im.file, err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s again: %w", im.file, err)
	}
	lines := newLineReader(io.LimitReader(r, im.index.bytes), im.opts.maxLineBytes())
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.next()
		progress.at(size + lines.read)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == errLineTooLong:
			im.report.Lines++
			im.problem(lines.number, &lineError{ReasonLineTooLong, fmt.Sprintf("longer than %d bytes", im.opts.maxLineBytes())})
			continue
		case err != nil:
			return fmt.Errorf("read %s: %w", im.file, err)
		}
		im.report.Lines++
		if err := im.line(line, lines.number, !lines.terminated); err != nil {
			return err
		}
	}
}

// rewindAndSniff tells whether the log looks like a binary file: JSON text
// holds no NUL.
func (im *claudeImport) rewindAndSniff(r io.ReadSeeker) (bool, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read %s: %w", im.file, err)
	}
	var head [8 << 10]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, fmt.Errorf("read %s: %w", im.file, err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("read %s: %w", im.file, err)
	}
	return bytes.IndexByte(head[:n], 0) >= 0, nil
}

// line imports one line. The error is emit's; problems go to the report.
func (im *claudeImport) line(line []byte, number int, last bool) error {
	var rec claudeRecord
	err := decodeRecord(line, &rec, last)
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
	key, hasSession := im.finder.find(&rec)
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
	at, ok := im.time(&rec, key, number)
	if !ok {
		return nil
	}
	f := &record{claudeRecord: &rec, thread: im.thread(key, number), at: at, line: number}
	f.uuid = rec.id(key, number)
	if rec.UUID == "" {
		im.problem(number, &lineError{ReasonNoUUID, ""})
	}
	if f.thread.seen[f.uuid] {
		im.problem(number, &lineError{ReasonDuplicateRecord, "a record with this uuid stands above"})
		return nil
	}
	f.thread.seen[f.uuid] = true
	switch class {
	case classCompaction:
		return im.compaction(f)
	case classElision:
		return im.elision(f)
	}
	return im.message(f)
}

// record is a record on its way to facts: where it stands and whose it is.
type record struct {
	*claudeRecord
	thread *thread
	uuid   string // native, or made of the line
	at     time.Time
	line   int
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

// thread returns the state of a thread, made at its first record.
func (im *claudeImport) thread(key threadKey, number int) *thread {
	if t := im.threads[key]; t != nil {
		return t
	}
	s := im.sessions[key.session]
	if s == nil {
		s = &session{tools: make(map[string]string), answers: make(map[string]bool)}
		if len(im.sessions) > 0 {
			im.problem(number, &lineError{ReasonSecondSession, "another session begins here; both are imported"})
		}
		im.sessions[key.session] = s
	}
	t := newThread(key, s)
	t.log.partial = im.finder.headless[key]
	im.threads[key] = t
	return t
}

func (im *claudeImport) problem(line int, err error) {
	p := Problem{File: im.file, Line: line, Reason: ReasonMalformedJSON}
	var le *lineError
	if errors.As(err, &le) {
		p.Reason, p.Detail = le.reason, le.detail
	}
	im.report.add(p)
}
