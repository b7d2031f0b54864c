package sdk

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

const secret = "p%40ss%2Fw%3Frd-0123456789" // in an address

// authority makes a certificate authority and a certificate of the host localhost. It returns the
// configuration of a server, and the path of the authority's certificate.
func authority(t *testing.T) (config *tls.Config, path string) {
	t.Helper()
	now := time.Now()
	made := func(template, parent *x509.Certificate, public any, private any) []byte {
		template.NotBefore, template.NotAfter, template.SerialNumber = now.Add(-time.Hour), now.Add(time.Hour), big.NewInt(now.UnixNano())
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, private)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		var err error
		if keys[i], err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	root := &x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER := made(root, root, &keys[0].PublicKey, keys[0])
	leaf := &x509.Certificate{
		Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	leafDER := made(leaf, root, &keys[1].PublicKey, keys[0])
	path = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER}), 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leafDER}, PrivateKey: keys[1]}}, MinVersion: tls.VersionTLS12}, path
}

// guarded starts a NATS server with the stream. It returns the port.
func guarded(t *testing.T, options *server.Options, admin ...nats.Option) string {
	t.Helper()
	_, port := guardedServer(t, options, admin...)
	return port
}

func guardedServer(t *testing.T, options *server.Options, admin ...nats.Option) (*server.Server, string) {
	t.Helper()
	options.Host, options.Port, options.JetStream, options.StoreDir, options.NoLog, options.NoSigs = "127.0.0.1", -1, true, t.TempDir(), true, true
	options.AuthTimeout = 60 // seconds; a busy machine needs more than the usual 2
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("NATS does not start")
	}
	at, err := url.Parse(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("nats://localhost:"+at.Port(), admin...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	(&bustest.Bus{NC: nc, JS: js}).CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{"ctx.v1.default.>", "ctx.v1.acme.>"}})
	return s, at.Port()
}

// TestSignInOverNATS signs in with a password, with a token and with credentials, with and without
// TLS. An error says what to do, and neither it nor any line of the log has the secret.
func TestSignInOverNATS(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a program for each sign-in: run without -short")
	}
	certificate, path := authority(t)
	plain, err := url.PathUnescape(secret)
	if err != nil {
		t.Fatal(err)
	}
	tenant := &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"ctx.v1.acme.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}}, // not the notices
	}
	users := func() []*server.User {
		return []*server.User{{Username: "admin", Password: plain}, {Username: "tenant", Password: plain, Permissions: tenant}}
	}
	admin := nats.UserInfo("admin", plain)
	secure := guarded(t, &server.Options{Users: users(), TLSConfig: certificate, TLSTimeout: 10}, admin, nats.RootCAs(path))
	open := guarded(t, &server.Options{Users: users()}, admin)
	tokens := guarded(t, &server.Options{Authorization: plain}, nats.Token(plain))
	overNATS(t, func(t *testing.T, command func(string, ...string) *exec.Cmd) {
		variable := map[bool]string{true: "NODE_EXTRA_CA_CERTS", false: "SSL_CERT_FILE"}[strings.HasSuffix(t.Name(), "TypeScript")]
		for name, c := range map[string]struct {
			address, tenant string
			trusted         bool
			want            []string // words of the error; none if the event is stored
		}{
			"a password over TLS":               {"tls://admin:" + secret + "@localhost:" + secure, "", true, nil},
			"a server that asks for TLS":        {"nats://admin:" + secret + "@localhost:" + secure, "", true, nil},
			"a password":                        {"nats://admin:" + secret + "@localhost:" + open, "", false, nil},
			"a token":                           {"nats://" + secret + "@localhost:" + tokens, "", false, nil},
			"the second server of a list":       {"nats://" + secret + "@localhost:1,nats://localhost:" + tokens, "", false, nil},
			"a tenant":                          {"nats://tenant:" + secret + "@localhost:" + open, "acme", false, nil},
			"another tenant":                    {"nats://tenant:" + secret + "@localhost:" + open, "globex", false, []string{"Permissions Violation", "ctx.v1.globex.", "tenant"}},
			"a tenant without a stream":         {"nats://admin:" + secret + "@localhost:" + open, "globex", false, []string{"no stream", "ctxledger up"}},
			"an unknown authority":              {"tls://admin:" + secret + "@localhost:" + secure, "", false, []string{"certificate", variable}},
			"another host than the certificate": {"tls://admin:" + secret + "@127.0.0.1:" + secure, "", true, []string{"127.0.0.1", "certificate", "host name"}},
			"a server without TLS":              {"tls://admin:" + secret + "@localhost:" + open, "", true, []string{"TLS", "nats://"}},
			"a wrong password":                  {"nats://admin:x" + secret + "@localhost:" + open, "", false, []string{"Authorization Violation", "password"}},
			"a wrong password over TLS":         {"tls://admin:x" + secret + "@localhost:" + secure, "", true, []string{"Authorization Violation", "password"}},
			"a wrong token":                     {"nats://x" + secret + "@localhost:" + tokens, "", false, []string{"Authorization Violation", "token"}},
			"no password":                       {"nats://localhost:" + open, "", false, []string{"Authorization Violation", "password"}},
			"a password that is not encoded":    {"nats://admin:" + plain + "@localhost:" + open, "", false, []string{"percent-encode"}},
			"no server":                         {"nats://admin:" + secret + "@localhost:1", "", false, []string{"localhost:1", "efused"}},
			"no NATS server":                    {"nats://admin:" + secret + "@" + strings.TrimPrefix(silent(t), "http://"), "", false, []string{"no NATS server answered"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				config := map[string]any{"url": c.address}
				if c.tenant != "" {
					config["tenant"] = c.tenant
				}
				checkSignIn(t, command, config, map[bool]string{true: variable + "=" + path}[c.trusted], c.want)
			})
		}
	})
}

