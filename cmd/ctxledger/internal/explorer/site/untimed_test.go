package site_test

import (
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/queries"
)

// TestLogsWithoutTimesHaveNoTimes imports a log without times. No answer, page or report gives a time of
// 1970 for its facts.
func TestLogsWithoutTimesHaveNoTimes(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	addresses := clitest.Up(t, data)
	run := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, append(args, "--data", data)...)
		if code != cli.ExitDone {
			t.Fatalf("%v ended with %d: %s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	run("import", "swe-agent", clitest.Repository("producer", "importer", "testdata", "swe-agent", "v0.traj"))
	session := clitest.Ask(t, data, "sessions")[0]["session_id"].(string)
	turns := clitest.Ask(t, data, "turns", "--param", "session_id="+session)
	turn := turns[len(turns)-1]["turn_id"].(string)
	item, untimed := "", 0
	for _, row := range clitest.Ask(t, data, "top-items") {
		item = row["item_ref"].(string)
	}
	given := map[string]string{"session_id": session, "turn_id": turn, "item_id": item, "text": "a"}
	for _, q := range queries.All() {
		arguments := make(map[string]string)
		args := []string{"query", q.Name, "-o", "json"}
		for _, p := range q.Parameters {
			if value := given[p.Name]; value != "" {
				arguments[p.Name] = value
				args = append(args, "--param", p.Name+"="+value)
			}
		}
		if _, err := q.Bind(arguments); err != nil || q.Name == "prices" { // valid from any time on
			continue
		}
		answer := run(args...)
		if strings.Contains(answer, `"gap_seconds":0`) {
			t.Errorf("%v has a time between calls", args)
		}
		if untimed += strings.Count(answer, `_time":null`) + strings.Count(answer, `_at":null`); strings.Contains(answer, `"1970-01-01`) {
			t.Errorf("%v has a time of 1970: %.300s", args, answer[strings.Index(answer, `"1970-01-01`)-40:])
		}
	}
	if untimed < 20 {
		t.Errorf("only %d times are not known", untimed)
	}
	for _, args := range [][]string{{"why", "--item", item, "--session", session, "--turn", turn}, {"why", "--item", item, "--session", session, "--turn", turn, "-o", "json"}} {
		if said := run(args...); strings.Contains(said, "1970") || strings.Contains(said, "00:00:00") {
			t.Errorf("%v says %s", args, said)
		}
	}
	for _, path := range []string{
		"/", "/s/" + session, "/i/" + item + "?session=" + session, "/q/top-items?run=1", "/api/v1/sessions/" + session + "/calls", "/api/v1/queries/cache-calls?session_id=" + session,
	} {
		text := clitest.Page(t, strings.TrimSuffix(addresses.Explorer, "/")+path)
		if strings.Contains(text, "1970") || strings.Contains(text, "00:00:00") {
			t.Errorf("%s has a time that is none", path)
		}
	}
}
