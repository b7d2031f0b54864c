package site_test

import (
	"maps"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/pagetest"
	"github.com/ctxledger/ctxledger/queries/client"
)

// otherCounts is what expected.json counts of the logs of other programs, in the
// terms of the queries.
type otherCounts struct {
	agent      string
	totals     map[string]any   // of reported-totals
	tools      map[string]any   // of tool-use
	boundaries []map[string]any // of compaction-boundaries
	records    map[string]any   // of records-by-type, those that start with prefix
	prefix     string
}

// otherAnswers reads what expected.json counts of Codex, SWE-agent and
// OpenHands, by a part of the session's id.
func otherAnswers(t *testing.T) map[string]otherCounts {
	t.Helper()
	text, err := os.ReadFile(clitest.Shared(t, "transcripts", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Codex map[string]struct {
			Types       map[string]float64 `json:"types"`
			Usage       map[string]any     `json:"usage"`
			Window      float64            `json:"model_context_window"`
			Compactions []struct {
				Line      float64 `json:"line"`
				Timestamp string  `json:"timestamp"`
				Items     float64 `json:"replacement_items"`
				Previous  float64 `json:"prev_call_input"`
				Next      struct {
					Input  float64 `json:"input"`
					Cached float64 `json:"cached"`
				} `json:"next_call"`
			} `json:"compactions"`
		} `json:"codex"`
		SWEAgent map[string]struct {
			Steps float64        `json:"steps"`
			Stats map[string]any `json:"model_stats"`
		} `json:"swe_agent"`
		OpenHands map[string]struct {
			Runs []struct {
				Instance string             `json:"instance_id"`
				Usage    map[string]any     `json:"accumulated_token_usage"`
				Calls    float64            `json:"llm_calls"`
				Actions  map[string]float64 `json:"actions"`
			} `json:"runs"`
		} `json:"openhands"`
	}
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]otherCounts)
	for file, log := range expected.Codex {
		id := strings.TrimSuffix(file, ".jsonl")
		c := otherCounts{agent: "codex", records: make(map[string]any), prefix: "response_item:"}
		c.totals = map[string]any{"model_context_window": log.Window}
		for theirs, ours := range map[string][]string{
			"input_tokens": {"input_tokens", "reported_input_tokens"}, "cached_input_tokens": {"cached_input_tokens", "reported_cached_tokens"},
			"output_tokens": {"output_tokens", "reported_output_tokens"}, "reasoning_output_tokens": {"reasoning_tokens", "reported_reasoning"},
			"total_tokens": {"total_tokens", "reported_total_tokens"},
		} {
			for _, name := range ours {
				c.totals[name] = log.Usage[theirs]
			}
		}
		for kind, n := range log.Types {
			if strings.HasPrefix(kind, c.prefix) {
				c.records[kind] = n
			}
		}
		calls := log.Types["response_item:function_call"] + log.Types["response_item:custom_tool_call"]
		results := log.Types["response_item:function_call_output"] + log.Types["response_item:custom_tool_call_output"]
		c.tools = map[string]any{"tool_use_ids": calls, "tool_result_ids": results, "unanswered_tool_uses": calls - results}
		for _, b := range log.Compactions {
			c.boundaries = append(c.boundaries, map[string]any{
				"line": b.Line, "timestamp": b.Timestamp, "replacement_items": b.Items, "prev_call_window": b.Previous,
				"next_call_window": b.Next.Input, "next_call_cache_read": b.Next.Cached,
			})
		}
		want[id[len(id)-36:]] = c
	}
	for _, log := range expected.SWEAgent {
		c := otherCounts{agent: "swe-agent", totals: map[string]any{
			"calls": log.Steps, "reported_calls": log.Stats["api_calls"], "reported_input_tokens": log.Stats["tokens_sent"],
			"reported_output_tokens": log.Stats["tokens_received"], "reported_cost": log.Stats["instance_cost"], "input_tokens": nil, "output_tokens": nil,
		}}
		c.tools = map[string]any{"tool_use_ids": log.Steps, "tool_result_ids": log.Steps, "unanswered_tool_uses": 0.0}
		want["pydicom"] = c
	}
	for _, log := range expected.OpenHands {
		for _, run := range log.Runs {
			c := otherCounts{agent: "openhands", records: make(map[string]any), prefix: "action:"}
			c.totals = map[string]any{
				"calls": run.Calls, "input_tokens": run.Usage["prompt_tokens"], "reported_input_tokens": run.Usage["prompt_tokens"],
				"output_tokens": run.Usage["completion_tokens"], "reported_output_tokens": run.Usage["completion_tokens"],
				"cached_input_tokens": run.Usage["cache_read_tokens"],
			}
			for kind, n := range run.Actions {
				c.records["action:"+kind] = n
			}
			want[run.Instance] = c
		}
	}
	return want
}

