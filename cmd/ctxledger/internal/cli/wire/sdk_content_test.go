package wire_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// shelf is a host's store of content by item.
type shelf map[string]string

func (k shelf) Load(_ context.Context, item, _ string) (producer.Content, error) {
	return producer.Content{Text: k[item]}, nil
}

// TestContentOfTheSDK records with the SDK an image, a refusal, an elision that the model
// regrets, and a summary by a model of its own, and asks the program about them. No
// standing check finds anything, and the turn's pack verifies.
func TestContentOfTheSDK(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	key, err := schema.NewKey(rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	run, err := sdk(t, clitest.Up(t, data).NATSURL, key).Open(t.Context(), producer.Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	recordContent(t, run.Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 700}}))
	awaitSeals(t, data, 1)
	for _, c := range []struct{ query, columns, want string }{
		{"item-parts", "item_id part_kind mime_type ref tokens", "look image image/png file:shot.png 258"},
		{"elided-then-read", "item_id reads reason again again_item_id", "hits users.go 201 tokens, turns since: 1 reloaded hits"},
		{"summary-costs", "outcome summary_id summarizer_call_id model window_tokens output cost", "completed summary writer small 400 20 0.01"},
		{"goals-kept", "goals kept lost all_kept", "[goal-1 goal-2] [goal-1] [goal-2] false"},
	} {
		var found []string
		for _, row := range clitest.Ask(t, data, c.query) {
			var values []any
			for _, column := range strings.Fields(c.columns) {
				values = append(values, row[column])
			}
			found = append(found, strings.TrimSpace(fmt.Sprintln(values...)))
		}
		if got := strings.Join(found, "; "); got != c.want {
			t.Errorf("%s: %q, not %q", c.query, got, c.want)
		}
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT arrayStringConcat(groupArray(concat(log_item_id, ' ', markers[1])), ', ') AS found FROM log_entries WHERE notEmpty(markers)", "no refusal"},
		{"SELECT concat(layer, ' ', toString(reported_tokens), ' by ', reported_by) AS found FROM layer_usage WHERE reported_tokens IS NOT NULL", "todo 5 by own"},
		{"SELECT concat(arrayStringConcat(elided_notes), ': ', toString(startsWith(elided_stub_digests[1], 'hmac'))) AS found FROM elisions WHERE notEmpty(elided_notes)",
			"read to find the callers: 1"},
		{"SELECT arrayStringConcat(arrayFlatten(groupArray(item_refs)), ' ') AS found FROM (SELECT * FROM turn_window WHERE call_id = 'c2' ORDER BY position)", "summary todo u2"},
		{"SELECT toString(sum(cost)) AS found FROM call_costs", "0.01"},
	} {
		if rows := clitest.Ask(t, data, "--sql", c.sql); len(rows) != 1 || rows[0]["found"] != c.want {
			t.Errorf("%v, not %q", rows, c.want)
		}
	}
	if stdout, stderr, code := clitest.Run(t, "conformance", "--session", "s", "--data", data); code != cli.ExitDone {
		t.Errorf("conformance ended with %d: %s%s", code, stdout, stderr)
	}
	verifyTurn(t, data, "s", "t")
}

func recordContent(t *testing.T, turn *producer.Turn) {
	t.Helper()
	texts := shelf{"hits": strings.Repeat("line ", 200)}
	var items []window.Item
	for _, c := range []producer.Content{
		{ID: "look", Kind: window.KindMessage, Role: "user", Layer: "user", Text: "What is this?", Parts: []producer.Part{
			{Kind: schema.PartImage, MimeType: "image/png", Ref: "file:shot.png", Tokens: new(int64(258)), Estimator: "provider"}}},
		{ID: "no", Kind: window.KindMessage, Role: "assistant", Layer: "assistant", Text: "I cannot say who that is.", Markers: []schema.LogMarker{schema.MarkRefusal}},
		{ID: "hits", Kind: window.KindToolResult, Role: "tool", Layer: "tool_results", Text: texts["hits"], Reads: "users.go"},
		{ID: "u2", Kind: window.KindMessage, Role: "user", Layer: "user", Text: "Go on."},
	} {
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	rules := window.Rules{LongTokens: 100, LongTurns: 1, Cut: func(window.Item) window.Cut {
		return window.Cut{Level: window.Summarized, StubTokens: 9, Note: "read to find the callers"}
	}}
	results := window.ElisionPolicy{Name: "old_results", Select: func(window.History) ([]int, string) { return []int{2}, "turn" }}
	pass, err := window.PlanElision(window.History{Items: items}, results, window.Style{Level: window.Hybrid, Weigh: rules.Weigh})
	if err != nil {
		t.Fatal(err)
	}
	first := turn.Call("c1")
	if err := first.Elide(t.Context(), pass); err != nil {
		t.Fatal(err)
	}
	if items, err = first.Restore(t.Context(), pass.Window, texts, "model_request", "hits"); err != nil {
		t.Fatal(err)
	}
	todo, err := turn.Add(t.Context(), producer.Content{ID: "todo", Kind: window.KindRetrieved, Role: "system", Layer: "todo", Text: "- goal-1"})
	if err != nil {
		t.Fatal(err)
	}
	call := turn.Call("c2")
	policy := window.Policy{Steps: []window.Step{window.SummarizeMessages}, TriggerTokens: 100}
	plan, err := call.FitWithSummary(t.Context(), items, policy, producer.Compaction{Goals: []string{"goal-1", "goal-2"}},
		func(context.Context, []window.Item) (producer.Summary, error) {
			return producer.Summary{
				Content: producer.Content{ID: "summary", Text: "An image was shown, and callers were found.", CallID: "writer"},
				Model:   "small", Billed: &producer.Billed{Usage: schema.ProviderUsage{UncachedInput: new(int64(400)), Output: new(int64(20))}, Cost: new(0.01), Currency: "USD"},
				Goals: []string{"goal-1"}, Reinjected: []window.Reinjected{{Kind: "todo", Item: todo}},
			}, nil
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asm, err := call.Assemble(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := call.Inject(t.Context(), asm, schema.InjectMessageHistory); err != nil {
		t.Fatal(err)
	}
	call.Reports = []producer.LayerReport{{Layer: "todo", Tokens: 5, Estimator: "own"}}
	if err := call.Usage(t.Context(), plan, schema.ProviderUsage{UncachedInput: new(int64(plan.TokensAfter))}); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}
