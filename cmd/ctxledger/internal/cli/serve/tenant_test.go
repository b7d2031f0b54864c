package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// A tenant with the account that `deploy nats` makes for it may publish its facts
// and see nothing of the streams: that is enough for the commands that bring facts.
func TestCommandsOfATenant(t *testing.T) {
	if testing.Short() {
		t.Skip("imports logs into a server: run without -short")
	}
	admin, tenant, _ := clitest.TenantNode(t, nil)
	stored := clitest.StreamsOf(t, admin)
	t.Setenv("CTXLEDGER_NATS_URL", tenant)
	data := t.TempDir()

	events := filepath.Join(t.TempDir(), "events.ndjson")
	own := strings.Replace(clitest.OneEvent, `"sessionid"`, `"tenant":"acme","sessionid"`, 1)
	if err := os.WriteFile(events, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := clitest.Run(t, "publish", events, "--data", data); code != cli.ExitDone || stored() != 1 {
		t.Errorf("publish ended with %d, the stream has %d events\n%s%s", code, stored(), stdout, stderr)
	}
	if err := os.WriteFile(events, []byte(strings.Replace(own, `"acme"`, `"another"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, code := clitest.Run(t, "publish", events, "--data", data); code == cli.ExitDone || stored() != 1 {
		t.Errorf("it published for another tenant: %d, the stream has %d events", code, stored())
	}

	log := clitest.Repository("producer", "importer", "testdata")
	stdout, stderr, code := clitest.Run(t, "import", "claude-code", log, "--tenant", "acme", "--data", data)
	if code != cli.ExitDone && code != cli.ExitRefused || stored() < 10 || !strings.Contains(stderr, "was not checked") {
		t.Errorf("import ended with %d, the stream has %d events\n%s%s", code, stored(), stdout, stderr)
	}
	settled := clitest.CopyOfLogs(t, log)
	for _, more := range []bool{true, false} { // what this machine remembers suffices
		before := stored()
		if stdout, stderr, code := clitest.Run(t, "import", "claude-code", settled, "--tenant", "acme", "--data", data); code != cli.ExitRefused || stored() > before != more {
			t.Errorf("import ended with %d, the stream has %d events, before %d\n%s%s", code, stored(), before, stdout, stderr)
		}
	}

	stdout, stderr, code = clitest.Run(t, "doctor", "--data", data)
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
			admin, tenant, dir := clitest.TenantNode(t, c.edit)
			stored := clitest.StreamsOf(t, admin)
			for _, how := range []struct{ address, secrets string }{{admin, filepath.Join(dir, "secrets")}, {admin, dir}, {tenant, ""}} {
				t.Setenv("CTXLEDGER_NATS_URL", how.address)
				args := []string{"doctor", "--data", t.TempDir()}
				if how.secrets != "" {
					args = append(args, "--secrets", how.secrets)
				}
				stdout, _, _ := clitest.Run(t, args...)
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
	admin, _, dir := clitest.TenantNode(t, func(accounts string) string { return strings.ReplaceAll(accounts, "ctx.v1.acme.>", "ctx.v1.>") })
	clitest.StreamsOf(t, admin)
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
		if stdout, _, code := clitest.Run(t, "doctor", "--data", t.TempDir(), "--secrets", dir); code == cli.ExitDone || !strings.Contains(stdout, step.says) {
			t.Errorf("doctor does not say %q:\n%s", step.says, stdout)
		}
	}
	t.Setenv("CTXLEDGER_NATS_URL", admin)
	if stdout, _, code := clitest.Run(t, "doctor", "--data", t.TempDir(), "--secrets", t.TempDir()); code == cli.ExitDone || !strings.Contains(stdout, "ctxledger deploy nats --out") {
		t.Errorf("a folder without secrets: %d\n%s", code, stdout)
	}
}
