package importer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// TestDetect: the content of each log of testdata, and of each real log, decides its format.
func TestDetect(t *testing.T) {
	want := logs(t)
	for _, f := range model.Formats()[1:] {
		files, _ := importer.Files(filepath.Join(transcripts(t), string(f)), f)
		for _, file := range files {
			want[file] = f
		}
	}
	for log, want := range want {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for mark, text := range map[string][]byte{"": text, "with a byte order mark ": append([]byte("\xef\xbb\xbf"), text...)} {
			r := bytes.NewReader(text)
			if got, looked, err := importer.Detect(r); got != want || err != nil {
				t.Errorf("%s%s is %q, %s, %v; want %s", mark, log, got, looked, err, want)
			}
			if r.Len() != len(text) {
				t.Errorf("%s: not at its start", log)
			}
		}
	}
}

// TestDetectNothing: for a file of an unknown format, the problem names the expected and the
// actual content and quotes nothing.
func TestDetectNothing(t *testing.T) {
	for found, text := range map[string]string{
		"an empty file":                  "",
		"white space":                    " \n\n",
		"gzip":                           "\x1f\x8b\x08secret",
		"a zip file":                     "PK\x03\x04secret",
		"SQLite":                         "SQLite format 3\x00",
		"a binary file":                  "\x01\x02\x00secret",
		"not UTF-8":                      "secret \xff\xfa\xfb secret",
		"text that is not JSON":          "# secret notes",
		"a JSON object":                  `{"secret":1}`,
		"a JSON array":                   `["secret"]`,
		"over several lines":             "{\n  \"secret\": 1\n}",
		"a JSON object that has none of": `{"secret":` + "\n",
	} {
		got := importAs(t, model.FormatAuto, "f", []byte(text), testOptions())
		if len(got.events) != 0 || len(got.report.Problems) != 1 {
			t.Errorf("%s: %d events, %v", found, len(got.events), got.report.Problems)
			continue
		}
		p := got.report.Problems[0]
		if p.Reason != model.ReasonUnknownFormat || !strings.Contains(p.Detail, found) || strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: %v", found, p)
		}
		for _, f := range model.Formats()[1:] {
			if !strings.Contains(p.Detail, string(f)) {
				t.Errorf("%s: does not name %s", found, f)
			}
		}
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range model.Formats() {
		if got, err := model.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %q, %v", f, got, err)
		}
	}
	if _, err := model.ParseFormat("cursor"); err == nil || !strings.Contains(err.Error(), "openhands") {
		t.Errorf("cursor: %v", err)
	}
}

// TestEveryFormatTwice: a log under another name gives the same bytes, and merged reports count
// the log once.
func TestEveryFormatTwice(t *testing.T) {
	for log, f := range logs(t) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		first, second := importAs(t, f, log, text, testOptions()), importAs(t, model.FormatAuto, "another/name", text, testOptions())
		equal(t, log+": events", len(second.events), len(first.events))
		for i := range first.events {
			if first.events[i].Digest() != second.events[i].Digest() {
				t.Fatalf("%s: event %d differs", log, i)
			}
		}
		sum := first.report
		sum.Merge(second.report)
		equal(t, log+": calls", sum.Calls, first.report.Calls)
		equal(t, log+": sessions", sum.Sessions, first.report.Sessions)
		equal(t, log+": tokens", sum.Tokens, first.report.Tokens)
		equal(t, log+": tools", sum.UnansweredToolUses, first.report.UnansweredToolUses)
	}
}

