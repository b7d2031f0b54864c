package record_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// TestImportLargeTexts: a text that does not fit into an event is shown whole, is encrypted, and is removed
// with the last session that has it.
func TestImportLargeTexts(t *testing.T) {
	t.Parallel()
	r := clitest.NewTextRig(t)
	for _, session := range []string{"s-1", "s-2"} {
		r.Must("import", "claude-code", clitest.LogWithText(t, r.Logs, session, r.Text), "--store-text")
	}
	messages, plain := r.Stored()
	if messages != 3 || plain { // two chunks and the information
		t.Errorf("the bucket has %d messages, in plain text: %v", messages, plain)
	}
	for _, session := range []string{"s-1", "s-2"} {
		if said := r.Window(session); !strings.Contains(said, r.Text) || strings.Contains(said, "no text is stored") {
			t.Errorf("%s: the text is not shown whole: %d bytes", session, len(said))
		}
	}
	if said := r.Window("s-1", "--as-of", "0s", "-o", "json"); !strings.Contains(said, r.Text) || !strings.Contains(said, "content matches its digest") || strings.Contains(said, "text_lack") {
		t.Errorf("as JSON: %d bytes", len(said))
	}
	var item string
	for _, row := range clitest.Ask(t, r.Data, "--sql", "SELECT item_id FROM item_versions WHERE session_id = 's-2' AND startsWith(content_ref, 'urn:ctxledger:text:')") {
		item = fmt.Sprint(row["item_id"])
	}
	if page := r.Get("/i/" + url.PathEscape(item) + "?session=s-2"); !strings.Contains(page, "The fox lived in Rotterdam. The fox") {
		t.Errorf("the page of item %q does not show the text", item)
	}

	// again, and with a line more: nothing is written again
	appendTo(t, filepath.Join(r.Logs, "s-1.jsonl"), `{"type":"user","uuid":"u-3","parentUuid":"a-2","sessionId":"s-1","timestamp":"2026-01-02T03:00:05Z","message":{"role":"user","content":"more"}}`)
	r.Must("import", "claude-code", r.Logs, "--store-text")
	if again, _ := r.Stored(); again != messages {
		t.Errorf("the bucket has %d messages after the second import", again)
	}

	if said := r.Erase("s-1"); strings.Contains(said, streamio.TextsBucket) {
		t.Errorf("the first erasure said %s", said)
	}
	if said := r.Window("s-2"); !strings.Contains(said, r.Text) {
		t.Error("the text of the other session is gone")
	}
	// an erased session is not imported again, and neither is its text
	appendTo(t, filepath.Join(r.Logs, "s-1.jsonl"), `{"type":"user","uuid":"u-4","parentUuid":"u-3","sessionId":"s-1","timestamp":"2026-01-02T03:00:06Z","message":{"role":"user","content":"even more"}}`)
	if said := r.Erase("s-2"); !strings.Contains(said, "and 1 text in "+streamio.TextsBucket) {
		t.Errorf("the second erasure said %s", said)
	}
	r.Must("import", "claude-code", r.Logs, "--store-text")
	if messages, _ := r.Stored(); messages != 0 {
		t.Errorf("the bucket has %d messages after both erasures", messages)
	}
}

// TestLargeTextsThatCannotBeRead: the window tells why a text is not shown, and does without it.
func TestLargeTextsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r := clitest.NewTextRig(t)
	r.Must("import", "claude-code", clitest.LogWithText(t, r.Logs, "s-1", r.Text), "--store-text")

	ring, err := keyfile.Open(r.Data, schema.DefaultTenant)
	if err != nil {
		t.Fatal(err)
	}
	keys, away := keyfile.Folder(r.Data), filepath.Join(r.Data, "away")
	if err := os.Rename(keys, away); err != nil {
		t.Fatal(err)
	}
	if said := r.Window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(not shown: the tenant's key that encrypted the text is missing)") {
		t.Errorf("without the key: %.2000s", said)
	}
	if err := os.RemoveAll(keys); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, keys); err != nil {
		t.Fatal(err)
	}

	r.Redact(ring.Current(), "fox lived in Rotterdam")
	clitest.Await(t, "the redaction is in the tables", func() bool {
		return len(clitest.Ask(t, r.Data, "--sql", "SELECT redaction_id FROM redaction_trail")) > 0
	})
	if said := r.Window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(not shown: the text contains a value that redaction r-1 withholds)") {
		t.Errorf("with a redaction: %.2000s", said)
	}
	stdout, stderr, code := clitest.Run(t, "project", "--recheck", "--data", r.Data)
	if code != cli.ExitNotVerified || !strings.Contains(stdout, "context.item.added u-2 of tenant default holds a value that policy:p withholds") || !strings.Contains(stdout, ", 1 hold a withheld value") {
		t.Errorf("the re-check ended with %d\n%s%s", code, stdout, stderr)
	}
}

// TestImportWithoutBucket: an installation of an earlier version, and an account that may not write to the
// bucket, leave large texts out.
func TestImportWithoutBucket(t *testing.T) {
	t.Parallel()
	r := clitest.NewTextRig(t)
	if err := r.JS.DeleteStream(t.Context(), streamio.TextsStream); err != nil {
		t.Fatal(err)
	}
	if said := r.Must("import", "claude-code", clitest.LogWithText(t, r.Logs, "s-1", r.Text), "--store-text"); strings.Contains(said, streamio.TextsBucket) {
		t.Errorf("the import said %s", said)
	}
	if said := r.Window("s-1"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(no text is stored)") || !strings.Contains(said, "hello") {
		t.Errorf("the window is %.2000s", said)
	}
	r.Erase("s-1")
	if said := r.Must("migrate"); !strings.Contains(said, "created stream "+streamio.TextsStream) {
		t.Errorf("migrate said %s", said)
	}

	stream, err := r.JS.Stream(t.Context(), streamio.TextsStream)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	if err := r.JS.DeleteStream(t.Context(), config.Name); err != nil {
		t.Fatal(err)
	}
	config.DenyDelete = true
	if _, err := r.JS.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if said := r.Must("import", "claude-code", clitest.LogWithText(t, r.Logs, "s-2", r.Text), "--store-text"); !strings.Contains(said, "texts of 64 KiB and more are left out, because the bucket "+streamio.TextsBucket+" cannot be written") {
		t.Errorf("the import said %s", said)
	}
	if said := r.Window("s-2"); strings.Contains(said, "Rotterdam") || !strings.Contains(said, "(no text is stored)") {
		t.Errorf("the window is %.2000s", said)
	}
}
