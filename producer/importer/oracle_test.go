package importer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// transcripts returns the folder of real session logs, which are not part of the product.
func transcripts(tb testing.TB) string {
	tb.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			tb.Fatal("CTXLEDGER_SHARED does not name the shared folder")
		}
		tb.Skip("set CTXLEDGER_SHARED to the shared folder to test against real session logs")
	}
	return filepath.Join(shared, "transcripts")
}

// oracle holds the expected values of expected.json for one Claude Code log.
type oracle struct {
	Lines      int            `json:"lines"`
	SessionIDs []string       `json:"session_ids"`
	Types      map[string]int `json:"types"`
	Usage      struct {
		Calls         int   `json:"api_call_count"`
		Input         int64 `json:"input_tokens"`
		CacheCreation int64 `json:"cache_creation_tokens"`
		CacheRead     int64 `json:"cache_read_tokens"`
		Output        int64 `json:"output_tokens"`
	} `json:"usage_deduped"`
	ToolUses    int             `json:"tool_use_ids"`
	ToolResults int             `json:"tool_result_ids"`
	Unanswered  int             `json:"unanswered_tool_uses"`
	Tools       map[string]int  `json:"tools"`
	Summaries   int             `json:"compact_summaries"`
	Boundaries  []boundaryFacts `json:"boundaries"`
}

type boundaryFacts struct {
	Line              int       `json:"line"`
	Kind              string    `json:"kind"`
	UUID              string    `json:"uuid"`
	Timestamp         time.Time `json:"timestamp"`
	Trigger           string    `json:"trigger"`
	PreTokens         int64     `json:"preTokens"`
	LogicalParentUUID string    `json:"logicalParentUuid"`
	TokensSaved       int64     `json:"tokensSaved"`
	CompactedToolIDs  int       `json:"compactedToolIds"`
	PrevCallWindow    int64     `json:"prev_call_window"`
	NextCall          nextCall  `json:"next_call"`
}

type nextCall struct {
	MessageID  string `json:"message_id"`
	Window     int64  `json:"window"`
	CacheRead  int64  `json:"cache_read"`
	Recomputed int64  `json:"recomputed"`
}

func oracles(tb testing.TB) (folder string, byFile map[string]oracle) {
	root := transcripts(tb)
	text, err := os.ReadFile(filepath.Join(root, "expected.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var expected struct {
		ClaudeCode map[string]oracle `json:"claude_code"`
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		tb.Fatal(err)
	}
	if len(expected.ClaudeCode) == 0 {
		tb.Fatal("expected.json lists no Claude Code log")
	}
	return filepath.Join(root, "claude-code"), expected.ClaudeCode
}

// TestOracle reproduces every count of expected.json from the emitted events.
func TestOracle(t *testing.T) {
	folder, byFile := oracles(t)
	for file, want := range byFile {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(folder, file))
			if err != nil {
				t.Fatal(err)
			}
			got := importText(t, file, text, testOptions())
			checkValid(t, got.events)
			counted := countEvents(t, got.events)
			equal(t, "sessions", counted.sessions, want.SessionIDs)
			equal(t, "calls", counted.calls, want.Usage.Calls)
			equal(t, "input tokens", counted.input, want.Usage.Input)
			equal(t, "cache creation tokens", counted.cacheWrite, want.Usage.CacheCreation)
			equal(t, "cache read tokens", counted.cacheRead, want.Usage.CacheRead)
			equal(t, "output tokens", counted.output, want.Usage.Output)
			equal(t, "tool uses", len(counted.toolUses), want.ToolUses)
			equal(t, "tool results", len(counted.toolResults), want.ToolResults)
			equal(t, "unanswered tool uses", counted.unanswered(), want.Unanswered)
			equal(t, "tools", counted.tools, want.Tools)
			equal(t, "summaries", counted.summaries, want.Summaries)
			equal(t, "boundaries", counted.boundaries, want.Boundaries)
			checkReport(t, got, counted, want)
		})
	}
}

