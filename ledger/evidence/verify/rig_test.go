package verify

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// key is a signing key with its public half.
type key struct {
	signer note.Signer
	public note.Verifier
}

func newKey(t testing.TB) key {
	t.Helper()
	private, public, err := note.GenerateKey(rand.Reader, "ledger")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	return key{signer, verifier}
}

// rig makes a pack from single records, as an exporter does.
type rig struct {
	t        testing.TB
	key      key
	header   pack.Header
	zip      bool
	target   string
	w        *pack.Writer
	events   io.WriteCloser
	leaves   io.WriteCloser
	builder  *document.Builder
	files    map[document.Part]io.WriteCloser
	stored   storedHashes
	size     int64 // of the current log
	log      int   // from 1
	indexes  []int64
	seq      uint64
	manifest func([]byte) []byte // changes the manifest before signing
	page     func(document.Account) string
	summary  document.Summary
}

// storedHashes are the stored hashes of a log, by index.
type storedHashes []tlog.Hash

func (s *storedHashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = (*s)[at]
	}
	return out, nil
}

// rigTime is the time of creation of every pack in these tests.
var rigTime = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// newRig begins a pack at target for a session of the tenant acme.
func newRig(t testing.TB, target string, asZip bool, scope pack.Scope, logs int) *rig {
	t.Helper()
	r := &rig{t: t, key: newKey(t), zip: asZip, target: target, files: make(map[document.Part]io.WriteCloser)}
	r.header = pack.Header{ID: "pack-1", Scope: scope, Created: rigTime, Exporter: "ctxledger test"}
	for i := range logs {
		r.header.Logs = append(r.header.Logs, proof.Origin("CTX", fmt.Sprint(i+1)))
	}
	return r
}

func (r *rig) must(err error) {
	if err != nil {
		r.t.Helper()
		r.t.Fatal(err)
	}
}

// begin opens the files that [rig.record] writes.
func (r *rig) begin() {
	var err error
	r.w, err = pack.NewWriter(r.target, r.zip, r.header)
	r.must(err)
	r.events, err = r.w.Create(pack.EventsFile)
	r.must(err)
	r.builder, err = document.New(r.header, func(p document.Part) io.Writer {
		var w io.WriteCloser
		if p.Index == 0 {
			w, err = r.w.Create(p.File)
		} else {
			w, err = os.CreateTemp(r.t.TempDir(), "part")
		}
		r.must(err)
		r.files[p] = w
		return w
	})
	r.must(err)
	r.nextLog()
}

// nextLog ends the current log and begins the next.
func (r *rig) nextLog() {
	if r.log > 0 {
		r.endLog()
	}
	r.log++
	var err error
	r.leaves, err = r.w.Create(pack.LeavesFile(r.log))
	r.must(err)
	r.stored, r.size, r.indexes = nil, 0, nil
}

func (r *rig) endLog() {
	if r.size == 0 {
		r.other(1)
	}
	r.must(r.leaves.Close())
	root, err := tlog.TreeHash(r.size, &r.stored)
	r.must(err)
	head, err := proof.Checkpoint{Origin: r.header.Logs[r.log-1], Size: r.size, Root: root}.Sign(r.key.signer)
	r.must(err)
	r.must(r.w.Put(pack.CheckpointFile(r.log), head))
	hashes, err := r.w.Create(pack.HashesFile(r.log))
	r.must(err)
	r.must(proof.ProveMany(r.size, func() (int64, error) {
		if len(r.indexes) == 0 {
			return 0, io.EOF
		}
		next := r.indexes[0]
		r.indexes = r.indexes[1:]
		return next, nil
	}, &r.stored, func(h tlog.Hash) error {
		_, err := hashes.Write(pack.AppendHashLine(nil, h))
		return err
	}))
	r.must(hashes.Close())
}

func (r *rig) grow(leaf tlog.Hash) {
	more, err := tlog.StoredHashesForRecordHash(r.size, leaf, &r.stored)
	r.must(err)
	r.stored = append(r.stored, more...)
	r.size++
	r.seq++
}

// other adds n records of other sessions to the log. The pack does not contain them.
func (r *rig) other(n int) {
	for range n {
		r.grow(tlog.RecordHash(fmt.Appendf(nil, "other %d", r.seq)))
	}
}

