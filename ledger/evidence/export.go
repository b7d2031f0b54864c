package evidence

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/schema"
)

var (
	// ErrNothing means that the ledger has no event in the scope.
	ErrNothing = errors.New("the ledger has no event in this scope")
	// ErrNotCovered means that no signed head of the log covers the events yet. Wait until the
	// projector has signed a newer head, or sign a head.
	ErrNotCovered = errors.New("no signed head of the log covers the events")
	// ErrNotLogged means that an event has no leaf in the log, because the event is older than the
	// log. A rebuild adds the leaf.
	ErrNotLogged = errors.New("an event is not in the transparency log")
	// ErrAltered means that a row of the table events does not match its leaf in the log. Either
	// the row was changed, or the log belongs to another ledger.
	ErrAltered = errors.New("an event does not match its leaf in the log")
	// ErrExpired means that the content of an event has left the tables by the retention.
	ErrExpired = errors.New("the content of an event has expired by the retention, so its record cannot be proven; packs that were exported before still verify")
)

// Config holds the scope and the options of an export. All fields except Progress, Page and Keys are
// required.
type Config struct {
	Header pack.Header // without Logs and Elsewhere
	Target string      // path that must not exist; its folder must
	Zip    bool
	Signer note.Signer    // signs the attestation
	Known  note.Verifiers // verify the heads of the logs
	// Keys are the tenant's keys for recognising withheld values. Values of other keys are not
	// searched for. [Result.Unchecked] counts the fingerprints of other keys.
	Keys []schema.Key
	// Shards are all shards of a cluster. What a redaction of any of them withholds is searched for.
	// Nil for a plain ledger.
	Shards []*ledger.Ledger
	// Page writes index.html from the account of the records. Nil writes none.
	Page func(io.Writer, document.Account) error
	// Progress is called every 1000 records with the number of written records and of all records.
	Progress func(done, all uint64)
}

// Result describes the written pack.
type Result struct {
	document.Summary
	Digest    string   // of the manifest, "sha256:" and hexadecimal
	Heads     [][]byte // the signed heads, one per log
	Unchecked int      // number of fingerprints without an available key
}

// Export writes a pack. After an error there is no pack. Errors: [ErrNothing], [ErrNotCovered],
// [ErrNotLogged], [ErrAltered], [ErrExpired], [*LeakError], and the errors of [proof.Open], the server and the
// file system.
func Export(ctx context.Context, l *ledger.Ledger, c Config) (Result, error) {
	x := &export{ctx: ctx, ledger: l, config: c}
	s := c.Header.Scope
	x.scope = read.Scope{Tenant: s.Tenant, Session: s.Session, Run: s.Run, Turn: s.Turn, Task: s.Task, Attempt: s.Attempt}
	if err := x.prepare(); err != nil {
		return Result{}, err
	}
	w, err := pack.NewWriter(c.Target, c.Zip, x.header)
	if err != nil {
		return Result{}, err
	}
	if err := x.write(w); err != nil {
		return Result{}, errors.Join(err, w.Abort())
	}
	err = w.Finish(func(files []pack.File) ([]byte, error) {
		manifest := document.Manifest(x.header, x.result.Summary, files)
		sum := sha256.Sum256(manifest)
		x.result.Digest = pack.HashPrefix + hex.EncodeToString(sum[:])
		return manifest, nil
	}, c.Signer)
	return x.result, err
}

// export is the state of a running export.
type export struct {
	ctx     context.Context
	ledger  *ledger.Ledger
	config  Config
	scope   read.Scope
	header  pack.Header
	logs    []log
	all     uint64
	done    uint64
	leaks   *leaks
	hide    *pseudonyms // nil: ids are written unchanged
	builder *document.Builder
	result  Result
}

// log is the part of the scope in one stream incarnation.
type log struct {
	read.ScopeLog
	head    proof.Checkpoint
	indexes []int64 // log indexes of the records
	erased  erased
	beside  []uint64 // sequences of outside facts that describe ids named in the scope
}

// prepare finds the logs and the heads that will prove their records.
func (x *export) prepare() error {
	found, err := read.Of(x.ledger).ScopeLogs(x.ctx, x.scope)
	if err != nil {
		return err
	}
	gone, err := read.Of(x.ledger).ScopeErased(x.ctx, x.scope)
	if err != nil {
		return err
	}
	found, erased := withErased(found, gone)
	if len(found) == 0 {
		return ErrNothing
	}
	x.header = x.config.Header
	x.header.Logs, x.header.Elsewhere, x.header.Rules = nil, nil, pack.Rules
	if err := x.findTellings(); err != nil {
		return err
	}
	beside, err := x.lookBeside(found)
	if err != nil {
		return err
	}
	for _, f := range withBeside(found, beside) {
		if err := x.addLog(f, erased[f.Incarnation], beside[f.Incarnation]); err != nil {
			return err
		}
	}
	withheld, err := privacy.WithheldOf(x.ctx, privacy.OfAll(x.ledger, x.config.Shards...), uuid.Nil, 0)
	if err != nil {
		return err
	}
	if x.leaks, err = newLeaks(withheld, x.scope.Tenant, x.config.Keys); err != nil {
		return err
	}
	x.result.Unchecked = x.leaks.unknown
	if x.header.RedactIDs {
		if x.hide, err = newPseudonyms(); err != nil {
			return err
		}
		x.hideScope()
		return nil
	}
	if s := x.header.Scope; s.Kind != pack.ScopeSession {
		x.header.Elsewhere, err = read.Of(x.ledger).ScopeOutside(x.ctx, x.scope, s.SealKinds())
	}
	return err
}