func checkReport(t *testing.T, got imported, counted counts, want oracle) {
	r := got.report
	equal(t, "report: files", r.Files, 1)
	equal(t, "report: sessions", r.Sessions, len(want.SessionIDs))
	equal(t, "report: lines", r.Lines, want.Lines)
	equal(t, "report: facts", r.Facts, len(got.events))
	equal(t, "report: calls", r.Calls, counted.calls)
	equal(t, "report: input", r.Tokens.UncachedInput, counted.input)
	equal(t, "report: cache read", r.Tokens.CacheRead, counted.cacheRead)
	equal(t, "report: cache write", r.Tokens.CacheWrite5m+r.Tokens.CacheWrite1h+r.Tokens.CacheWrite, counted.cacheWrite)
	equal(t, "report: output", r.Tokens.Output, counted.output)
	equal(t, "report: tool uses", r.ToolUses, len(counted.toolUses))
	equal(t, "report: tool results", r.ToolResults, len(counted.toolResults))
	equal(t, "report: unanswered", r.UnansweredToolUses, counted.unanswered())
	equal(t, "report: summaries", r.Summaries, counted.summaries)
	equal(t, "report: compactions", r.Compactions, want.Types["system:compact_boundary"])
	equal(t, "report: microcompactions", r.Elisions, want.Types["system:microcompact_boundary"])
	equal(t, "report: problems", r.Problems, nil)
	ignored := 0
	for kind, n := range want.Types {
		switch kind {
		case "user", "assistant", "system:compact_boundary", "system:microcompact_boundary":
		default:
			ignored += n
		}
	}
	sum := 0
	for _, n := range r.Ignored {
		sum += n
	}
	equal(t, "report: ignored records", sum, ignored)
}

// TestImportTwice: the same log gives the same bytes.
func TestImportTwice(t *testing.T) {
	folder, byFile := oracles(t)
	for file := range byFile {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		first, second := importText(t, file, text, testOptions()), importText(t, "another/name.jsonl", text, testOptions())
		equal(t, file+": events", len(second.events), len(first.events))
		for i := range first.events {
			if first.events[i].Digest() != second.events[i].Digest() {
				t.Fatalf("%s: event %d differs", file, i)
			}
		}
	}
}

// TestPrefix: a longer log gives the events of the shorter log again, with the two exceptions in
// the package comment.
func TestPrefix(t *testing.T) {
	folder, byFile := oracles(t)
	for file := range byFile {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		whole := make(map[string][32]byte)
		for _, e := range importText(t, file, text, testOptions()).events {
			whole[e.ID] = e.Digest()
		}
		lines := bytes.SplitAfter(text, []byte("\n"))
		for n := 1; n < len(lines); n += 1 + len(lines)/60 {
			for _, e := range importText(t, file, bytes.Join(lines[:n], nil), testOptions()).events {
				digest, known := whole[e.ID]
				exception := e.EventType() == schema.TypeUsageRecorded || e.EventType() == schema.TypeCompactionCompleted
				if !known && !exception {
					t.Errorf("%s: the first %d lines give a %s that the whole does not", file, n, e.EventType())
				}
				if known && digest != e.Digest() {
					t.Errorf("%s: the first %d lines give another %s under the same id", file, n, e.EventType())
				}
			}
		}
	}
}

// TestStoreText: only StoreText puts text into events, and every event stays within its limit.
func TestStoreText(t *testing.T) {
	folder, byFile := oracles(t)
	for file := range byFile {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		opts := testOptions()
		opts.StoreText = true
		with := importText(t, file, text, opts)
		checkValid(t, with.events)
		without := importText(t, file, text, testOptions())
		equal(t, file+": facts", with.report.Facts, without.report.Facts)
		inline := 0
		for i, e := range with.events {
			if item, ok := decode(t, e).(*schema.ItemAdded); ok && item.ContentMode == schema.ContentInline {
				inline++
				if int64(len(item.Content.(string))) != *item.ByteSize {
					t.Errorf("%s: event %d holds %d bytes of %d", file, i, len(item.Content.(string)), *item.ByteSize)
				}
			}
			switch fact := decode(t, without.events[i]).(type) {
			case *schema.ItemAdded:
				if fact.Content != nil {
					t.Errorf("%s: event %d holds content", file, i)
				}
			case *schema.SummaryCreated:
				if fact.Content != "" {
					t.Errorf("%s: event %d holds content", file, i)
				}
			}
		}
		if inline == 0 {
			t.Errorf("%s: no text stored", file)
		}
	}
}