// salt returns an arbitrary salt. Packs contain salts, and nothing derives them again.
func (r *rig) salt() (s proof.Salt) {
	copy(s[:], fmt.Sprintf("salt %d", r.seq))
	return s
}

// record adds an event to the log and to the pack.
func (r *rig) record(e *schema.Event) *pack.Record {
	salt := r.salt()
	rec := &pack.Record{LogIndex: r.size, StreamSeq: r.seq + 1, RecordedAt: e.Time, Leaf: proof.Leaf(e, salt), Salt: salt, Event: e}
	r.put(rec)
	return rec
}

// erase adds an event to the log. The pack has its record without content.
func (r *rig) erase(e *schema.Event, erasure string) *pack.Record {
	rec := &pack.Record{LogIndex: r.size, StreamSeq: r.seq + 1, Leaf: proof.Leaf(e, r.salt()), Erased: erasure}
	r.put(rec)
	return rec
}

// withhold adds an event that the pack withholds.
func (r *rig) withhold(e *schema.Event) {
	r.put(&pack.Record{LogIndex: r.size, StreamSeq: r.seq + 1, RecordedAt: e.Time, Leaf: proof.Leaf(e, r.salt()), Withheld: true})
}

func (r *rig) put(rec *pack.Record) {
	if r.w == nil {
		r.begin()
	}
	line := pack.AppendRecord(nil, rec)
	_, err := r.events.Write(line)
	r.must(err)
	_, err = r.leaves.Write(pack.AppendLeafLine(nil, pack.LeafLineOf(rec, line)))
	r.must(err)
	r.must(r.builder.Add(r.log-1, rec))
	r.indexes = append(r.indexes, r.size)
	r.grow(rec.Leaf)
}

// finish completes the pack.
func (r *rig) finish() {
	if r.w == nil {
		r.begin()
	}
	r.endLog()
	var err error
	r.summary, err = r.builder.Close()
	r.must(err)
	for _, p := range document.Parts() {
		if p.Index > 0 {
			part := r.files[p].(*os.File)
			_, err := part.Seek(0, io.SeekStart)
			r.must(err)
			_, err = io.Copy(r.files[document.Part{File: p.File}], part)
			r.must(err)
			r.must(errors.Join(part.Close(), os.Remove(part.Name())))
		}
	}
	for _, p := range document.Parts() {
		if p.Index == 0 {
			r.must(r.files[p].Close())
		}
	}
	r.must(r.events.Close())
	if r.page != nil {
		r.must(r.w.Put(pack.PageFile, []byte(r.page(document.AccountOf(r.builder)))))
	}
	r.must(r.w.Finish(func(files []pack.File) ([]byte, error) {
		text := document.Manifest(r.header, r.summary, files)
		if r.manifest != nil {
			text = r.manifest(text)
		}
		return text, nil
	}, r.key.signer))
}

// verify verifies the pack with the rig's key.
func (r *rig) verify(keys ...schema.Key) *Report {
	r.t.Helper()
	return verifyAt(r.t, r.target, r.key, keys...)
}

func verifyAt(t testing.TB, path string, k key, keys ...schema.Key) *Report {
	t.Helper()
	report, err := Pack(context.Background(), path, Options{Keys: []note.Verifier{k.public}, TenantKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// read returns a file of a pack in a folder.
func (r *rig) read(path string) []byte {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.target, path))
	r.must(err)
	return text
}

// replace writes a file of a pack in a folder.
func (r *rig) replace(path string, text []byte) {
	r.t.Helper()
	r.must(os.WriteFile(filepath.Join(r.target, path), text, 0o600))
}

// edit replaces a text in a file of the pack. The old text must exist.
func (r *rig) edit(path, old, new string) {
	r.t.Helper()
	text := r.read(path)
	changed := bytes.Replace(text, []byte(old), []byte(new), 1)
	if bytes.Equal(text, changed) {
		r.t.Fatalf("%q is not in %s", old, path)
	}
	r.replace(path, changed)
}

// hold checks the status of these questions. All other questions must have passed.
func hold(t testing.TB, r *Report, want map[Question]Status) {
	t.Helper()
	for _, v := range r.Verdicts {
		status, said := want[v.Question]
		if !said {
			status = Passed
		}
		if v.Status != status {
			t.Errorf("%s is %s, want %s: %s %+v %v", v.Question, v.Status, status, v.Detail, v.Faults, v.Notes)
		}
	}
}