// findTellings names the sources of the session that another source tells better, and the records of
// calls that another source tells.
func (x *export) findTellings() error {
	found, err := read.RetoldIn(x.ctx, read.Of(x.ledger), x.scope)
	if err != nil {
		return err
	}
	x.header.Retold = nil
	var retold []string
	for _, r := range found {
		retold = append(retold, r.Source)
		x.header.Retold = append(x.header.Retold, pack.Retold{Source: r.Source, By: r.By})
	}
	cut, err := ledger.CutCalls(x.ctx, x.ledger, x.scope.Tenant, x.scope.Session, retold)
	for _, c := range cut {
		x.header.Retold = append(x.header.Retold, pack.Retold{Source: c.Source, Call: c.ID, By: c.By, ByCall: c.ByID})
	}
	return err
}

// addLog finds the head that will prove the records of one log.
func (x *export) addLog(f read.ScopeLog, gone erased, beside []uint64) error {
	last, found, err := translog.Of(x.ledger).LeafIndex(x.ctx, f.Incarnation, f.Last)
	if err != nil {
		return err
	}
	if !found {
		return notLogged(f.Incarnation, f.Last)
	}
	head, found, err := translog.Of(x.ledger).NewestHead(x.ctx, f.Incarnation)
	if err != nil {
		return err
	}
	if !found || head.Size <= last {
		return fmt.Errorf("%w: the newest head of stream %s has %d leaves, the last event is leaf %d; wait until the projector has signed a newer head", ErrNotCovered, f.Incarnation, head.Size, last)
	}
	opened, err := proof.Open(head.Note, x.config.Known)
	if err != nil {
		return fmt.Errorf("open the head of stream %s: %w", f.Incarnation, err)
	}
	x.header.Logs = append(x.header.Logs, opened.Origin)
	x.logs = append(x.logs, log{ScopeLog: f, head: opened.Checkpoint, erased: gone, beside: beside})
	x.result.Heads = append(x.result.Heads, head.Note)
	x.all += f.Events
	return nil
}

func notLogged(incarnation uuid.UUID, sequence uint64) error {
	return fmt.Errorf("%w: sequence %d of stream %s; run `ctxledger rebuild` to add it", ErrNotLogged, sequence, incarnation)
}

// hideScope replaces the ids in the header. The documents use the same pseudonyms.
func (x *export) hideScope() {
	s := &x.header.Scope
	for _, id := range []*string{&s.Tenant, &s.Session, &s.Run, &s.Turn, &s.Task, &s.Attempt} {
		*id = x.hide.of(*id)
	}
	for i, r := range x.header.Retold {
		x.header.Retold[i] = pack.Retold{Source: x.hide.source(r.Source), Call: x.hide.of(r.Call), By: x.hide.source(r.By), ByCall: x.hide.of(r.ByCall)}
	}
}

// write writes the files of the pack.
func (x *export) write(w *pack.Writer) error {
	files, err := newFiles(w, x.leaks)
	if err != nil {
		return err
	}
	defer files.remove()
	if x.builder, err = document.New(x.header, files.part); err != nil {
		return err
	}
	if files.err != nil {
		return files.err
	}
	records, err := x.create(w, pack.EventsFile)
	if err != nil {
		return err
	}
	for i := range x.logs {
		if err := x.writeLog(w, i, records); err != nil {
			return errors.Join(err, records.Close())
		}
	}
	if err := records.Close(); err != nil {
		return err
	}
	if x.result.Summary, err = x.builder.Close(); err != nil {
		return err
	}
	return errors.Join(files.finish(), x.writePage(w))
}

// writePage writes the page for people.
func (x *export) writePage(w *pack.Writer) error {
	if x.config.Page == nil {
		return nil
	}
	page, err := x.create(w, pack.PageFile)
	if err != nil {
		return err
	}
	return errors.Join(x.config.Page(page, document.AccountOf(x.builder)), page.Close())
}

// writeLog writes the records of one log, their leaves and their proof.
func (x *export) writeLog(w *pack.Writer, i int, records io.Writer) error {
	at := &x.logs[i]
	leaves, err := x.create(w, pack.LeavesFile(i+1))
	if err != nil {
		return err
	}
	if err := x.writeRecords(i, records, leaves); err != nil {
		return errors.Join(err, leaves.Close())
	}
	if err := leaves.Close(); err != nil {
		return err
	}
	hashes, err := x.create(w, pack.HashesFile(i+1))
	if err != nil {
		return err
	}
	if err := x.prove(at, hashes); err != nil {
		return errors.Join(err, hashes.Close())
	}
	return errors.Join(hashes.Close(), w.Put(pack.CheckpointFile(i+1), x.result.Heads[i]))
}

