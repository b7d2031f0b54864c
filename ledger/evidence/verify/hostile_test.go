package verify

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// want checks that a question failed with a fault at this file and with this text.
func want(t testing.TB, report *Report, q Question, file, reason string) {
	t.Helper()
	v := report.Of(q)
	for _, f := range v.Faults {
		if f.File == file && strings.Contains(f.Reason, reason) {
			return
		}
	}
	t.Errorf("%s does not say %q of %q:\n%s", q, reason, file, faults(report))
}

// small makes a pack of a sealed session of 20 records in a folder.
func small(t testing.TB) *rig {
	t.Helper()
	return sealed(t, filepath.Join(t.TempDir(), "pack"), false, 20, 1)
}

// TestBadPacks: each change to a pack gives its fault.
func TestBadPacks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(t *testing.T, r *rig)
		q      Question
		file   string
		reason string
	}{
		"another key": {func(t *testing.T, r *rig) { r.key = newKey(t) }, Signature, pack.AttestationFile, "not signed by a given key"},
		"another key's checkpoint": {func(t *testing.T, r *rig) {
			r.replace(pack.CheckpointFile(1), small(t).read(pack.CheckpointFile(1)))
		}, Signature, pack.CheckpointFile(1), "not signed by a known key"},
		"a checkpoint of another log": {func(t *testing.T, r *rig) {
			text, err := proof.Checkpoint{Origin: "ctxledger/CTX/other", Size: 30}.Sign(r.key.signer)
			r.must(err)
			r.replace(pack.CheckpointFile(1), text)
		}, Signature, pack.CheckpointFile(1), `is the head of the log "ctxledger/CTX/other"`},
		"an older head of the log": {func(t *testing.T, r *rig) {
			text, err := proof.Checkpoint{Origin: r.header.Logs[0], Size: 5}.Sign(r.key.signer)
			r.must(err)
			r.replace(pack.CheckpointFile(1), text)
		}, Inclusion, pack.HashesFile(1), "in a tree of size 5"},
		"an unsigned pack":                {func(_ *testing.T, r *rig) { r.must(os.Remove(filepath.Join(r.target, pack.AttestationFile))) }, Signature, pack.AttestationFile, "not signed"},
		"a file that is not listed":       {func(_ *testing.T, r *rig) { r.replace("extra.json", []byte("{}")) }, Files, "extra.json", "is not listed"},
		"a file whose name is no text":    {func(_ *testing.T, r *rig) { r.replace("\xff.json", []byte("{}")) }, Files, "\uFFFD.json", "is not listed"},
		"a listed file that is not there": {func(_ *testing.T, r *rig) { r.must(os.Remove(filepath.Join(r.target, pack.ReadmeFile))) }, Files, pack.ReadmeFile, "is not in the pack"},
		"an unknown version":              {func(_ *testing.T, r *rig) { r.edit(pack.HeaderFile, "ctxledger-pack/1", "ctxledger-pack/9") }, Format, pack.HeaderFile, "not a pack of the format"},
		"truncated records": {func(_ *testing.T, r *rig) {
			text := r.read(pack.EventsFile)
			r.replace(pack.EventsFile, text[:len(text)-40])
		}, Format, pack.EventsFile, "byte "},
		"truncated documents": {func(_ *testing.T, r *rig) {
			text := r.read(pack.ProvenanceFile)
			r.replace(pack.ProvenanceFile, text[:len(text)-40])
		}, Schemas, pack.ProvenanceFile, "is not valid JSON"},
		"a truncated manifest": {func(_ *testing.T, r *rig) {
			text := r.read(pack.ManifestFile)
			r.replace(pack.ManifestFile, text[:len(text)/2])
		}, Files, pack.ManifestFile, "read the manifest"},
		"a link": {func(_ *testing.T, r *rig) {
			r.must(os.Remove(filepath.Join(r.target, pack.ReadmeFile)))
			r.must(os.Symlink("/etc/hostname", filepath.Join(r.target, pack.ReadmeFile)))
		}, Format, pack.ReadmeFile, "symbolic link"},
		"a pipe":          {func(_ *testing.T, r *rig) { r.must(syscall.Mkfifo(filepath.Join(r.target, "pipe"), 0o600)) }, Format, "pipe", "named pipe"},
		"an empty folder": {func(_ *testing.T, r *rig) { r.must(os.MkdirAll(filepath.Join(r.target, "a", "b"), 0o700)) }, Format, "a/b", "an empty folder"},
		"another signature": {func(t *testing.T, r *rig) {
			other := newKey(t)
			text := string(r.read(pack.AttestationFile))
			r.replace(pack.AttestationFile, []byte(strings.Replace(text, `"signatures":[`, `"signatures":[{"keyid":"`+pack.KeyID(other.public.Name(), other.public.KeyHash())+`","sig":"AAAA"},`, 1)))
		}, Signature, pack.AttestationFile, "a further signature"},
		"no records":        {func(_ *testing.T, r *rig) { r.replace(pack.EventsFile, nil) }, Inclusion, pack.EventsFile, "log index"},
		"no leaves":         {func(_ *testing.T, r *rig) { r.must(os.Remove(filepath.Join(r.target, pack.LeavesFile(1)))) }, Inclusion, pack.LeavesFile(1), "is missing"},
		"no proof":          {func(_ *testing.T, r *rig) { r.must(os.Remove(filepath.Join(r.target, pack.HashesFile(1)))) }, Inclusion, pack.HashesFile(1), "the proof is missing"},
		"nothing but lines": {func(_ *testing.T, r *rig) { r.replace(pack.EventsFile, bytes.Repeat([]byte("\n"), 5000)) }, Format, pack.EventsFile, `want {"log_index":`},
		"lines without end": {func(_ *testing.T, r *rig) { r.replace(pack.EventsFile, bytes.Repeat([]byte("["), 2<<20)) }, Format, pack.EventsFile, `want {"log_index":`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := small(t)
			test.change(t, r)
			want(t, r.verify(), test.q, test.file, test.reason)
		})
	}
}