// TestSnapshots: a longer log gives the events of the shorter log again, with the exceptions in
// the package comment.
func TestSnapshots(t *testing.T) {
	for log, f := range logs(t) {
		if filepath.Ext(log) != ".jsonl" || f == model.FormatClaudeCode {
			continue
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		whole := importAs(t, f, log, text, testOptions())
		digests := make(map[string][32]byte)
		for _, e := range whole.events {
			digests[e.Source+" "+e.ID] = e.Digest()
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		for n := 1; n < len(lines); n++ {
			part := importAs(t, f, log, bytes.Join(lines[:n], nil), testOptions())
			for _, e := range part.events {
				digest, known := digests[e.Source+" "+e.ID]
				if e.EventType() == schema.TypeUsageRecorded || strings.Contains(e.Source, ":counts:") {
					continue
				}
				if !known {
					t.Errorf("%s: the first %d lines give a %s that the whole does not", log, n, e.EventType())
				} else if digest != e.Digest() {
					t.Errorf("%s: the first %d lines give another %s under the same id", log, n, e.EventType())
				}
			}
			merged := part.report
			merged.Merge(whole.report)
			equal(t, log+": calls", merged.Calls, whole.report.Calls)
		}
	}
}

// TestCutDocuments: a cut document gives the events before the cut, and a problem.
func TestCutDocuments(t *testing.T) {
	for _, c := range []struct {
		log string
		f   model.Format
	}{{"testdata/swe-agent/v0.traj", model.FormatSWEAgent}, {"testdata/openhands/trajectory.json", model.FormatOpenHands}} {
		text, err := os.ReadFile(c.log)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.TrimSpace(text)
		whole := len(importAs(t, c.f, c.log, text, testOptions()).events)
		last := 0
		for n := 64; n < len(text); n += 97 {
			got := importAs(t, c.f, c.log, text[:n], testOptions())
			checkValid(t, got.events)
			found := false
			for _, p := range got.report.Problems {
				found = found || p.Reason == model.ReasonTruncatedLine
			}
			if !found {
				t.Errorf("%s: %d bytes: %v", c.log, n, got.report.Problems)
			}
			last = max(last, len(got.events))
		}
		if last == 0 || last > whole {
			t.Errorf("%s: at most %d events of %d", c.log, last, whole)
		}
	}
}

// TestHostileDocuments: invalid bytes are reported, and the other documents are imported.
func TestHostileDocuments(t *testing.T) {
	good := func(n string) string {
		return `{"instance_id":"i-` + n + `","history":[{"id":0,"timestamp":"2025-06-01T12:00:0` + n + `","source":"user","action":"message","args":{"content":"hello"}}]}`
	}
	deep := `{"history":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	for name, c := range map[string]struct {
		line   string
		reason model.Reason
	}{
		"broken":       {`{"history":[}`, model.ReasonMalformedJSON},
		"deep":         {deep, model.ReasonTooDeep},
		"two values":   {good("3") + " " + good("4"), model.ReasonMalformedJSON},
		"not UTF-8":    {strings.Replace(good("3"), "hello", "h\xffllo", 1), model.ReasonInvalidUTF8},
		"huge element": {strings.Replace(good("3"), "hello", strings.Repeat("x", 2<<20), 1), model.ReasonLineTooLong},
		"no event":     {`{"instance_id":"x","history":[7]}`, model.ReasonNoSession},
	} {
		t.Run(name, func(t *testing.T) {
			opts := testOptions()
			opts.MaxLineBytes = 1 << 20
			got := importAs(t, model.FormatOpenHands, "f.jsonl", []byte(good("1")+"\n"+c.line+"\n"+good("2")+"\n"), opts)
			checkValid(t, got.events)
			sessions := make(map[string]bool)
			for _, e := range got.events {
				sessions[e.TaskID] = true
			}
			if !sessions["i-1"] || !sessions["i-2"] {
				t.Errorf("sessions of tasks %v", sessions)
			}
			if len(got.report.Problems) == 0 || got.report.Problems[0].Reason != c.reason || got.report.Problems[0].Line != 2 {
				t.Errorf("problems: %v", got.report.Problems)
			}
		})
	}
}

// TestEmitFails: an error of emit ends the import of every format.
func TestEmitFails(t *testing.T) {
	for log, f := range logs(t) {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		_, err = importer.Import(context.Background(), f, log, bytes.NewReader(text), testOptions(), func(*schema.Event) error { return os.ErrDeadlineExceeded })
		if err == nil || !strings.Contains(err.Error(), "emit a fact") {
			t.Errorf("%s: %v", log, err)
		}
	}
}