// writeRecords writes the events of the scope. Between the events, writeRecords writes the
// remaining records of erased events, and their erasure facts, in log order.
func (x *export) writeRecords(i int, records, leaves io.Writer) error {
	at := &x.logs[i]
	w := recordWriter{export: x, log: i, records: records, leaves: leaves}
	facts, err := x.outsideFacts(at)
	if err != nil {
		return err
	}
	err = read.Of(x.ledger).ScopeEvents(x.ctx, x.scope, at.Incarnation, func(e read.Logged) error {
		if e.StreamSeq > at.Last {
			return nil // recorded after the export began
		}
		if facts, err = w.before(e.StreamSeq, facts); err != nil {
			return err
		}
		if len(facts) > 0 && facts[0].StreamSeq == e.StreamSeq {
			facts = facts[1:] // the fact is in the scope
		}
		return w.event(e)
	})
	if err == nil {
		_, err = w.before(at.Last+1, facts)
	}
	return err
}

// recordWriter writes the records of one log.
type recordWriter struct {
	*export
	log             int
	records, leaves io.Writer
	line            []byte
}

// event checks an event against its leaf and against withheld values, and writes its record.
func (w *recordWriter) event(e read.Logged) error {
	switch {
	case e.Index < 0:
		return notLogged(e.Incarnation, e.StreamSeq)
	case e.Expired():
		return fmt.Errorf("%w: sequence %d of stream %s", ErrExpired, e.StreamSeq, e.Incarnation)
	case !e.Proven():
		return fmt.Errorf("%w: sequence %d of stream %s, log index %d", ErrAltered, e.StreamSeq, e.Incarnation, e.Index)
	}
	w.leaks.at(&e)
	if err := w.leaks.searchEvent(e.Event); err != nil {
		return err
	}
	r := &pack.Record{LogIndex: e.Index, StreamSeq: e.StreamSeq, RecordedAt: e.RecordedAt, Leaf: e.Leaf, Salt: e.Salt, Event: e.Event}
	told := r
	if w.hide != nil {
		r = &pack.Record{LogIndex: e.Index, StreamSeq: e.StreamSeq, RecordedAt: e.RecordedAt, Leaf: e.Leaf, Withheld: true}
		hidden, err := w.hide.event(e.Event)
		if err != nil {
			return err
		}
		told = &pack.Record{LogIndex: e.Index, StreamSeq: e.StreamSeq, RecordedAt: e.RecordedAt, Leaf: e.Leaf, Event: hidden}
	}
	return w.record(r, told)
}

// record writes the line of r, and adds told to the documents.
func (w *recordWriter) record(r, told *pack.Record) error {
	w.line = pack.AppendRecord(w.line[:0], r)
	if _, err := w.records.Write(w.line); err != nil {
		return err
	}
	if _, err := w.leaves.Write(pack.AppendLeafLine(nil, pack.LeafLineOf(r, w.line))); err != nil {
		return err
	}
	at := &w.logs[w.log]
	at.indexes = append(at.indexes, r.LogIndex)
	if w.done++; w.config.Progress != nil && w.done%1000 == 0 {
		w.config.Progress(w.done, w.all)
	}
	return w.builder.Add(w.log, told)
}

// prove writes the multiproof of a log's records.
func (x *export) prove(at *log, hashes io.Writer) error {
	given := 0
	next := func() (int64, error) {
		if given == len(at.indexes) {
			return 0, io.EOF
		}
		given++
		return at.indexes[given-1], nil
	}
	reader := tlog.TileHashReader(at.head.Tree(), translog.Of(x.ledger).LogTiles(x.ctx, at.Incarnation))
	var line []byte
	err := proof.ProveMany(at.head.Size, next, reader, func(h tlog.Hash) error {
		line = pack.AppendHashLine(line[:0], h)
		_, err := hashes.Write(line)
		return err
	})
	if err != nil {
		return fmt.Errorf("prove the records of stream %s: %w", at.Incarnation, err)
	}
	return nil
}

// create starts a file that refuses withheld values.
func (x *export) create(w *pack.Writer, path string) (io.WriteCloser, error) {
	to, err := w.Create(path)
	if err != nil {
		return nil, err
	}
	return buffered(path, to, x.leaks), nil
}

// sieve is a file of the pack. Each chunk of 32 KiB is searched for withheld values.
type sieve struct {
	*bufio.Writer
	to io.Closer
}

func buffered(path string, to io.WriteCloser, l *leaks) *sieve {
	return &sieve{bufio.NewWriterSize(l.guard(path, to), 1<<15), to}
}

func (s *sieve) Close() error { return errors.Join(s.Flush(), s.to.Close()) }
