package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/schema"
)

// OpenStream connects to the events of an instance for the length of the test.
func OpenStream(t *testing.T, natsURL string) (jetstream.JetStream, jetstream.Stream) {
	t.Helper()
	nc, err := nats.Connect(natsURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.EventStream)
	if err != nil {
		t.Fatal(err)
	}
	return js, stream
}

// PublishItems records the log items from, from+1, … up to but without to.
func PublishItems(t *testing.T, data string, from, to int) {
	t.Helper()
	var events strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&events, `{"specversion":"1.0","id":"e-%d","source":"urn:test","type":"dev.ctxledger.context.log.appended.v1","subject":"i-%d","time":"2026-01-02T03:04:05Z","sessionid":"s-1","data":{"event_type":"context.log.appended","schema_version":"1.0.0","log_item_id":"i-%d","item_type":"message"}}`+"\n", i, i, i)
	}
	file := filepath.Join(t.TempDir(), "events.json")
	if err := os.WriteFile(file, []byte(events.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := Run(t, "publish", file, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d\n%s%s", code, stdout, stderr)
	}
}

// OneEvent is a line with one event, for publish.
const OneEvent = `{"specversion":"1.0","id":"e-1","source":"urn:test","type":"dev.ctxledger.context.item.added.v1","subject":"i-1",` +
	`"time":"2026-01-02T03:04:05Z","sessionid":"s-1","sequence":"000000000001",` +
	`"data":{"schema_version":"0.1.0","event_type":"context.item.added","item_id":"i-1","context_kind":"file_excerpt"}}` + "\n"

// CallEvents are a window of one block and its bill, as two events of a session.
func CallEvents(n int, at time.Time) string {
	event := func(id, kind, subject, data string, sequence int) string {
		return fmt.Sprintf(`{"specversion":"1.0","id":"%s","source":"urn:live","type":"dev.ctxledger.%s.v1","subject":"%s","time":"%s","sessionid":"live-1","threadid":"live-1","turnid":"turn-1","sequence":"%012d","data":%s}`,
			id, kind, subject, at.Add(time.Duration(n)*time.Millisecond).UTC().Format(time.RFC3339Nano), sequence, data) + "\n"
	}
	call, assembly := fmt.Sprint("live-call-", n), fmt.Sprint("live-window-", n)
	return event(assembly, "context.assembly.created", assembly, fmt.Sprintf(
		`{"schema_version":"0.1.0","event_type":"context.assembly.created","assembly_id":"%s","call_id":"%s","target":"model","ordered_blocks":[{"block":"b","layer":"user","role":"user","tokens":%d}]}`, assembly, call, 100*n), 2*n-1) +
		event(call, "context.usage.recorded", call, fmt.Sprintf(
			`{"schema_version":"0.1.0","event_type":"context.usage.recorded","call_id":"%s","model":"m","assembly_id":"%s","usage":{"uncached_input_tokens":%d,"output_tokens":1}}`, call, assembly, 100*n), 2*n)
}