// checkOthers compares what is counted of other programs' logs.
func checkOthers(t *testing.T, data string, want map[string]otherCounts) {
	t.Helper()
	sessions := clitest.Ask(t, data, "sessions")
	for part, want := range want {
		at := slices.IndexFunc(sessions, func(row map[string]any) bool { return strings.Contains(row["session_id"].(string), part) })
		if at < 0 {
			t.Errorf("no session for %s", part)
			continue
		}
		session := sessions[at]["session_id"].(string)
		ask := func(name string) []map[string]any {
			return clitest.Ask(t, data, name, "--param", "session_id="+session)
		}
		check := func(what string, got, want any) {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s:\n got %v\nwant %v", part, what, got, want)
			}
		}
		check("agents", sessions[at]["agents"], []any{want.agent})
		check("totals", clitest.Pick(ask("reported-totals")[0], slices.Collect(maps.Keys(want.totals))...), want.totals)
		if want.tools != nil {
			check("tools", clitest.Pick(ask("tool-use")[0], slices.Collect(maps.Keys(want.tools))...), want.tools)
		}
		if want.agent == "codex" {
			var boundaries []map[string]any
			for _, b := range ask("compaction-boundaries") {
				boundaries = append(boundaries, clitest.Pick(b, "line", "timestamp", "replacement_items", "prev_call_window", "next_call_window", "next_call_cache_read"))
			}
			check("boundaries", boundaries, want.boundaries)
		}
		if want.records != nil {
			records := make(map[string]any)
			for _, row := range ask("records-by-type") {
				if kind := row["record_type"].(string); strings.HasPrefix(kind, want.prefix) {
					records[kind] = row["records"]
				}
			}
			check("records", records, want.records)
		}
	}
}

func TestTranscriptsGiveTheCountedAnswers(t *testing.T) {
	t.Parallel()
	want, others, logs := clitest.ExpectedAnswers(t), otherAnswers(t), clitest.Shared(t, "transcripts")
	data := t.TempDir()
	found := clitest.Up(t, data)

	stdout, stderr, code := clitest.Run(t, "import", "auto", logs, "--data", data)
	if code != cli.ExitDone || strings.Count(stderr, "not a session log") != 2 || !strings.Contains(stdout, " 0 that were there already, 0 in quarantine") {
		t.Fatalf("import ended with %d\n%s%s", code, stdout, stderr)
	}
	clitest.CheckAnswers(t, data, want)
	checkOthers(t, data, others)
	if !strings.Contains(stdout, "\ncache breaks after pauses cost $") || !strings.Contains(stdout, ", by the built-in list of 2026-07-24") {
		t.Errorf("no sentence about the costs:\n%s", stdout)
	}
	checkCosts(t, data, want)
	checkCorrections(t, data, want)
	first := clitest.Everything(t, data)

	sessions := pagetest.EqualAnswers(t, data, found.Explorer)
	if len(sessions) < 7 {
		t.Errorf("%d sessions were compared", len(sessions))
	}
	if n := barsEqual(t, data, strings.TrimSuffix(found.Explorer, "/"), sessions); n < 5 {
		t.Errorf("%d bars have a segment that the log does not have", n)
	}
	pagetest.EqualTheList(t, strings.TrimSuffix(found.Explorer, "/"), sessionsByPage(t, strings.TrimSuffix(found.Explorer, "/")))

	// The stream recognises what it has just stored by its message id.
	stdout, stderr, code = clitest.Run(t, "import", "auto", logs, "--data", data)
	if code != cli.ExitDone || !strings.Contains(stdout, "everything was there already") {
		t.Fatalf("the second import ended with %d\n%s%s", code, stdout, stderr)
	}

	// Once it has forgotten, the ledger recognises every event by its identity.
	forget(t, found.NATSURL)
	stdout, stderr, code = clitest.Run(t, "import", "auto", logs, "--again", "--data", data)
	if code != cli.ExitDone || !strings.Contains(stdout, "in the tables: 0 new events, ") || strings.Contains(stdout, ", 0 that were there") {
		t.Fatalf("the third import ended with %d\n%s%s", code, stdout, stderr)
	}
	if again := clitest.Everything(t, data); !reflect.DeepEqual(again, first) {
		t.Errorf("importing again changed the facts:\n got %v\nwant %v", again, first)
	}
	if repeats := clitest.Ask(t, data, "duplicates"); len(repeats) == 0 {
		t.Error("the duplicates query lists none of the repeats")
	}
}

// forget makes the stream forget the message ids that it has seen.
func forget(t *testing.T, natsURL string) {
	t.Helper()
	js, stream := clitest.OpenStream(t, natsURL)
	config := stream.CachedInfo().Config
	window := config.Duplicates
	config.Duplicates = 100 * time.Millisecond
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * config.Duplicates)
	config.Duplicates = window
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// sessionsByPage returns the ids of all sessions, in pages of one.
func sessionsByPage(t *testing.T, base string) (ids []any) {
	t.Helper()
	c := &client.Client{Base: base}
	for row, err := range c.Sessions(t.Context(), url.Values{"limit": {"1"}, "tenant": {"default"}}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, row["session_id"])
	}
	return ids
}
