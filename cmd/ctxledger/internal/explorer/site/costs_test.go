package site_test

import (
	"bufio"
	"bytes"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// A ccCall is what a Claude Code log says of a model call.
type ccCall struct {
	model string
	final bool // the record is of the end of the answer
	usage struct {
		Input   float64 `json:"input_tokens"`
		Read    float64 `json:"cache_read_input_tokens"`
		Written float64 `json:"cache_creation_input_tokens"`
		Output  float64 `json:"output_tokens"`
		Parts   struct {
			Hour float64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
	}
}

// A ccCost is what a log costs by LiteLLM's price file, in dollars.
type ccCost struct {
	final   float64 // of the calls whose usage is that of the whole answer
	atLeast float64 // and of the input of the others
	partial float64 // calls without the usage of the whole answer
}

// costOfLog adds up the calls of a Claude Code log. It shares no code with the program.
func costOfLog(t *testing.T, log string, prices map[string]map[string]any) (sum ccCost) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string]ccCall)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var record struct {
			Message struct {
				ID    string         `json:"id"`
				Model string         `json:"model"`
				Usage jsontext.Value `json:"usage"`
				Stop  string         `json:"stop_reason"`
			} `json:"message"`
		}
		if json.Unmarshal(lines.Bytes(), &record) != nil || len(record.Message.Usage) == 0 {
			continue
		}
		call := ccCall{model: record.Message.Model, final: record.Message.Stop != ""}
		if err := json.Unmarshal(record.Message.Usage, &call.usage); err != nil {
			t.Fatal(err)
		}
		if was, ok := calls[record.Message.ID]; !ok || call.usage.Output >= was.usage.Output {
			calls[record.Message.ID] = call
		}
	}
	for _, id := range slices.Sorted(maps.Keys(calls)) {
		call := calls[id]
		price := func(member string) float64 { n, _ := prices[call.model][member].(float64); return n }
		u := call.usage
		input := u.Input*price("input_cost_per_token") + u.Read*price("cache_read_input_token_cost") +
			(u.Written-u.Parts.Hour)*price("cache_creation_input_token_cost") +
			u.Parts.Hour*price("cache_creation_input_token_cost_above_1hr")
		if output := u.Output * price("output_cost_per_token"); call.final {
			sum.final += input + output
			sum.atLeast += input + output
		} else {
			sum.partial++
			sum.atLeast += input
		}
	}
	return sum
}

// checkCosts compares the costs of every Claude Code session with those of costOfLog to the cent, by
// the built-in list and by the price file, and finds the list named wherever it was used.
func checkCosts(t *testing.T, data string, want map[string]clitest.Answers) {
	t.Helper()
	file := clitest.Shared(t, "prices", "model_prices_and_context_window.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var prices map[string]map[string]any
	if err := json.Unmarshal(text, &prices); err != nil {
		t.Fatal(err)
	}
	compare := func(source string) {
		t.Helper()
		for name, log := range want {
			cost := costOfLog(t, filepath.Join(clitest.Shared(t, "transcripts"), "claude-code", name), prices)
			if cost.atLeast == 0 || cost.partial == 0 {
				t.Fatalf("%s: the log costs %+v", name, cost)
			}
			for _, query := range []string{"sessions", "session-usage", "model-usage", "days"} {
				var got ccCost
				complete := true
				rows := clitest.Ask(t, data, query, "--param", "session_id="+log.SessionIDs[0])
				for _, row := range rows {
					priced, _ := row["priced_cost"].(float64)
					least, _ := row["at_least_cost"].(float64)
					partial, _ := row["partial_calls"].(float64)
					got.final, got.atLeast, got.partial = got.final+priced, got.atLeast+least, got.partial+partial
					complete = complete && row["cost_complete"] == true
					if sources, _ := json.Marshal(row["price_sources"]); least > 0 && !strings.Contains(string(sources), source) {
						t.Errorf("%s of %s names the sources %s, want %s", query, name, sources, source)
					}
				}
				if math.Abs(got.final-cost.final) >= 0.005 || math.Abs(got.atLeast-cost.atLeast) >= 0.005 || got.partial != cost.partial || complete {
					t.Errorf("%s: %s costs %+v, complete %v, by the other program %+v", query, name, got, complete, cost)
				}
			}
		}
	}
	compare("built-in list of 2026-07-24")
	run := func(want string, args ...string) {
		t.Helper()
		if stdout, stderr, code := clitest.Run(t, append(args, "--data", data)...); code != cli.ExitDone || !strings.Contains(stdout+stderr, want) {
			t.Fatalf("%q ended with %d, without %q\n%s%s", args, code, want, stdout, stderr)
		}
	}
	run("other members were not read", "prices", "import", file)
	compare("LiteLLM price file model_prices_and_context_window.json")
	empty := filepath.Join(t.TempDir(), "one.csv")
	if err := os.WriteFile(empty, []byte("model,bucket,per_million,currency,source\nno-such-model,input,1,USD,a test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run("1 prices imported", "prices", "import", empty, "--replace")
	run("the built-in list of prices is off", "prices", "built-in", "off")
	for _, row := range clitest.Ask(t, data, "sessions") {
		if row["priced_cost"] != nil || row["at_least_cost"] != nil {
			t.Errorf("without any price a session costs %v, at least %v", row["priced_cost"], row["at_least_cost"])
		}
	}
	run("the built-in list of prices is on", "prices", "built-in", "on")
	compare("built-in list of 2026-07-24")
}
