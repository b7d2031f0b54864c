package clitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

// LogWithText writes the log of a session whose second turn sends a text.
func LogWithText(t *testing.T, folder, session, text string) (path string) {
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

// TextRig is an instance whose logs have a text of 200 KiB.
type TextRig struct {
	*testing.T
	Data, Logs, Text string
	page             string // address of the pages
	JS               jetstream.JetStream
}

// NewTextRig starts a ledger that stores texts.
func NewTextRig(t *testing.T) *TextRig {
	t.Helper()
	r := &TextRig{T: t, Data: t.TempDir(), Logs: t.TempDir(), Text: strings.Repeat("The fox lived in Rotterdam. ", 7315) + "The end."}
	addresses := Up(t, r.Data)
	r.page = strings.TrimSuffix(addresses.Explorer, "/")
	nc, err := nats.Connect(addresses.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if r.JS, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return r
}

// Must runs a command that succeeds, and returns all that it prints.
func (r *TextRig) Must(args ...string) string {
	r.Helper()
	stdout, stderr, code := Run(r.T, append(args, "--data", r.Data)...)
	if code != cli.ExitDone {
		r.Fatalf("%v ended with %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout + stderr
}

// Window prints the window of the turn of a session.
func (r *TextRig) Window(session string, more ...string) string {
	r.Helper()
	return r.Must(append([]string{"window", "--turn", "u-2", "--session", session, "--text"}, more...)...)
}

// Stored returns the messages of the bucket, and whether one of them contains a part of the text.
func (r *TextRig) Stored() (messages uint64, plain bool) {
	r.Helper()
	stream, err := r.JS.Stream(r.Context(), streamio.TextsStream)
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

// Erase erases a session. Its facts must be in the tables.
func (r *TextRig) Erase(session string) string {
	r.Helper()
	return r.Must("erase", "--subject", "session:"+session, "--reason", "asked for", "--policy-ref", "policy:p", "--yes")
}

// Get returns a page.
func (r *TextRig) Get(path string) string {
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

// Redact publishes the redaction r-1 of a value.
func (r *TextRig) Redact(key schema.Key, value string) {
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
	if _, err := r.JS.PublishMsg(r.Context(), &nats.Msg{Subject: m.Subject, Header: m.Header, Data: m.Data}); err != nil {
		r.Fatal(err)
	}
}
