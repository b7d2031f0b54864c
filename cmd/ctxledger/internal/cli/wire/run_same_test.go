package wire_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// providerOf serves a model under a host's own name, and returns the address of a proxy that leads
// there and refuses all other hosts, with the file of the certificate. Neither is of the product.
func providerOf(t *testing.T, host string, model http.Handler) (proxy, certificate string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issue := func(c, by *x509.Certificate) []byte {
		c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		encoded, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, key)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	root := &x509.Certificate{Subject: pkix.Name{CommonName: "root of a test"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	trusted := issue(root, root)
	leaf := issue(&x509.Certificate{DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, root)
	certificate = filepath.Join(t.TempDir(), "host.pem")
	if err := os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: trusted}), 0o600); err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewUnstartedServer(model)
	provider.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf}, PrivateKey: key}}}
	provider.StartTLS()
	tunnel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if in.Method != http.MethodConnect || in.Host != host+":443" {
			http.Error(w, "refused", http.StatusForbidden)
			return
		}
		remote, err := net.Dial("tcp", provider.Listener.Addr().String())
		if err != nil {
			return
		}
		defer remote.Close()
		local, early, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer local.Close()
		_, _ = io.WriteString(local, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(remote, early)
			_ = remote.Close()
		}()
		_, _ = io.Copy(local, remote)
	}))
	t.Cleanup(func() {
		provider.CloseClientConnections()
		provider.Close()
		tunnel.Close()
	})
	return tunnel.URL, certificate
}

// varying matches what two runs of a client never share: ids, times, and keys of a connection.
var varying = regexp.MustCompile(strings.Join([]string{
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, // UUIDs
	`\b[0-9a-f]{32,}\b`, `\b[0-9]{10,}(\.[0-9]+)?\b`, // hashes of ids, times in seconds or less
	`"[a-z_]+_ms":[0-9.]+`,                                       // times that a client prints
	`\bcch=[0-9a-f]+`,                                            // a hash of ids
	`Chunk ID: [0-9a-f]+`, `Wall time: [0-9.]+`, `\bBash=[0-9]+`, // of a command: id, durations
}, "|"))

// normal returns a text without what varies, and without the folders of a client.
func normal(c *realclient.Client, text string) string {
	for _, v := range c.Env {
		if name, folder, _ := strings.Cut(v, "="); name == "HOME" || name == "TMPDIR" {
			text = strings.ReplaceAll(text, folder, "<"+name+">")
		}
	}
	text = strings.ReplaceAll(text, c.Dir, "<DIR>")
	text = strings.ReplaceAll(text, strings.NewReplacer("/", "-", "_", "-").Replace(c.Dir), "<DIR>") // the name of a project's folder
	return varying.ReplaceAllString(text, "<>")
}

// received returns what a model received: each call in order, with its headers.
func received(c *realclient.Client, server *modelserver.Server) (list []string) {
	for _, call := range server.Calls() {
		var head []string
		for name, values := range call.Header {
			if name == "Connection" { // each connection has its own
				continue
			}
			if name == "Sec-Websocket-Key" {
				values = []string{"<>"}
			}
			head = append(head, fmt.Sprintf("%s: %q", strings.ToLower(name), values))
		}
		slices.Sort(head)
		body := jsontext.Value(slices.Clone(call.Body))
		if call.WebSocket { // Codex has no order of the members of its metadata
			_ = body.Canonicalize()
		}
		list = append(list, normal(c, fmt.Sprintf("%s %s\n%s\n%s", call.Method, call.Target, strings.Join(head, "\n"), body)))
	}
	return list
}

// firstDifference returns where two texts begin to differ.
func firstDifference(a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	from := max(0, at-80)
	return fmt.Sprintf("%q instead of %q", b[from:min(len(b), at+80)], a[from:min(len(a), at+80)])
}

