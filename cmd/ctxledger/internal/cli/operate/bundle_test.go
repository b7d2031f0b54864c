package operate_test

import (
	"archive/zip"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/secrets"
)

// planted is a word that stands in every text of the planted events. awsKey is a secret of a form
// that the detector knows.
const (
	planted = "zanzibar"
	awsKey  = "AKIA" + "QWERTYUIOPASDFGH"
)

// readBundle returns the files of a bundle by their names.
func readBundle(t *testing.T, path string) map[string]string {
	t.Helper()
	archive, err := zip.OpenReader(path)
	clitest.Must(t, err)
	defer archive.Close()
	files := make(map[string]string)
	for _, f := range archive.File {
		r, err := f.Open()
		clitest.Must(t, err)
		text, err := io.ReadAll(r)
		clitest.Must(t, err)
		files[f.Name] = string(text)
	}
	return files
}

// plant puts secrets and texts of events into the streams, the leases and the logs.
func plant(t *testing.T, natsURL, data string) {
	t.Helper()
	nc, err := nats.Connect(natsURL)
	clitest.Must(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	clitest.Must(t, err)
	events := filepath.Join(t.TempDir(), "events.json")
	event := `{"specversion":"1.0","id":"e-` + planted + `","source":"urn:` + planted + `","type":"dev.ctxledger.context.log.appended.v1","subject":"i-` + planted + `",` +
		`"time":"2026-01-02T03:04:05Z","tenant":"acme","sessionid":"s-` + planted + `","turnid":"t-` + planted + `","data":{"event_type":"context.log.appended",` +
		`"schema_version":"1.0.0","log_item_id":"i-` + planted + `","item_type":"message","kind":"` + planted + `","preview":"` + planted + ` ` + awsKey + `"}}` + "\n"
	clitest.Must(t, os.WriteFile(events, []byte(event), 0o600))
	if _, stderr, code := clitest.Run(t, "publish", events, "--data", data); code != cli.ExitDone {
		t.Fatalf("publish ended with %d: %s", code, stderr)
	}
	_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: "ctx.v1.acme.x.p00.item.added", Data: []byte(`{"` + planted + `": "` + awsKey + `"`)})
	clitest.Must(t, err)
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"other." + planted}, Description: planted + awsKey, Metadata: map[string]string{planted: awsKey}})
	clitest.Must(t, err)
	_, err = s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "watcher", Description: planted, Metadata: map[string]string{"password": awsKey}})
	clitest.Must(t, err)
	_, err = s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: awsKey})
	clitest.Must(t, err)
	kv, err := js.KeyValue(t.Context(), "ctxledger_leases")
	clitest.Must(t, err)
	_, err = kv.PutString(t.Context(), "OTHER.request", planted+awsKey)
	clitest.Must(t, err)
	if _, _, code := clitest.Run(t, "query", "--sql", "SELECT '"+planted+" "+awsKey+"' FROM missing_"+planted, "--data", data); code == cli.ExitDone {
		t.Error("a query of a missing table succeeded")
	}
}

