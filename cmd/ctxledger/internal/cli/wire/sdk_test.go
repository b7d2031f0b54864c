package wire_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// TestWindowsOfTheSDK records two calls with the SDK and asks the program about
// them: a tool output that the ladder shortened stays known as a stub, an item that
// is removed trips no standing check, and each omission is explained.
func TestWindowsOfTheSDK(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	client := sdk(t, clitest.Up(t, data).NATSURL, schema.Key{})
	run, err := client.Open(t.Context(), producer.Run{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("t", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 100}})
	var items []window.Item
	for _, c := range []producer.Content{
		{ID: "found", Kind: window.KindRetrieved, Role: "system", Layer: "memory", Text: strings.Repeat("word ", 90)},
		{ID: "gone", Kind: window.KindMessage, Role: "user", Layer: "user", Text: "[removed]", Redaction: schema.RedactionRemoved, RedactionReason: "asked for", PolicyRefs: []string{"policy:test"}},
		{ID: "hits", Kind: window.KindToolResult, Role: "tool", Layer: "tool_results", Text: strings.Repeat("line ", 200)},
		{ID: "u1", Kind: window.KindMessage, Role: "user", Layer: "user", Text: "Go on."},
	} {
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	if err := turn.Record(t.Context(), &schema.RedactionApplied{
		Common: schema.Common{PolicyRefs: schema.Refs("policy:test")}, RedactionID: "redaction-1", TargetRef: "gone",
		RedactionState: schema.RedactionRemoved, Reason: "asked for",
	}); err != nil {
		t.Fatal(err)
	}
	policy := window.Policy{
		Steps: []window.Step{window.DropRetrieved, window.CompactToolOutputs}, CompactStubTokens: 7,
		CompactReloadRef: func(it window.Item) string { return "file:" + it.ID },
	}
	for n := range 2 {
		call := turn.Call(fmt.Sprint("c", n+1))
		plan, err := call.Fit(t.Context(), items, policy, nil)
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
		items = plan.Window
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, attempt := range []string{"1", "2"} {
		tryTask(t, client, attempt)
	}
	awaitSeals(t, data, 3)
	for _, c := range []struct{ sql, want string }{
		{"SELECT arrayStringConcat(groupArray(concat(call_id, ' ', toString(tokens), ' of ', toString(tokens_full), ' by ', elided_by)), ', ') AS found " +
			"FROM (SELECT * FROM turn_window WHERE session_id = 's' AND has(item_refs, 'hits') ORDER BY call_id)", "c1 7 of 201 by elision:c1, c2 7 of 201 by elision:c1"},
		{"SELECT arrayStringConcat(groupArray(concat(item_ref, ' ', problem)), ', ') AS found FROM check_redaction_reintroduced WHERE session_id = 's'", ""},
		{"SELECT concat(overflow_strategy, ' ', estimator, ' ', arrayStringConcat(truncated_refs, '+')) AS found " +
			"FROM budgets WHERE session_id = 's' AND call_id = 'c1'", "custom o200k_base found+hits"},
		{"SELECT arrayStringConcat(groupArray(concat(attempt_id, ' ', item_refs[1], ' ', toString(tokens))), ', ') AS found " +
			"FROM (SELECT * FROM turn_window WHERE session_id = 'again' ORDER BY attempt_id, position)", "1 found 91, 1 u1 3, 2 found 181, 2 u1 3"},
	} {
		if rows := clitest.Ask(t, data, "--sql", c.sql); len(rows) != 1 || rows[0]["found"] != c.want {
			t.Errorf("%v, not %q", rows, c.want)
		}
	}
	stdout, stderr, code := clitest.Run(t, "why", "--turn", "t", "--item", "hits", "--data", data)
	answer := strings.Join(strings.Fields(stdout), " ") // the lines are as wide as the terminal
	if code != cli.ExitDone || !strings.Contains(answer, "only as a stub (offloaded), 201 → 7 tokens") || !strings.Contains(answer, "file:hits") {
		t.Errorf("why ended with %d: %s%s", code, stdout, stderr)
	}
	for _, session := range []string{"s", "again"} {
		if stdout, stderr, code := clitest.Run(t, "conformance", "--session", session, "--data", data); code != cli.ExitDone {
			t.Errorf("conformance of %s ended with %d: %s%s", session, code, stdout, stderr)
		}
	}
	verifyTurn(t, data, "again", "tried")
}

// sdk is a client of the NATS server at url. Its key may be the zero one.
func sdk(t *testing.T, url string, key schema.Key) *producer.Client {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	config := producer.DefaultConfig(nc)
	config.Key = key
	client, err := producer.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// awaitSeals waits until the ledger has so many seals, and all before the last of them.
func awaitSeals(t *testing.T, data string, n float64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		rows := clitest.Ask(t, data, "--sql", "SELECT count() AS seals FROM events WHERE event_type = 'context.envelope.created' AND stream_seq <= (SELECT max(last_seq) FROM commits)")
		if rows[0]["seals"] == n {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the tables have not %v seals: %v", n, rows)
		}
	}
}

// verifyTurn exports a turn and verifies the pack.
func verifyTurn(t *testing.T, data, session, turn string) {
	t.Helper()
	pack := filepath.Join(t.TempDir(), "pack.zip")
	if stdout, stderr, code := clitest.Run(t, "evidence", "export", "--session", session, "--turn", turn, "--out", pack, "--data", data); code != cli.ExitDone {
		t.Fatalf("export ended with %d: %s%s", code, stdout, stderr)
	}
	key, _, _ := clitest.Run(t, "proof", "keygen", "--data", data) // up has made it
	if stdout, stderr, code := clitest.Run(t, "evidence", "verify", pack, "--key", strings.TrimSpace(key)); code != cli.ExitDone {
		t.Errorf("verify ended with %d: %s%s", code, stdout, stderr)
	}
}

// tryTask is an attempt at a task, which uses every id of the others. Its item found is
// larger in later ones.
func tryTask(t *testing.T, client *producer.Client, attempt string) {
	t.Helper()
	run, err := client.Open(t.Context(), producer.Run{ID: "run", Session: "again", Place: producer.Place{Task: "task", Attempt: attempt}})
	if err != nil {
		t.Fatal(err)
	}
	turn := run.Turn("tried", producer.Model{Name: "gpt-4o", Window: window.Budget{MaxTokens: 500}})
	var items []window.Item
	for _, c := range []producer.Content{
		{ID: "found", Kind: window.KindRetrieved, Role: "system", Layer: "memory", Text: strings.Repeat("word ", 90*int(attempt[0]-'0'))},
		{ID: "u1", Kind: window.KindMessage, Role: "user", Layer: "user", Text: "Go on."},
	} {
		item, err := turn.Add(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, item)
	}
	call := turn.Call("c")
	plan, err := call.Fit(t.Context(), items, window.DefaultPolicy(), nil)
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
	if err := call.Usage(t.Context(), plan, schema.ProviderUsage{UncachedInput: new(int64(plan.TokensAfter))}); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
}