// TestRunChangesNothing runs the real clients with their providers' own hosts, alone and behind
// `run`. What the model receives, and what the client prints, differs in ids and times only.
func TestRunChangesNothing(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}
	for name, test := range map[string]struct {
		host   string
		client func(t *testing.T) *realclient.Client
		args   []string
		tool   func(command string) modelserver.Part
	}{
		"Claude Code": {"api.anthropic.com", func(t *testing.T) *realclient.Client {
			c := realclient.ClaudeCode(t, "")
			c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
			return c
		}, []string{"-p", "echo one, then two", "--allowedTools", "Bash", "--output-format", "json"}, func(command string) modelserver.Part {
			return modelserver.Call("Bash", fmt.Sprintf(`{"command":%q,"description":"d"}`, command))
		}},
		"Codex": {"api.openai.com", func(t *testing.T) *realclient.Client { return realclient.CodexOfOpenAI(t, "", "") },
			[]string{"exec", "--skip-git-repo-check", "echo one, then two"}, func(command string) modelserver.Part {
				return modelserver.Call("exec_command", fmt.Sprintf(`{"cmd":%q}`, command))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := func() modelserver.Script {
				return modelserver.Sequence(
					modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), test.tool("echo one")}, Usage: usage},
					modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("I go on."), test.tool("echo two")}, Usage: usage},
					modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: usage},
				)
			}
			alone, captured := modelserver.New(t, script()), modelserver.New(t, script())
			compare(t, test.host, test.client, test.args, alone, captured)
		})
	}
}

// compare runs a client alone and behind `run`. Both say at the end that both are done. compare returns what the model received of each call.
func compare(t *testing.T, host string, of func(*testing.T) *realclient.Client, args []string, alone, captured *modelserver.Server) []string {
	client := of(t)
	proxy, certificate := providerOf(t, host, alone)
	client.Env = append(client.Env, "HTTPS_PROXY="+proxy, "NODE_USE_ENV_PROXY=1", "NODE_EXTRA_CA_CERTS="+certificate, "SSL_CERT_FILE="+certificate)
	printed := normal(client, client.Run(t, args...))
	want := received(client, alone)

	client = of(t)
	client.Env = slices.DeleteFunc(client.Env, func(v string) bool {
		return strings.HasPrefix(v, "HTTPS_PROXY=") || strings.HasPrefix(v, "SSL_CERT_FILE=")
	})
	p := clitest.Command(slices.Concat([]string{"run", "--no-start", "--data", t.TempDir(), "--only-providers", "--host", host + "=" + captured.URL, "--", client.Program}, args)...)
	p.Dir, p.Env = client.Dir, client.Env
	if code := p.Begin(t).Code(t, clitest.StartPatience); code != cli.ExitDone || !strings.Contains(p.Results.String(), "both are done") {
		t.Fatalf("exit code %d\n%s%s", code, &p.Results, &p.Messages)
	}
	got := received(client, captured)
	if len(got) != len(want) || len(want) < 3 {
		t.Fatalf("%d calls behind run, %d alone", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("call %d: %s", i, firstDifference(want[i], got[i]))
		}
	}
	if now := normal(client, p.Results.String()); now != printed {
		t.Errorf("the client prints %s", firstDifference(printed, now))
	}
	t.Logf("%d calls, %d bytes", len(want), len(strings.Join(want, "")))
	return want
}

// TestRunChangesNothingForLibraries does the same with the client libraries. With another base URL they
// change what the help of capture lists: Node.js asks for brotli by HTTPS only.
func TestRunChangesNothingForLibraries(t *testing.T) {
	t.Parallel()
	script := func(r *modelserver.Request) modelserver.Answer {
		a := modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}}
		switch body := string(r.Body); {
		case !strings.Contains(body, "1 + 2 = 3"):
			a.Parts = []modelserver.Part{modelserver.Call("add", `{"a":1,"b":2}`)}
		case !strings.Contains(body, "3 + 4 = 7"):
			a.Parts = []modelserver.Part{modelserver.Text("and more"), modelserver.Call("add", `{"a":3,"b":4}`)}
		}
		return a
	}
	for _, library := range realclient.Libraries {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			host := "api.openai.com"
			if strings.Contains(strings.ToLower(library), "anthropic") {
				host = "api.anthropic.com"
			}
			client := func(t *testing.T) *realclient.Client { return realclient.Library(t) }
			want := compare(t, host, client, []string{"talk.mjs", library, "https://" + host, "http"}, modelserver.New(t, script), modelserver.New(t, script))
			other, c := modelserver.New(t, script), client(t)
			c.Run(t, "talk.mjs", library, other.URL, "http")
			got := received(c, other)
			if len(got) != len(want) {
				t.Fatalf("%d calls with a base URL, %d without", len(got), len(want))
			}
			for i := range want {
				if altered := strings.Replace(want[i], `["br, gzip`, `["gzip`, 1); got[i] != altered || altered == want[i] {
					t.Errorf("with a base URL call %d has %s", i, firstDifference(altered, got[i]))
				}
			}
		})
	}
}