// TestForgedRecord changes a record and all related files that need no key.
func TestForgedRecord(t *testing.T) {
	t.Parallel()
	r := small(t)
	lines := bytes.SplitAfter(r.read(pack.EventsFile), []byte("\n"))
	rec, err := pack.ParseRecord(lines[0])
	r.must(err)
	rec.Event.Data = bytes.Replace(rec.Event.Data, []byte(`"layer":"retrieved"`), []byte(`"layer":"system"`), 1)
	rec.Leaf = proof.Leaf(rec.Event, proof.Salt(rec.Salt))
	lines[0] = pack.AppendRecord(nil, rec)
	r.replace(pack.EventsFile, bytes.Join(lines, nil))
	leaves := bytes.SplitAfter(r.read(pack.LeavesFile(1)), []byte("\n"))
	leaves[0] = pack.AppendLeafLine(nil, pack.LeafLineOf(rec, lines[0]))
	r.replace(pack.LeavesFile(1), bytes.Join(leaves, nil))
	report := r.verify()
	want(t, report, Inclusion, pack.HashesFile(1), "the leaves give the root")
	want(t, report, Files, pack.EventsFile, "bytes, but")
	// With a matching manifest, the signature fails instead.
	for _, path := range []string{pack.EventsFile, pack.LeavesFile(1)} {
		r.edit(pack.ManifestFile, listedHash(r, path), hashOfFile(r, path))
	}
	want(t, r.verify(), Signature, pack.ManifestFile, "not the signed manifest")
}

// listedHash returns the hash of a file in the manifest.
func listedHash(r *rig, path string) string {
	files, err := pack.ManifestFiles(r.read(pack.ManifestFile), 1000)
	r.must(err)
	for _, f := range files {
		if f.Path == path {
			return f.Hash
		}
	}
	r.t.Fatalf("%s is not listed", path)
	return ""
}

func hashOfFile(r *rig, path string) string {
	v := &verifier{ctx: context.Background(), found: newFindings(1)}
	var err error
	v.pack, err = pack.Open(r.target, pack.DefaultLimits())
	r.must(err)
	defer v.pack.Close()
	sums, err := v.digests()
	r.must(err)
	return pack.HashPrefix + sums[path].sum
}

// TestSignedLies: holders of the signing key can sign a pack with false documents. The records
// contradict these documents.
func TestSignedLies(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
	s := newSession(t, 1)
	s.turnOf(9, func(e *schema.Event) { r.record(e) })
	r.manifest = func(text []byte) []byte { return bytes.Replace(text, []byte(`"partial"`), []byte(`"complete"`), 1) }
	r.finish()
	want(t, r.verify(), Derivation, pack.ManifestFile, "differs from the derived document")
}

// TestHeaderContradictsRecords: whoever holds the signing key can sign another header.
func TestHeaderContradictsRecords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header func(*pack.Header)
		record func(r *rig, e *schema.Event)
		reason string
	}{
		"another tenant":      {func(h *pack.Header) { h.Scope.Tenant = "umbrella" }, nil, `is of tenant "acme", but the header names tenant "umbrella"`},
		"ids, not withheld":   {func(h *pack.Header) { h.RedactIDs = true }, nil, "has its event, but the header says that ids are withheld"},
		"withheld, not asked": {nil, func(r *rig, e *schema.Event) { r.withhold(e) }, "is withheld, but the header does not say"},
		"recorded earlier": {nil, func(r *rig, e *schema.Event) {
			rec := &pack.Record{LogIndex: r.size, StreamSeq: r.seq + 1, RecordedAt: rigTime.Add(-time.Duration(r.seq) * time.Hour), Salt: r.salt(), Event: e}
			rec.Leaf = proof.Leaf(e, proof.Salt(rec.Salt))
			r.put(rec)
		}, "but an earlier record of the log at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, filepath.Join(t.TempDir(), "pack"), false, sessionScope(), 1)
			if c.header != nil {
				c.header(&r.header)
			}
			record := c.record
			if record == nil {
				record = func(r *rig, e *schema.Event) { r.record(e) }
			}
			newSession(t, 1).turnOf(9, func(e *schema.Event) { record(r, e) })
			r.finish()
			want(t, r.verify(), Format, pack.EventsFile, c.reason)
		})
	}
}

// TestHostileIDs: ids of the pack are escaped before printing.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	if got := quote("\x1b[31m\n" + strings.Repeat("x", 500)); strings.ContainsAny(got, "\x1b\n") || len(got) > 200 {
		t.Errorf("%s", got)
	}
	if got := list([]string{"a", "b", "c", "d", "e", "f", "g"}); got != `"a", "b", "c", "d", "e" and 2 more` {
		t.Error(got)
	}
}

// TestFaultsAreCounted: the report lists some faults and counts all.
func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	r := small(t)
	r.replace(pack.EventsFile, bytes.ReplaceAll(r.read(pack.EventsFile), []byte(`"leaf":"`), []byte(`"leaf":"x`)))
	report, err := Pack(context.Background(), r.target, Options{Keys: []note.Verifier{r.key.public}, MaxFaults: 3})
	r.must(err)
	if v := report.Of(Format); len(v.Faults) != 3 || v.Total != report.Records {
		t.Errorf("%d faults of %d", len(v.Faults), v.Total)
	}
}
