package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// beginCapture starts `capture` with the provider "local", and returns its base URL.
func beginCapture(t *testing.T, data, upstream string, more ...string) string {
	t.Helper()
	p := clitest.Command(append([]string{"capture", "--listen", "127.0.0.1:0", "--upstream", "local=" + upstream, "--data", data}, more...)...)
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	go func() {
		<-p.Done
		w.Close()
	}()
	said := bufio.NewReader(r)
	for {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("capture says %q last, %v", line, err)
		}
		if base := strings.TrimSpace(line); strings.HasSuffix(base, "/local") {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return base
		}
	}
}

// askModel sends one message to a model.
func askModel(t *testing.T, base, text string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"model":"gpt-5","messages":[{"role":"user","content":%s}]}`, quoted)
	response, err := http.Post(base+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if said, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, said)
	}
}

// TestCaptureLargeTexts: --store-text stores a text beside its event if the event cannot hold it. The text
// is encrypted, and it is removed with its session. A text with a secret is left out.
func TestCaptureLargeTexts(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	r := clitest.NewTextRig(t)
	answer := modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("yes")}, Usage: modelserver.Usage{Input: 50, Output: 1}}
	server := modelserver.New(t, modelserver.Sequence(answer, answer))
	base := beginCapture(t, r.Data, server.URL, "--store-text")

	askModel(t, base, r.Text)
	const count = `SELECT countIf(startsWith(content_ref, 'urn:ctxledger:text:')), countIf(startsWith(content_ref, 'urn:ctxledger:capture:')) FROM item_versions`
	clitest.AwaitRow(t, r.Data, count, "1,0")
	if _, plain := r.Stored(); plain {
		t.Error("the bucket has the text in the clear")
	}
	clitest.AwaitRow(t, r.Data, "SELECT count() > 0 FROM turn_window", "1") // may come a moment after its items
	if said := r.Must("window", "--last", "--text"); !strings.Contains(said, r.Text) {
		t.Errorf("the text is not shown whole: %d bytes", len(said))
	}
	session := fmt.Sprint(clitest.Ask(t, r.Data, "--sql", "SELECT any(session_id) AS s FROM item_versions")[0]["s"])

	askModel(t, base, strings.Repeat("Nothing. ", 9000)+"aws_access_key_id = AKIA"+"Z7VRSQ5TJN2XMLKP")
	clitest.AwaitRow(t, r.Data, count, "1,1")
	if said := r.Erase(session); !strings.Contains(said, "and 1 text in "+streamio.TextsBucket) {
		t.Errorf("the erasure said %s", said)
	}
	if messages, _ := r.Stored(); messages != 0 {
		t.Errorf("the bucket has %d messages after the erasure", messages)
	}
}
