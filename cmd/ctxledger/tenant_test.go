package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// tenantNode runs NATS on what `ctxledger deploy nats` writes for a tenant, with the
// streams, and returns the addresses of the admin and of the tenant, and the folder.
// Edit changes the accounts; nil does not. It sets the environment, so its test does not
// run at the same time as others.
func tenantNode(t *testing.T, edit func(accounts string) string) (admin, tenant, dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, stderr, code := ctxledger(t, "deploy", "nats", "--tenant", "acme", "--host", "127.0.0.1", "--out", dir); code != cli.ExitDone {
		t.Fatal(stderr)
	}
	secrets := func(name string) map[string]string {
		text, err := os.ReadFile(filepath.Join(dir, "secrets", name+".env"))
		if err != nil {
			t.Fatal(err)
		}
		found := make(map[string]string)
		for line := range strings.Lines(string(text)) {
			variable, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			found[variable] = strings.Trim(value, "'")
		}
		return found
	}
	for variable, hash := range secrets("nats-server") {
		t.Setenv(variable, hash)
	}
	if edit != nil {
		path := filepath.Join(dir, "nats", "accounts.conf")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(edit(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "nats", "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.HTTPPort, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, 0, t.TempDir()
	options.NoLog, options.NoSigs = true, true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	address := func(user string) string {
		u, err := url.Parse(secrets("nats-" + user)["CTXLEDGER_NATS_URL"])
		if err != nil {
			t.Fatal(err)
		}
		u.Host = s.Addr().String()
		return u.String()
	}
	return address("admin"), address("tenant-acme"), dir
}

// streamsOf makes the streams of a server, and returns what counts the events in them.
func streamsOf(t *testing.T, admin string) (stored func() uint64) {
	t.Helper()
	nc, err := nats.Connect(admin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	return func() uint64 {
		t.Helper()
		heads, err := streamio.ReadLastSequences(t.Context(), js)
		if err != nil {
			t.Fatal(err)
		}
		return heads.Total()
	}
}

// A tenant with the account that `deploy nats` makes for it may publish its facts
// and see nothing of the streams: that is enough for the commands that bring facts.
func TestCommandsOfATenant(t *testing.T) {
	if testing.Short() {
		t.Skip("imports logs into a server: run without -short")
	}
	admin, tenant, _ := tenantNode(t, nil)
	stored := streamsOf(t, admin)
	t.Setenv("CTXLEDGER_NATS_URL", tenant)
	data := t.TempDir()

	events := filepath.Join(t.TempDir(), "events.ndjson")
	own := strings.Replace(oneEvent, `"sessionid"`, `"tenant":"acme","sessionid"`, 1)
	if err := os.WriteFile(events, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := ctxledger(t, "publish", events, "--data", data); code != cli.ExitDone || stored() != 1 {
		t.Errorf("publish ended with %d, the stream has %d events\n%s%s", code, stored(), stdout, stderr)
	}
	if err := os.WriteFile(events, []byte(strings.Replace(own, `"acme"`, `"another"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, code := ctxledger(t, "publish", events, "--data", data); code == cli.ExitDone || stored() != 1 {
		t.Errorf("it published for another tenant: %d, the stream has %d events", code, stored())
	}

	log := filepath.Join("..", "..", "producer", "importer", "testdata")
	stdout, stderr, code := ctxledger(t, "import", "claude-code", log, "--tenant", "acme", "--data", data)
	if code != cli.ExitDone && code != cli.ExitRefused || stored() < 10 || !strings.Contains(stderr, "was not checked") {
		t.Errorf("import ended with %d, the stream has %d events\n%s%s", code, stored(), stdout, stderr)
	}
	settled := copyOfLogs(t, log)
	for _, more := range []bool{true, false} { // what this machine remembers suffices
		before := stored()
		if stdout, stderr, code := ctxledger(t, "import", "claude-code", settled, "--tenant", "acme", "--data", data); code != cli.ExitRefused || stored() > before != more {
			t.Errorf("import ended with %d, the stream has %d events, before %d\n%s%s", code, stored(), before, stdout, stderr)
		}
	}

	stdout, stderr, code = ctxledger(t, "doctor", "--data", data)
	for _, line := range []string{"ok    nats ", "ok    stream      this account publishes and may not look into it", `ok    accounts    user "tenant_acme" of account "TENANT_acme" may publish the facts of tenant "acme" and no more`} {
		if !strings.Contains(stdout, line) {
			t.Errorf("doctor does not say %q", line)
		}
	}
	if strings.Contains(stdout, "FAIL  stream") || strings.Contains(stdout, "FAIL  projector") {
		t.Errorf("doctor ended with %d\n%s%s", code, stdout, stderr)
	}
}

// The operator sees which tenants' accounts allow more than the tenants need.
func TestDoctorFindsAccountsThatAllowMore(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(string) string
		says []string
	}{
		"as written": {nil, []string{`ok    accounts    user "tenant_acme" of account "TENANT_acme" may publish the facts of tenant "acme" and no more`}},
		"of the version before": {
			func(accounts string) string {
				from := strings.Index(accounts, `permissions: { publish: { deny: ["ctx.v1.*`)
				to := from + strings.Index(accounts[from:], "\n")
				return accounts[:from] + accounts[to:]
			},
			[]string{"FAIL  accounts", `user "tenant_acme" of account "TENANT_acme" allows more`, "context.erasure.applied", "context.redaction.revoked"},
		},
		"of all tenants": {
			func(accounts string) string { return strings.ReplaceAll(accounts, "ctx.v1.acme.>", "ctx.v1.>") },
			[]string{"FAIL  accounts", "the facts of other tenants"},
		},
		"of everything": {
			func(accounts string) string { return strings.ReplaceAll(accounts, `"ctx.v1.acme.>"`, `">"`) },
			[]string{"FAIL  accounts", "the facts of other tenants", "the leases of the projectors", "the quarantine", "the signed heads", "looks into the streams"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			admin, tenant, dir := tenantNode(t, c.edit)
			stored := streamsOf(t, admin)
			for _, how := range []struct{ address, secrets string }{{admin, filepath.Join(dir, "secrets")}, {admin, dir}, {tenant, ""}} {
				t.Setenv("CTXLEDGER_NATS_URL", how.address)
				args := []string{"doctor", "--data", t.TempDir()}
				if how.secrets != "" {
					args = append(args, "--secrets", how.secrets)
				}
				stdout, _, _ := ctxledger(t, args...)
				if how.secrets == "" && name == "of everything" {
					continue // whoever looks into the streams is taken for the operator
				}
				for _, say := range c.says {
					if !strings.Contains(stdout, say) {
						t.Errorf("doctor does not say %q:\n%s", say, stdout)
					}
				}
			}
			if n := stored(); n != 0 {
				t.Errorf("the probes stored %d messages", n)
			}
		})
	}
	admin, _, dir := tenantNode(t, func(accounts string) string { return strings.ReplaceAll(accounts, "ctx.v1.acme.>", "ctx.v1.>") })
	streamsOf(t, admin)
	nc, err := nats.Connect(admin)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	// Once the shared stream lists its tenants, no stream takes the facts of a stranger.
	for _, step := range []struct {
		layout streamio.TenantLayout
		says   string
	}{
		{streamio.TenantLayout{Tenant: "another", Partitions: 1}, "no stream takes the events of tenant acme"},
		{streamio.TenantLayout{Tenant: "acme"}, "the facts of tenant default"},
	} {
		if _, err := streamio.EnsureTenant(t.Context(), js, step.layout); err != nil {
			t.Fatal(err)
		}
		if stdout, _, code := ctxledger(t, "doctor", "--data", t.TempDir(), "--secrets", dir); code == cli.ExitDone || !strings.Contains(stdout, step.says) {
			t.Errorf("doctor does not say %q:\n%s", step.says, stdout)
		}
	}
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	if stdout, _, code := ctxledger(t, "doctor", "--data", t.TempDir(), "--secrets", t.TempDir()); code == cli.ExitDone || !strings.Contains(stdout, "ctxledger deploy nats --out") {
		t.Errorf("a folder without secrets: %d\n%s", code, stdout)
	}
}