// changing is the password of a server, which a test may change.
type changing struct {
	password atomic.Value
	refused  atomic.Int64 // sign-ins
}

func (c *changing) Check(client server.ClientAuthentication) bool {
	ok := client.GetOpts().Password == c.password.Load()
	if !ok {
		c.refused.Add(1)
	}
	return ok
}

// TestPasswordChanges: a client whose password is refused for a while sends its events when the password
// is accepted again.
func TestPasswordChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until clients connect again: run without -short")
	}
	overNATS(t, func(t *testing.T, command func(string, ...string) *exec.Cmd) {
		var gate changing
		gate.password.Store("first")
		s, port := guardedServer(t, &server.Options{CustomClientAuthentication: &gate}, nats.UserInfo("agent", "first"))
		cmd := command("signin", `{"url":"nats://agent:first@localhost:`+port+`","again":true}`)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(stdout)
		if line, err := lines.ReadString('\n'); err != nil || line != "stored\n" {
			t.Fatalf("%q, %v", line, err)
		}
		gate.password.Store("second")
		connections, err := s.Connz(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range connections.Conns {
			if err := s.DisconnectClientByID(c.Cid); err != nil {
				t.Fatal(err)
			}
		}
		stdin.Close()
		for ctx := bustest.Within(t, time.Minute); gate.refused.Load() < 8; time.Sleep(5 * time.Millisecond) {
			if ctx.Err() != nil { // two refusals end a connection of the client for TypeScript
				t.Fatalf("the client has signed in %d times", gate.refused.Load())
			}
		}
		gate.password.Store("first")
		text, err := io.ReadAll(lines)
		if err != nil || cmd.Wait() != nil || !strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"stored":2`) {
			t.Errorf("%s: %v", text, err)
		}
	})
}

// TestCredentials signs in with a credentials file, which the SDK for TypeScript reads.
func TestCredentials(t *testing.T) {
	t.Parallel()
	client := withLibraries(t, filepath.Join("testdata", "signin.mjs"))
	made := decode[struct{ Public, Seed string }](t, []byte(client.Run(t, "-e", `
		const { nkeys } = require("@nats-io/transport-node");
		const user = nkeys.createUser();
		console.log(JSON.stringify({ public: user.getPublicKey(), seed: new TextDecoder().decode(user.getSeed()) }));`)))
	pair := nats.Nkey(made.Public, func(nonce []byte) ([]byte, error) {
		text := client.Run(t, "-e", `
			const { nkeys } = require("@nats-io/transport-node");
			const user = nkeys.fromSeed(new TextEncoder().encode(process.argv[1]));
			console.log(JSON.stringify(Buffer.from(user.sign(Buffer.from(process.argv[2], "base64"))).toString("base64")));`,
			made.Seed, base64.StdEncoding.EncodeToString(nonce))
		return decode[[]byte](t, []byte(text)), nil
	})
	port := guarded(t, &server.Options{Nkeys: []*server.NkeyUser{{Nkey: made.Public}}}, pair)
	path := filepath.Join(t.TempDir(), "agent.creds")
	text := "-----BEGIN NATS USER JWT-----\nnone\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" + made.Seed + "\n------END USER NKEY SEED------\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := inApp(t, client)
	address := "nats://localhost:" + port
	checkSignIn(t, command, map[string]any{"url": address, "creds": path}, "", nil)
	checkSignIn(t, command, map[string]any{"url": address}, "", []string{"Authorization Violation", "credentials"})
	checkSignIn(t, command, map[string]any{"url": address, "creds": path + ".none"}, "", []string{"agent.creds.none"})
}

// TestNATSWithoutItsPackages: an installation without the packages of the NATS project is told their
// names at once.
func TestNATSWithoutItsPackages(t *testing.T) {
	t.Parallel()
	l := languages[0]
	command := func(program string, args ...string) *exec.Cmd { return l.command(t, program, args...) }
	checkSignIn(t, command, map[string]any{"url": "nats://localhost:1"}, "", []string{"npm install @nats-io/transport-node @nats-io/jetstream"})
}

// TestLinkedSDK signs in with an SDK that npm has linked, as it does for a folder. The packages of the NATS
// project are those of the program.
func TestLinkedSDK(t *testing.T) {
	t.Parallel()
	client := withLibraries(t, filepath.Join("testdata", "signin.mjs"))
	installed := filepath.Join(client.Dir, "app", "node_modules", "@ctxledger", "sdk")
	folder, err := filepath.Abs("typescript")
	if err == nil {
		err = os.RemoveAll(installed)
	}
	if err == nil {
		err = os.Symlink(folder, installed)
	}
	if err != nil {
		t.Fatal(err)
	}
	port := guarded(t, &server.Options{})
	checkSignIn(t, inApp(t, client), map[string]any{"url": "nats://localhost:" + port}, "", nil)
}

// TestGatewayRefuses: an error of a client says what to do when no gateway answers, when the gateway wants
// another token, and when the address is wrong. It has no secret.
func TestGatewayRefuses(t *testing.T) {
	t.Parallel()
	config := gateway.DefaultConfig(bustest.Start(t).JS)
	config.Tenant = func(r *http.Request) (string, error) {
		if r.Header.Get("Authorization") == "Bearer reader" {
			return "", gateway.ErrForbidden
		}
		return "", gateway.ErrUnauthenticated
	}
	handler, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	gate := httptest.NewServer(handler)
	defer gate.Close()
	away := httptest.NewServer(handler)
	away.Close()
	t.Run("clients", func(t *testing.T) {
		each(t, func(t *testing.T, l language) {
			command := func(program string, args ...string) *exec.Cmd { return l.command(t, program, args...) }
			for _, c := range []struct {
				address, token string
				want           []string
			}{
				{away.URL, "", []string{"refused", "ctxledger up", "CTXLEDGER_URL"}},
				{gate.URL, secret, []string{"answered 401", "ctxledger token create"}},
				{gate.URL, "", []string{"answered 401", "ctxledger token create"}},
				{gate.URL, "reader", []string{"answered 403", "role publish"}},
				{"http://admin:" + secret + "@127.0.0.1:1", "", []string{"as token"}},
				{"localhost:7070", "", []string{"malformed", "http://host:7070"}},
				{"http://admin:p@ss/w?rd-0123456789@127.0.0.1:1", "", []string{"as token"}},
			} {
				config := map[string]any{"url": c.address}
				if c.token != "" {
					config["token"] = c.token
				}
				out := checkSignIn(t, command, config, "", c.want)
				if strings.Contains(out, "events wait") != strings.Contains(out, "1 events that are not stored are lost") {
					t.Errorf("the client does not say what is lost: %s", out)
				}
			}
		})
	})
}

// silent is a server that speaks HTTP.
func silent(t *testing.T) string {
	_, server := start(t)
	return server.URL
}

// inApp makes commands of the programs in the folder app.
func inApp(t *testing.T, client *realclient.Client) func(program string, args ...string) *exec.Cmd {
	return func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(bustest.Within(t, 2*time.Minute), client.Program, append([]string{filepath.Join("app", program+".mjs")}, args...)...)
		cmd.Dir, cmd.Env = client.Dir, client.Env
		return cmd
	}
}

func checkSignIn(t *testing.T, command func(string, ...string) *exec.Cmd, config map[string]any, env string, want []string) string {
	t.Helper()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command("signin", string(text))
	if cmd.Env = cmd.Environ(); env != "" {
		cmd.Env = append(cmd.Env, env)
	}
	out := output(t, cmd)
	said := decode[struct {
		Stored int
		Error  string
		Lines  []string
	}](t, out)
	if (said.Stored == 1) != (want == nil) || (said.Error == "") != (want == nil) {
		t.Errorf("%s", out)
	}
	for _, word := range want {
		if !strings.Contains(strings.ToLower(said.Error), strings.ToLower(word)) {
			t.Errorf("the error does not say %q: %s", word, said.Error)
		}
	}
	for _, part := range []string{"ss/w", "ss%2F", "rd-0123"} { // of the secret, in any form
		if strings.Contains(string(out), part) {
			t.Errorf("the secret is in the output: %s", out)
		}
	}
	return string(out)
}
