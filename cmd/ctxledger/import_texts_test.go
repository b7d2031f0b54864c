package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// logWithText writes the log of a session whose second turn sends a text.
func logWithText(t *testing.T, folder, session, text string) (path string) {
	t.Helper()
	const log = `{"parentUuid":null,"isSidechain":false,"sessionId":%[1]q,"version":"2.1.14","type":"user","uuid":"u-1","timestamp":"2026-01-02T03:00:01.000Z","message":{"role":"user","content":"hello"}}
{"parentUuid":"u-1","isSidechain":false,"sessionId":%[1]q,"version":"2.1.14","type":"assistant","uuid":"a-1","timestamp":"2026-01-02T03:00:02.000Z","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":3,"output_tokens":5}}}
{"parentUuid":"a-1","isSidechain":false,"sessionId":%[1]q,"version":"2.1.14","type":"user","uuid":"u-2","timestamp":"2026-01-02T03:00:03.000Z","message":{"role":"user","content":%[2]q}}
{"parentUuid":"u-2","isSidechain":false,"sessionId":%[1]q,"version":"2.1.14","type":"assistant","uuid":"a-2","timestamp":"2026-01-02T03:00:04.000Z","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-opus-4-5","content":[{"type":"text","text":"yes"}],"usage":{"input_tokens":3,"output_tokens":5}}}
`
	path = filepath.Join(folder, session+".jsonl")
	if err := os.WriteFile(path, fmt.Appendf(nil, log, session, text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// textRig is an instance whose logs have a text of 200 KiB.
type textRig struct {
	*testing.T
	data, logs, text string
	page             string // address of the pages
	js               jetstream.JetStream
}

func newTextRig(t *testing.T) *textRig {
	t.Helper()
	r := &textRig{T: t, data: t.TempDir(), logs: t.TempDir(), text: strings.Repeat("The fox lived in Rotterdam. ", 7315) + "The end."}
	addresses := up(t, r.data)
	r.page = strings.TrimSuffix(addresses.Explorer, "/")
	nc, err := nats.Connect(addresses.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if r.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *textRig) must(args ...string) string {
	r.Helper()
	stdout, stderr, code := ctxledger(r.T, append(args, "--data", r.data)...)
	if code != cli.ExitDone {
		r.Fatalf("%v ended with %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout + stderr
}

func (r *textRig) window(session string, more ...string) string {
	r.Helper()
	return r.must(append([]string{"window", "--turn", "u-2", "--session", session, "--text"}, more...)...)
}

// stored returns the messages of the bucket, and whether one of them contains a part of the text.
func (r *textRig) stored() (messages uint64, plain bool) {
	r.Helper()
	stream, err := r.js.Stream(r.Context(), streamio.TextsStream)
	if err != nil {
		r.Fatal(err)
	}
	state := stream.CachedInfo().State
	for sequence := state.FirstSeq; sequence <= state.LastSeq; sequence++ {
		if msg, err := stream.GetMsg(r.Context(), sequence); err == nil {
			plain = plain || bytes.Contains(msg.Data, []byte("Rotterdam"))
		}
	}
	return state.Msgs, plain
}

// erase erases a session. Its facts must be in the tables.
func (r *textRig) erase(session string) string {
	r.Helper()
	return r.must("erase", "--subject", "session:"+session, "--reason", "asked for", "--policy-ref", "policy:p", "--yes")
}

// TestImportLargeTexts: a text that does not fit into an event is shown whole, is encrypted, and is removed
// with the last session that has it.
func TestImportLargeTexts(t *testing.T) {
	t.Parallel()
	r := newTextRig(t)
	for _, session := range []string{"s-1", "s-2"} {
		r.must("import", "claude-code", logWithText(t, r.logs, session, r.text), "--store-text")
	}
	messages, plain := r.stored()
	if messages != 3 || plain { // two chunks and the information
		t.Errorf("the bucket has %d messages, in plain text: %v", messages, plain)
	}
	for _, session := range []string{"s-1", "s-2"} {
		if said := r.window(session); !strings.Contains(said, r.text) || strings.Contains(said, "no text is stored") {
			t.Errorf("%s: the text is not shown whole: %d bytes", session, len(said))
		}
	}
	if said := r.window("s-1", "--as-of", "0s", "-o", "json"); !strings.Contains(said, r.text) || !strings.Contains(said, "content matches its digest") || strings.Contains(said, "text_lack") {
		t.Errorf("as JSON: %d bytes", len(said))
	}
	var item string
	for _, row := range askCLI(t, r.data, "--sql", "SELECT item_id FROM item_versions WHERE session_id = 's-2' AND startsWith(content_ref, 'urn:ctxledger:text:')") {
		item = fmt.Sprint(row["item_id"])
	}
	if page := r.get("/i/" + url.PathEscape(item) + "?session=s-2"); !strings.Contains(page, "The fox lived in Rotterdam. The fox") {
		t.Errorf("the page of item %q does not show the text", item)
	}

	// again, and with a line more: nothing is written again
	appendTo(t, filepath.Join(r.logs, "s-1.jsonl"), `{"type":"user","uuid":"u-3","parentUuid":"a-2","sessionId":"s-1","timestamp":"2026-01-02T03:00:05Z","message":{"role":"user","content":"more"}}`)
	r.must("import", "claude-code", r.logs, "--store-text")
	if again, _ := r.stored(); again != messages {
		t.Errorf("the bucket has %d messages after the second import", again)
	}

	if said := r.erase("s-1"); strings.Contains(said, streamio.TextsBucket) {
		t.Errorf("the first erasure said %s", said)
	}
	if said := r.window("s-2"); !strings.Contains(said, r.text) {
		t.Error("the text of the other session is gone")
	}
	// an erased session is not imported again, and neither is its text
	appendTo(t, filepath.Join(r.logs, "s-1.jsonl"), `{"type":"user","uuid":"u-4","parentUuid":"u-3","sessionId":"s-1","timestamp":"2026-01-02T03:00:06Z","message":{"role":"user","content":"even more"}}`)
	if said := r.erase("s-2"); !strings.Contains(said, "and 1 text in "+streamio.TextsBucket) {
		t.Errorf("the second erasure said %s", said)
	}
	r.must("import", "claude-code", r.logs, "--store-text")
	if messages, _ := r.stored(); messages != 0 {
		t.Errorf("the bucket has %d messages after both erasures", messages)
	}
}

// get returns a page.
func (r *textRig) get(path string) string {
	r.Helper()
	response, err := http.Get(r.page + path)
	if err != nil {
		r.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		r.Fatal(err)
	}
	return string(page)
}

// redact publishes the redaction r-1 of a value.
func (r *textRig) redact(key schema.Key, value string) {
	r.Helper()
	hasher, err := fingerprint.New(key)
	if err != nil {
		r.Fatal(err)
	}
	fact := &schema.RedactionApplied{Common: schema.Common{PolicyRefs: schema.Refs("policy:p")}}
	fact.RedactionID, fact.TargetRef, fact.Reason, fact.RedactionState = "r-1", "i-1", "secret", schema.RedactionMasked
	withheld, _ := hasher.Of([]byte(value))
	fact.Fingerprints = []schema.Fingerprint{withheld}
	e, err := schema.NewEvent(fact, "e-1", "urn:test", time.Now(), schema.Correlation{Tenant: schema.DefaultTenant, SessionID: "s-9"})
	if err != nil {
		r.Fatal(err)
	}
	m := e.Binary()
	if _, err := r.js.PublishMsg(r.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
		r.Fatal(err)
	}
}

// TestLargeTextsThatCannotBeRead: the window tells why a text is not shown, and does without it.
func TestLargeTextsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := newTextRig(t)
	r.must("import", "claude-code", logWithText(t, r.logs, "s-1", r.text), "--store-text")

	ring, err := keyfile.Open(r.data, schema.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	keys, away := keyfile.Folder(r.data), filepath.Join(r.data, "away")
	if err := os.Rename(keys, away); err != nil {
		t.Fatal(err)
	}
	if said := r.window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(not shown: the tenant's key that encrypted the text is missing)") {
		t.Errorf("without the key: %.2000s", said)
	}
	if err := os.RemoveAll(keys); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, keys); err != nil {
		t.Fatal(err)
	}

	r.redact(ring.Current(), "fox lived in Rotterdam")
	await(t, "the redaction is in the tables", func() bool {
		return len(askCLI(t, r.data, "--sql", "SELECT redaction_id FROM redaction_trail")) > 0
	})
	if said := r.window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(not shown: the text contains a value that redaction r-1 withholds)") {
		t.Errorf("with a redaction: %.2000s", said)
	}
	stdout, stderr, code := ctxledger(t, "project", "--recheck", "--data", r.data)
	if code != cli.ExitNotVerified || !strings.Contains(stdout, "context.item.added u-2 of tenant default holds a value that policy:p withholds") || !strings.Contains(stdout, ", 1 hold a withheld value") {
		t.Errorf("the re-check ended with %d\n%s%s", code, stdout, stderr)
	}
}

// TestImportWithoutBucket: an installation of an earlier version, and an account that may not write to the
// bucket, leave large texts out.
func TestImportWithoutBucket(t *testing.T) {
	t.Parallel()
	r := newTextRig(t)
	if err := r.js.DeleteStream(t.Context(), streamio.TextsStream); err != nil {
		t.Fatal(err)
	}
	if said := r.must("import", "claude-code", logWithText(t, r.logs, "s-1", r.text), "--store-text"); strings.Contains(said, streamio.TextsBucket) {
		t.Errorf("the import said %s", said)
	}
	if said := r.window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(no text is stored)") || !strings.Contains(said, "hello") {
		t.Errorf("the window is %.2000s", said)
	}
	r.erase("s-1")
	if said := r.must("migrate"); !strings.Contains(said, "created stream "+streamio.TextsStream) {
		t.Errorf("migrate said %s", said)
	}

	stream, err := r.js.Stream(t.Context(), streamio.TextsStream)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	if err := r.js.DeleteStream(t.Context(), config.Name); err != nil {
		t.Fatal(err)
	}
	config.DenyDelete = true
	if _, err := r.js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if said := r.must("import", "claude-code", logWithText(t, r.logs, "s-2", r.text), "--store-text"); !strings.Contains(said, "texts of 64 KiB and more are left out, because the bucket "+streamio.TextsBucket+" cannot be written") {
		t.Errorf("the import said %s", said)
	}
	if said := r.window("s-2"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(no text is stored)") {
		t.Errorf("the window is %.2000s", said)
	}
}

// TestLargeTextsOfAShard: a cluster shows large texts, and withholds those with a value that was redacted on
// another shard.
func TestLargeTextsOfAShard(t *testing.T) {
	t.Parallel()
	c := newShardRig(t, 2)
	c.must("migrate", "--cluster", embeddedtest.ClusterName, "--partitions", "8")
	r := &textRig{T: t, data: c.data, logs: t.TempDir(), text: strings.Repeat("The fox lived in Rotterdam. ", 7315), js: c.js}
	const sessions = 6
	for i := range sessions {
		logWithText(t, r.logs, fmt.Sprint("s-", i), r.text)
	}
	c.must("import", "claude-code", r.logs, "--store-text", "--no-wait")
	c.must("project", "--until-caught-up")
	for i, l := range c.ledgers().All() {
		var n uint64
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), "SELECT uniqExact(session_id) FROM items").Scan(&n); err != nil || n == 0 || n == sessions {
			t.Fatalf("shard %d has %d of the sessions: %v", i+1, n, err)
		}
	}
	windows := func() (list []string) {
		for i := range sessions {
			list = append(list, c.must("window", "--turn", "u-2", "--session", fmt.Sprint("s-", i), "--text"))
		}
		return list
	}
	for i, said := range windows() {
		if !strings.Contains(said, r.text) {
			t.Errorf("session %d: %.2000s", i, said)
		}
	}
	ring, err := keyfile.Open(r.data, schema.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	r.redact(ring.Current(), "fox lived in Rotterdam")
	c.must("project", "--until-caught-up")
	for i, said := range windows() {
		if strings.Contains(said, "Rotterdam") || !strings.Contains(said, "that redaction r-1 withholds)") {
			t.Errorf("session %d after the redaction: %.2000s", i, said)
		}
	}
}