// TestBundleHoldsNoSecretAndNoContent plants secrets and texts of events in every place that a
// bundle reads, and searches all files of the bundle for them.
func TestBundleHoldsNoSecretAndNoContent(t *testing.T) {
	clitest.NeedEngine(t)
	data := t.TempDir()
	found := clitest.Up(t, data)
	plant(t, found.NATSURL, data)
	clitest.Await(t, "both messages are projected", func() bool {
		_, body := clitest.Readyz(t, found.Health)
		return body.Streams["CTX"].Committed == 2
	})
	t.Setenv("CTXLEDGER_NATS_URL", found.NATSURL)
	t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", found.ClickHouseDSN)
	t.Setenv("CTXLEDGER_TOKEN", awsKey)
	path := filepath.Join(t.TempDir(), "support.zip")
	_, stderr, code := clitest.Run(t, "doctor", "--data", data, "--bundle", path, "--status", found.ProgramURL)
	if code != cli.ExitDone || !strings.Contains(stderr, "wrote "+path) {
		t.Fatalf("doctor ended with %d: %s", code, stderr)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the bundle is %v, %v", info, err)
	}
	files := readBundle(t, path)
	for name, says := range map[string][]string{
		"doctor.json":        {`"what": "nats room"`, `"ok": true`},
		"versions.json":      {`"go": "go1.`, `"clickhouse": "26.`, `"nats": "2.`},
		"configuration.json": {`"nats": "nats://ctxledger:xxxxx@127.0.0.1:`, `"CTXLEDGER_TOKEN"`, `"the variable CTXLEDGER_CLICKHOUSE_DSN"`},
		"streams.json":       {`"name": "CTX"`, `"name": "watcher"`, `"last_sequence": 2`, "[redacted:policy:secret-detection/aws-access-token]"},
		"lease.json":         {`"key": "CTX.projection"`, `"epoch": 1`, `"key": "OTHER.request"`},
		"commits.json":       {`"last_sequence": 2`, `"events": 1`},
		"quarantine.json":    {`": 1`},
		"migrations.json":    {`"newest": "0`, `"missing": []`},
		"storage.json":       {`"name": "KV_ctxledger_leases"`, `"disks"`},
		"projectors/1.json":  {`"ready": true`, `"alive": true`},
		"projectors/1.txt":   {`ctxledger_projector_messages_total{stream="CTX"} 2`},
		"clickhouse.log":     {" Error ", " code 60\n"},
	} {
		for _, say := range says {
			if !strings.Contains(files[name], say) {
				t.Errorf("%s lacks %q:\n%.2000s", name, say, files[name])
			}
		}
	}
	searchSecrets(t, files, data, clitest.Password(t, found.NATSURL), clitest.Password(t, found.ClickHouseDSN))

	if _, stderr, code := clitest.Run(t, "doctor", "--data", data, "--bundle", path); code != cli.ExitFailed || !strings.Contains(stderr, path+" is already there") {
		t.Errorf("onto an old bundle doctor ended with %d: %s", code, stderr)
	}
	if _, _, code := clitest.Run(t, "doctor", "--data", data, "--status", found.ProgramURL); code != cli.ExitUsage {
		t.Errorf("--status alone ended with %d", code)
	}
}

// searchSecrets searches the files for the planted texts, the passwords and the keys in the data
// folder, and for all that the detector knows.
func searchSecrets(t *testing.T, files map[string]string, data string, passwords ...string) {
	t.Helper()
	hidden := append(slices.Clone(passwords), planted, awsKey)
	keys, err := filepath.Glob(filepath.Join(data, "keys", "*"))
	clitest.Must(t, err)
	for _, path := range append(keys, filepath.Join(data, "credentials.json")) {
		text, err := os.ReadFile(path)
		clitest.Must(t, err)
		for _, word := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(" \n\"+:,{}", r) }) {
			if len(word) >= 20 && !strings.HasPrefix(word, "clickhouse_") {
				hidden = append(hidden, word)
			}
		}
	}
	if len(keys) == 0 || len(hidden) < 6 {
		t.Errorf("only %d keys and %d values to search for", len(keys), len(hidden))
	}
	rules, err := secrets.New()
	clitest.Must(t, err)
	for name, text := range files {
		for _, secret := range hidden {
			for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), fmt.Sprintf("%x", secret)} {
				if strings.Contains(strings.ToLower(name+text), strings.ToLower(form)) {
					t.Errorf("%s holds %q", name, form)
				}
			}
		}
		if values := rules.Detect(t.Context(), text); len(values) > 0 {
			t.Errorf("%s holds %d values that look like secrets", name, len(values))
		}
	}
}

// TestBundleWithoutServers: the bundle is written, with the reasons in place of the answers.
func TestBundleWithoutServers(t *testing.T) {
	t.Setenv("CTXLEDGER_NATS_URL", "nats://ann:hunter2-"+planted+"@127.0.0.1:1")
	t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", "clickhouse://ann@127.0.0.1:1/ctxledger?password=hunter3-"+planted)
	path := filepath.Join(t.TempDir(), "support.zip")
	_, stderr, code := clitest.Run(t, "doctor", "--data", t.TempDir(), "--bundle", path, "--status", "http://ann:hunter4-"+planted+"@127.0.0.1:1")
	if code != cli.ExitUnreachable {
		t.Errorf("doctor ended with %d: %s", code, stderr)
	}
	files := readBundle(t, path)
	for name, says := range map[string]string{
		"doctor.json": `"ok": false`, "streams.json": "cannot be reached", "lease.json": "cannot be reached", "commits.json": "cannot be reached",
		"projectors/1.json": "/readyz of 127.0.0.1:1 does not answer", "configuration.json": "nats://ann:xxxxx@127.0.0.1:1", "versions.json": `"nats": "unknown"`,
	} {
		if !strings.Contains(files[name], says) {
			t.Errorf("%s lacks %q:\n%s", name, says, files[name])
		}
	}
	for name, text := range files {
		if strings.Contains(text, planted) {
			t.Errorf("%s holds a password:\n%s", name, text)
		}
	}
}
