package record_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/queries"
	"github.com/ctxledger/ctxledger/schema"
)

// TestASessionToldAgain imports logs of all formats as revision 1 did, then without texts, then with
// texts. Nothing goes to quarantine, and no answer of a query changes, nor any window.
func TestASessionToldAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	addresses := clitest.Up(t, data)
	folder := clitest.Repository("producer", "importer", "testdata") + "/"
	logs := []string{folder + "window.jsonl", folder + "codex/session.jsonl", folder + "openhands", folder + "swe-agent"}
	tellAsRevision1(t, data, addresses, logs)
	run := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := clitest.Run(t, append(args, "--data", data)...)
		if code != cli.ExitDone && code != cli.ExitRefused { // some logs have lines that are refused
			t.Fatalf("%v ended with %d: %s%s", args, code, stdout, stderr)
		}
		return stdout
	}
	before := catalogueAnswers(t, data)
	if len(before) < 70 {
		t.Fatalf("only %d answers", len(before))
	}
	var files string // of the first telling with titles
	for _, args := range [][]string{append([]string{"import", "auto"}, logs...), append([]string{"import", "auto", "--store-text"}, logs...)} {
		if told := run(args...); !strings.Contains(told, "0 that were there already, 0 in quarantine") {
			t.Fatalf("%v said %s", args, told)
		}
		after := catalogueAnswers(t, data)
		for question, was := range before {
			if after[question] != was {
				t.Errorf("after %v, %s\n got %s\nwant %s", args, question, after[question], was)
			}
		}
		found := fmt.Sprint(clitest.Ask(t, data, "files"), clitest.Ask(t, data, "unreferenced-results"))
		if files = cmp.Or(files, found); found != files || !strings.Contains(found, "file:a.py") {
			t.Errorf("after %v, the files are %s, want %s", args, found, files)
		}
	}
	if told := run(append([]string{"import", "auto"}, logs...)...); !strings.Contains(told, "everything was there already") {
		t.Errorf("the same import again said %s", told)
	}
}

// tellAsRevision1 publishes the facts of logs from sources that do not name the telling, and waits until
// they are in the tables.
func tellAsRevision1(t *testing.T, data string, up serve.UpAddresses, logs []string) {
	t.Helper()
	ring, err := keyfile.Open(data, schema.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	counter := window.NewCounter(window.CounterConfig{})
	nc, err := nats.Connect(up.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	publisher := publish.New(js, 0)
	var files []string
	for _, log := range logs {
		found, _ := importer.Files(log, model.FormatAuto)
		files = append(files, found...)
	}
	for _, file := range files {
		options := model.Options{
			Tenant: schema.DefaultTenant, Key: ring.Keys[0], Equality: ring.Equality(),
			Count: func(model, text string) (int64, string) {
				count := counter.Count(model, text)
				return int64(count.Tokens), count.Estimator
			},
		}
		_, err := importer.ImportFile(t.Context(), model.FormatAuto, file, options, func(e *schema.Event) error {
			e.Source, _, _ = strings.Cut(e.Source, ";")
			return publisher.Publish(context.Background(), e)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := publisher.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), up.ClickHouseDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	last, err := streamio.ReadLastSequences(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	level, err := streamio.AwaitCommit(t.Context(), js, l, last, clitest.StartPatience, func(int64, int64) {})
	if err != nil || !level {
		t.Fatalf("the facts are projected: %v, %v", level, err)
	}
}

// catalogueAnswers asks the catalogue about everything, and for the window of every turn. Columns that tell
// telling from telling are left out, and titles, which an import of today words better.
func catalogueAnswers(t *testing.T, data string) map[string]string {
	t.Helper()
	answers := make(map[string]string)
	ask := func(name string, params ...string) (rows []map[string]any) {
		t.Helper()
		args := []string{name}
		for _, p := range params {
			args = append(args, "--param", p)
		}
		rows = clitest.Ask(t, data, args...)
		for _, row := range rows {
			for _, column := range []string{"incarnation", "stream_seq", "recorded_at", "last_at", "source", "event_id", "title"} {
				delete(row, column)
			}
		}
		text, err := json.Marshal(rows, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		answers[fmt.Sprint(args)] = string(text)
		return rows
	}
	// These list or count what is recorded. The names of files are in titles.
	ofAll := []string{"tellings", "fidelity", "mentions", "event-types", "records-by-type", "window-turns", "turn-sessions", "files", "unreferenced-results"}
	for _, q := range queries.All() {
		if _, err := q.Bind(nil); err == nil && !slices.Contains(ofAll, q.Name) {
			ask(q.Name)
		}
	}
	for _, session := range ask("sessions") {
		id := "session_id=" + session["session_id"].(string)
		for _, turn := range ask("turns", id) {
			if turn := turn["turn_id"].(string); turn != "" {
				ask("window", id, "turn_id="+turn)
			}
		}
	}
	return answers
}
