package serve_test

import (
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// secureNATS runs a NATS server with TLS and returns its address. With an authority of clients, the server asks
// for their certificates.
func secureNATS(t *testing.T, issue func(certificate, key string), clients *embeddedtest.Authority) string {
	t.Helper()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	issue(certificate, key)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	clitest.Must(t, err)
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		TLSConfig: clients.Asking(&tls.Config{Certificates: []tls.Certificate{pair}}), TLSVerify: clients != nil, TLSTimeout: 10,
	})
	clitest.Must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("NATS is not ready")
	}
	return "nats://" + s.Addr().String()
}

// secured is an address of ClickHouse with TLS: of a port with TLS in front of that of dsn.
func secured(t *testing.T, dsn, scheme string, issue func(certificate, key string), clients *embeddedtest.Authority) string {
	t.Helper()
	u, err := url.Parse(dsn)
	clitest.Must(t, err)
	u.Scheme, u.Host = scheme, "127.0.0.1:"+embeddedtest.Secured(t, u.Port(), issue, clients)
	if scheme == "clickhouse" {
		u.RawQuery = "secure=true"
	}
	return u.String()
}

// TestOwnAuthority works with servers whose certificates an authority of one's own has signed: NATS,
// ClickHouse, and ClickHouse over HTTP. Each fault of a certificate has an error of its own.
func TestOwnAuthority(t *testing.T) {
	clitest.NeedEngine(t)
	s := embeddedtest.Start(t, func(c *embedded.Config) { c.NoNATS = true })
	http := clitest.OverHTTP(t, s.ClickHouseDSN(), s.Addresses().HTTPURL)
	ca := embeddedtest.NewAuthority(t)
	certificate := func(end time.Duration, names ...string) func(certificate, key string) {
		return func(certificate, key string) { ca.Issue(t, certificate, key, time.Now().Add(end), names...) }
	}
	good, data := certificate(time.Hour, "127.0.0.1", "localhost"), t.TempDir()
	nats, native := secureNATS(t, good, nil), secured(t, s.ClickHouseDSN(), "clickhouse", good, nil)
	t.Setenv("CTXLEDGER_NATS_URL", nats)
	t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", native)
	log := filepath.Join(t.TempDir(), "session.jsonl")
	clitest.Must(t, os.WriteFile(log, []byte(oneLog), 0o600))
	for _, args := range [][]string{
		{"migrate"}, {"import", "claude-code", log, "--no-wait"}, {"project", "--until-caught-up"}, {"doctor"}, {"query", "sessions"},
	} {
		if stdout, stderr, code := clitest.Run(t, append(args, "--data", data, "--ca", ca.File)...); code != cli.ExitDone {
			t.Fatalf("%v ended with %d\n%s%s", args, code, stdout, stderr)
		}
	}
	t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", secured(t, http, "https", good, nil))
	t.Setenv("CTXLEDGER_CA", ca.File)
	for _, format := range []string{"json", "parquet"} {
		if stdout, stderr, code := clitest.Run(t, "query", "sessions", "-o", format, "--data", data); code != cli.ExitDone || !strings.Contains(stdout, "s-1") {
			t.Errorf("over HTTP the query as %s ended with %d\n%.300s%s", format, code, stdout, stderr)
		}
	}
	t.Setenv("CTXLEDGER_CA", "")

	elsewhere, expired := certificate(time.Hour, "ledger.example", "192.0.2.1"), certificate(-24*time.Hour, "127.0.0.1")
	plain := s.ClickHouseDSN() + "?secure=true"
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	clitest.Must(t, os.WriteFile(noPEM, []byte("a certificate"), 0o600))
	for _, c := range []struct {
		name, nats, clickhouse, ca string
		code                       int
		says                       string
	}{
		{"unknown", nats, native, "", cli.ExitUnreachable, "has a certificate of an authority that is not known here: name the file of the authority with --ca"},
		{"unknown over HTTP", nats, secured(t, http, "https", good, nil), "", cli.ExitUnreachable, "of an authority that is not known here"},
		{"other host", secureNATS(t, elsewhere, nil), secured(t, s.ClickHouseDSN(), "clickhouse", elsewhere, nil), ca.File, cli.ExitUnreachable, "has a certificate for ledger.example, 192.0.2.1, and not for 127.0.0.1"},
		{"other host over HTTP", nats, secured(t, http, "https", elsewhere, nil), ca.File, cli.ExitUnreachable, "has a certificate for ledger.example, 192.0.2.1, and not for 127.0.0.1"},
		{"expired", secureNATS(t, expired, nil), secured(t, s.ClickHouseDSN(), "clickhouse", expired, nil), ca.File, cli.ExitUnreachable, "renew it, or correct the clock"},
		{"no TLS", nats, plain, ca.File, cli.ExitUnreachable, "does not speak TLS on this port"},
		{"no TLS in the address", nats, s.ClickHouseDSN() + "?ca=" + ca.File, ca.File, cli.ExitFailed, "the address has no TLS: add secure=true"},
		{"no PEM", nats, native, noPEM, cli.ExitUsage, "ca.pem has no certificate of an authority"},
		{"no file", nats, native, noPEM + ".missing", cli.ExitUsage, "read the certificates of authorities"},
	} {
		t.Setenv("CTXLEDGER_NATS_URL", c.nats)
		t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", c.clickhouse)
		stdout, stderr, code := clitest.Run(t, "doctor", "--data", data, "--ca", c.ca)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: doctor ended with %d, want %d and %q\n%s%s", c.name, code, c.code, c.says, stdout, stderr)
		}
		if c.nats != nats || c.ca == "" && c.code == cli.ExitUnreachable && !strings.Contains(c.clickhouse, "https") { // both servers have the fault
			if n := strings.Count(stdout, c.says); n != 2 {
				t.Errorf("%s: said of %d servers, want 2\n%s", c.name, n, stdout)
			}
		}
		if strings.Contains(stdout+stderr, clitest.Password(t, s.ClickHouseDSN())) {
			t.Errorf("%s: the password is in the output", c.name)
		}
	}
}

