package importer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/claudecode"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

const (
	goodLine   = `{"type":"user","uuid":"u-%d","parentUuid":null,"sessionId":"s-1","timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"hello"}}`
	answerLine = `{"type":"assistant","uuid":"a-%d","sessionId":"s-1","timestamp":"2026-01-02T03:04:06Z","message":{"id":"msg_%d","model":"m","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":1,"output_tokens":2}}}`
)

func good(n int) string { return fmt.Sprintf(goodLine, n) }

// TestBadInput: every bad line is reported by line and reason, and the other lines are imported.
func TestBadInput(t *testing.T) {
	deep := `{"type":"user","uuid":"d","sessionId":"s-1","toolUseResult":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	for name, c := range map[string]struct {
		text   string
		reason model.Reason
		line   int
		items  int
	}{
		"empty file":          {"", model.ReasonEmptyFile, 0, 0},
		"binary file":         {good(1) + "\n\x7fELF\x00\x00\x01", model.ReasonBinaryFile, 0, 0},
		"broken line":         {good(1) + "\n{]\n" + good(2), model.ReasonMalformedJSON, 2, 2},
		"truncated last line": {good(1) + "\n" + good(2)[:60], model.ReasonTruncatedLine, 2, 1},
		"invalid UTF-8":       {good(1) + "\n" + strings.Replace(good(2), "hello", "h\xffllo", 1) + "\n" + good(3), model.ReasonInvalidUTF8, 2, 2},
		"duplicate key":       {good(1) + "\n" + strings.Replace(good(2), `"type"`, `"uuid":"x","type"`, 1) + "\n" + good(3), model.ReasonDuplicateKey, 2, 2},
		"deep nesting":        {good(1) + "\n" + deep + "\n" + good(2), model.ReasonTooDeep, 2, 2},
		"giant line":          {good(1) + "\n" + strings.Replace(good(2), "hello", strings.Repeat("x", 2<<20), 1) + "\n" + good(3), model.ReasonLineTooLong, 2, 2},
		"giant last line":     {good(1) + "\n" + strings.Repeat("x", 2<<20), model.ReasonLineTooLong, 2, 1},
		"second session":      {good(1) + "\n" + strings.Replace(good(2), "s-1", "s-2", 1) + "\n" + good(3), model.ReasonSecondSession, 2, 3},
		"no session":          {`{"type":"user","uuid":"x","message":{"content":"a"}}` + "\n" + good(2), model.ReasonNoSession, 1, 1},
		"long id":             {good(1) + "\n" + strings.Replace(good(2), "u-2", strings.Repeat("u", 300), 1), model.ReasonBadID, 2, 1},
		"duplicate record":    {good(1) + "\n" + good(1), model.ReasonDuplicateRecord, 2, 1},
		"time out of range":   {good(1) + "\n" + strings.Replace(good(2), "2026-", "9999-", 1), model.ReasonNoTime, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := testOptions()
			opts.MaxLineBytes = 1 << 20
			got := importText(t, "log.jsonl", []byte(c.text), opts)
			checkValid(t, got.events)
			items := 0
			for _, e := range got.events {
				if e.EventType() == schema.TypeItemAdded {
					items++
				}
			}
			if items != c.items {
				t.Errorf("%d items imported, want %d", items, c.items)
			}
			if len(got.report.Problems) != 1 {
				t.Fatalf("problems: %v", got.report.Problems)
			}
			p := got.report.Problems[0]
			if p.File != "log.jsonl" || p.Line != c.line || p.Reason != c.reason {
				t.Errorf("problem %v, want line %d, %s", p, c.line, c.reason)
			}
			for _, content := range []string{"hello", "hllo", "xxxx", "uuuu"} {
				if strings.Contains(p.String(), content) {
					t.Errorf("the problem quotes the log: %v", p)
				}
			}
		})
	}
}

// TestGoodVariants: unusual but valid input gives no problem.
func TestGoodVariants(t *testing.T) {
	for name, text := range map[string]string{
		"no final newline": good(1) + "\n" + good(2),
		"carriage returns": good(1) + "\r\n" + good(2) + "\r\n",
		"blank lines":      "\n" + good(1) + "\n\n  \n" + good(2) + "\n",
		"byte order mark":  "\xef\xbb\xbf" + good(1) + "\n" + good(2),
		"lone surrogate":   good(1) + "\n" + strings.Replace(good(2), "hello", `cut \ud83d`, 1),
		"long good line":   good(1) + "\n" + strings.Replace(good(2), "hello", strings.Repeat("y", 3<<20), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := testOptions()
			opts.StoreText = true
			got := importText(t, "log.jsonl", []byte(text), opts)
			checkValid(t, got.events)
			equal(t, "problems", got.report.Problems, nil)
			equal(t, "facts", got.report.Facts, 5)
		})
	}
}

func TestProblemsAreBounded(t *testing.T) {
	text := strings.Repeat("not json\n", 5000)
	report := importText(t, "log.jsonl", []byte(text), model.Options{}).report
	equal(t, "listed", len(report.Problems), model.MaxProblems)
	equal(t, "counted", report.MoreProblems, 5000-model.MaxProblems)
}

// TestLongLists: a compaction of many items and an elision of many results
// stay within the limit of an event.
func TestLongLists(t *testing.T) {
	var b strings.Builder
	var ids []string
	for i := range 1200 {
		fmt.Fprintln(&b, good(i))
		ids = append(ids, fmt.Sprintf("%q", fmt.Sprintf("toolu_%s_%04d", strings.Repeat("x", 100), i)))
	}
	fmt.Fprintf(&b, `{"type":"system","subtype":"microcompact_boundary","uuid":"b-1","sessionId":"s-1","timestamp":"2026-01-02T03:04:05Z","microcompactMetadata":{"trigger":"auto","tokensSaved":9,"compactedToolIds":[%s]}}`+"\n", strings.Join(ids, ","))
	b.WriteString(`{"type":"system","subtype":"compact_boundary","uuid":"b-2","sessionId":"s-1","timestamp":"2026-01-02T03:04:05Z","compactMetadata":{"trigger":"auto","preTokens":9}}` + "\n")
	// A rewind in the middle would drop entries; these prompts have no parent.
	got := importText(t, "log.jsonl", []byte(b.String()), testOptions())
	checkValid(t, got.events)
	equal(t, "problems", got.report.Problems, nil)
	elided, saved := 0, int64(0)
	for _, e := range got.events {
		switch fact := decode(t, e).(type) {
		case *schema.ElisionApplied:
			elided += len(fact.ElidedItemRefs)
			saved += value(fact.TokensSaved)
			equal(t, "parts", fact.Metadata["parts"], float64(8))
		case *schema.CompactionCompleted:
			equal(t, "source refs", len(fact.SourceItemRefs), 1)
			equal(t, "source items", value(fact.SourceWindow.ItemCount), int64(1200))
			equal(t, "range", fact.SourceItemRefs[0].ID(), "s-1@0-1199")
		}
	}
	equal(t, "elided", elided, 1200)
	equal(t, "tokens saved", saved, int64(9))
	equal(t, "elisions", got.report.Elisions, 1)
}

// TestCountOnce: each piece of text is counted once.
func TestCountOnce(t *testing.T) {
	text, err := os.ReadFile("testdata/window.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]int)
	opts := model.Options{Count: func(_, text string) (int64, string) { seen[text]++; return 1, "one" }}
	importText(t, "window.jsonl", text, opts)
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q counted %d times", text, n)
		}
	}
	if len(seen) == 0 {
		t.Error("nothing counted")
	}
}

// TestUnknownTypes: records of an unknown type are counted once a type, and the other lines are
// imported.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	text := good(1) + "\n" + strings.Repeat(`{"type":"telepathy","sessionId":"s-1"}`+"\n", 3) + good(2)
	got := importText(t, "log.jsonl", []byte(text), testOptions())
	if len(got.report.Problems) > 0 || len(got.report.Unknown) != 1 || got.report.Unknown[`type "telepathy"`] != 3 {
		t.Errorf("problems %v, unknown %v", got.report.Problems, got.report.Unknown)
	}
	var other model.Report
	for i := range 300 {
		other.NoteUnknown(fmt.Sprint(i))
	}
	other.Merge(got.report)
	if len(other.Unknown) != 102 || other.Unknown["other types"] != 200 || other.Unknown[`type "telepathy"`] != 3 {
		t.Errorf("%d types: %v", len(other.Unknown), other.Unknown)
	}
}

// TestUnknownStaysUnknown: without a counter and a key, facts have no tokens and no digests.
func TestUnknownStaysUnknown(t *testing.T) {
	text, err := os.ReadFile("testdata/window.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range importText(t, "window.jsonl", text, model.Options{}).events {
		for _, member := range []string{`"token_estimate"`, `"estimator"`, `"tokens":`, `"content_digest"`, `"history_tokens"`, `"total_tokens"`} {
			if bytes.Contains(e.Data, []byte(member)) {
				t.Errorf("a %s has %s", e.EventType(), member)
			}
		}
	}
}

func TestStops(t *testing.T) {
	text := []byte(good(1) + "\n" + fmt.Sprintf(answerLine, 1, 1) + "\n" + good(2) + "\n")
	wrong := errors.New("the stream is full")
	n := 0
	report, err := claudecode.Import(context.Background(), "f", bytes.NewReader(text), model.Options{}, func(*schema.Event) error {
		if n++; n == 3 {
			return wrong
		}
		return nil
	})
	if !errors.Is(err, wrong) || report.Facts != 2 {
		t.Errorf("emit's error: %v, %d facts", err, report.Facts)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := claudecode.Import(ctx, "f", bytes.NewReader(text), model.Options{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	_, err = claudecode.Import(context.Background(), "f", &failing{Reader: bytes.NewReader(text)}, model.Options{}, nil)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("reader's error: %v", err)
	}
}

// failing is a disk that fails after the first read.
type failing struct {
	*bytes.Reader
	reads int
}

func (f *failing) Read(p []byte) (int, error) {
	if f.reads++; f.reads > 1 {
		return 0, io.ErrClosedPipe
	}
	return f.Reader.Read(p[:min(len(p), 16)])
}

func TestProgress(t *testing.T) {
	text := []byte(strings.Replace(good(1), "hello", strings.Repeat("z", 5<<20), 1))
	var calls, last, total int64
	opts := model.Options{Progress: func(read, all int64) {
		calls++
		if read < last || read > all {
			t.Errorf("progress goes from %d to %d of %d", last, read, all)
		}
		last, total = read, all
	}}
	importText(t, "f", text, opts)
	if calls < 2 || last != total {
		t.Errorf("%d calls, ends at %d of %d", calls, last, total)
	}
	last, text = 0, append(append(text, '\n'), good(2)...)
	failing := func(*schema.Event) error { return errors.New("no") }
	if _, err := claudecode.Import(t.Context(), "f", bytes.NewReader(text), opts, failing); err == nil || last == total {
		t.Errorf("an import that failed, %v, was told to be at %d of %d", err, last, total)
	}
}

func TestMerge(t *testing.T) {
	text, err := os.ReadFile("testdata/window.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	one := importText(t, "a", text, testOptions()).report
	var sum model.Report
	sum.Merge(one)
	equal(t, "merged into nothing", sum, one)
	sum.Merge(one)
	equal(t, "calls", sum.Calls, one.Calls)
	equal(t, "tokens", sum.Tokens, one.Tokens)
	equal(t, "sessions", sum.Sessions, one.Sessions)
	equal(t, "tool uses", sum.ToolUses, one.ToolUses)
	equal(t, "compactions", sum.Compactions, one.Compactions)
	equal(t, "files", sum.Files, 2)
	equal(t, "ignored", sum.Ignored["file-history-snapshot"], 2)
	equal(t, "the argument", one.Ignored["file-history-snapshot"], 1)
}

func TestFiles(t *testing.T) {
	root := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(good(1)), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	b, a, nested := write("b.jsonl"), write("a.jsonl"), write("p/s/agent-1.jsonl")
	write("notes.txt")
	for link, target := range map[string]string{"loop": root, "z-link.jsonl": a, "dangling.jsonl": filepath.Join(root, "nothing"), "dir.jsonl": filepath.Join(root, "p")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	files, problems := importer.Files(root, model.FormatClaudeCode)
	equal(t, "files", files, []string{a, b, nested, filepath.Join(root, "z-link.jsonl")})
	if len(problems) != 1 || problems[0].Reason != model.ReasonNotFound {
		t.Errorf("problems: %v", problems)
	}
	files, problems = importer.Files(a, model.FormatClaudeCode)
	equal(t, "one file", files, []string{a})
	equal(t, "problems of one file", problems, nil)
	for path, reason := range map[string]model.Reason{filepath.Join(root, "missing"): model.ReasonNotFound, t.TempDir(): model.ReasonNoTranscripts} {
		if files, problems := importer.Files(path, model.FormatClaudeCode); len(files) != 0 || len(problems) != 1 || problems[0].Reason != reason {
			t.Errorf("%s: %v, %v", path, files, problems)
		}
	}
}

// againAsNobody runs the calling test in a process of an unprivileged user.
func againAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir := t.TempDir()
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "test"), program, 0o755), os.Chown(dir, nobody, nobody), os.Chmod(filepath.Dir(dir), 0o711))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "test"), "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
}

func TestPermissions(t *testing.T) {
	if os.Geteuid() == 0 { // root can read all files
		againAsNobody(t)
		return
	}
	root := t.TempDir()
	folder, file := filepath.Join(root, "closed"), filepath.Join(root, "closed.jsonl")
	if err := errors.Join(os.Mkdir(folder, 0), os.WriteFile(file, nil, 0), os.WriteFile(filepath.Join(root, "open.jsonl"), []byte(good(1)), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(folder, 0o755) })
	files, problems := importer.Files(root, model.FormatClaudeCode)
	equal(t, "files", len(files), 2)
	if len(problems) != 1 || problems[0].Reason != model.ReasonUnreadableFolder || problems[0].File != folder {
		t.Errorf("problems: %v", problems)
	}
	report, err := importer.ImportFile(context.Background(), model.FormatClaudeCode, file, model.Options{}, nil)
	if err != nil || len(report.Problems) != 1 || report.Problems[0].Reason != model.ReasonUnreadableFile {
		t.Errorf("report %+v, %v", report, err)
	}
}

// TestGrowsMeanwhile: lines that are appended between the passes are left for the next import.
func TestGrowsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.jsonl")
	if err := os.WriteFile(path, []byte(good(1)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	grown := &growing{File: f, line: fmt.Sprintf(answerLine, 1, 1) + "\n"}
	report, err := claudecode.Import(context.Background(), path, grown, model.Options{}, func(*schema.Event) error { return nil })
	if err != nil || report.Lines != 1 || len(report.Problems) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// growing appends a line before the second pass.
type growing struct {
	*os.File
	line  string
	seeks int
}

func (g *growing) Seek(offset int64, whence int) (int64, error) {
	if g.seeks++; g.seeks == 4 {
		if _, err := g.WriteAt([]byte(g.line), int64(len(good(1))+1)); err != nil {
			return 0, err
		}
	}
	return g.File.Seek(offset, whence)
}

// TestSessionThatBeginsTwice reads rollouts that no program writes: one begins its session twice, and one
// names itself as its parent.
func TestSessionThatBeginsTwice(t *testing.T) {
	t.Parallel()
	const head = `{"timestamp":"2026-03-01T10:00:0%d.000Z","type":"session_meta","payload":{"id":%q,"timestamp":"2026-03-01T10:00:00.000Z"%s}}` + "\n"
	const message = `{"timestamp":"2026-03-01T10:00:0%d.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes"}]}}` + "\n"
	const child = `,"source":{"subagent":{"thread_spawn":{"depth":1,"parent_thread_id":"s-1"}}}`
	for says, log := range map[string]string{
		"lacks records in between: imported with a gap": fmt.Sprintf(head+head+head+message, 1, "s-1", "", 2, "s-2", "", 3, "s-1", "", 4),
		"imported without a parent":                     fmt.Sprintf(head+message, 1, "s-1", child, 2),
	} {
		t.Run(says, func(t *testing.T) {
			got := importAs(t, model.FormatCodex, "f", []byte(log), testOptions())
			checkValid(t, got.events)
			if text := fmt.Sprint(got.report.Problems); len(got.events) < 2 || !strings.Contains(text, says) || strings.Contains(text, "as a slice") {
				t.Errorf("%d events, problems %s", len(got.events), text)
			}
		})
	}
}