// TestClientCertificates works with servers that ask for a certificate of the client. A client without one, and
// one with that of another authority, is told so of both servers.
func TestClientCertificates(t *testing.T) {
	clitest.NeedEngine(t)
	s := embeddedtest.Start(t, func(c *embedded.Config) { c.NoNATS = true })
	ca, stranger := embeddedtest.NewAuthority(t), embeddedtest.NewAuthority(t)
	issue := func(certificate, key string) { ca.Issue(t, certificate, key, time.Now().Add(time.Hour), "127.0.0.1") }
	native := secured(t, s.ClickHouseDSN(), "clickhouse", issue, ca)
	http := secured(t, clitest.OverHTTP(t, s.ClickHouseDSN(), s.Addresses().HTTPURL), "https", issue, ca)
	t.Setenv("CTXLEDGER_NATS_URL", secureNATS(t, issue, ca))
	t.Setenv("CTXLEDGER_CA", ca.File)
	data, own := t.TempDir(), filepath.Join(t.TempDir(), "client.pem")
	ca.IssueClient(t, own)
	for _, c := range []struct {
		clickhouse string
		args       []string
	}{{native, []string{"migrate"}}, {native, []string{"project", "--until-caught-up"}}, {native, []string{"doctor"}}, {http, []string{"query", "sessions", "-o", "parquet"}}} {
		t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", c.clickhouse)
		if stdout, stderr, code := clitest.Run(t, append(c.args, "--data", data, "--client-cert", own)...); code != cli.ExitDone {
			t.Fatalf("%v ended with %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
	foreign, noPEM := filepath.Join(t.TempDir(), "client.pem"), filepath.Join(t.TempDir(), "no.pem")
	stranger.IssueClient(t, foreign)
	clitest.Must(t, os.WriteFile(noPEM, []byte("a certificate"), 0o600))
	for _, c := range []struct {
		file string
		code int
		says string
		n    int // servers
	}{
		{"", cli.ExitUnreachable, "asks for a certificate of this client: name the file with the certificate and its key with --client-cert", 2},
		{foreign, cli.ExitUnreachable, "refuses the certificate of this client", 2},
		{noPEM, cli.ExitUsage, "read the certificate and the key of this client from " + noPEM, 1},
	} {
		for _, clickhouse := range []string{native, http} {
			t.Setenv("CTXLEDGER_CLICKHOUSE_DSN", clickhouse)
			stdout, stderr, code := clitest.Run(t, "doctor", "--data", data, "--client-cert", c.file)
			said := stdout + stderr
			// NATS may end the connection before its alert is read
			said = strings.Replace(said, "closes the connection after the handshake, as for a client without a certificate of its authority", c.says, 1)
			if code != c.code || strings.Count(said, c.says) != c.n {
				t.Errorf("with %q doctor ended with %d, want %d and %q\n%s%s", c.file, code, c.code, c.says, stdout, stderr)
			}
		}
	}
}
