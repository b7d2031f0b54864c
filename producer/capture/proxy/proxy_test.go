package proxy

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
	"github.com/ctxledger/ctxledger/schema"
)

// rig is a recorder whose facts are kept, with its keys.
type rig struct {
	*capture.Recorder
	facts *producertest.Recorder
	ring  schema.KeyRing
}

func newRig(t testing.TB) rig {
	t.Helper()
	key, err := schema.NewKey(rand.Reader, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	r := rig{facts: new(producertest.Recorder), ring: schema.KeyRing{Keys: []schema.Key{key}}}
	r.Recorder, err = capture.Open(t.Context(), capture.Config{Transport: r.facts, Instance: "test", Keys: r.ring, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Close(context.Background())
		r.facts.Check(t)
	})
	return r
}

// gateway starts a gateway that has the upstream "model".
func gateway(t testing.TB, upstream string, recorder *capture.Recorder) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := NewGateway(map[string]string{"model": upstream}, listener.Addr(), recorder)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: g, ErrorLog: discard}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

// raw sends bytes and returns the whole answer.
func raw(t testing.TB, address, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// head returns the first line and the headers of a message, with names in lower case, sorted.
func head(message string) []string {
	text, _, _ := strings.Cut(message, "\r\n\r\n")
	lines := strings.Split(text, "\r\n")
	for i, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		lines[i+1] = strings.ToLower(name) + ":" + value
	}
	slices.Sort(lines[1:])
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "connection:") || strings.HasPrefix(l, "host:") })
}

// TestTransparent: the provider receives the bytes of the request line, the headers and the body
// that it receives without a proxy, and the client receives those of the answer.
func TestTransparent(t *testing.T) {
	t.Parallel()
	// The provider announces that it closes the connection, so that no request meets a closed one.
	const answer = "HTTP/1.1 201 Created\r\nConnection: close\r\nX-Two: a\r\nX-Two: b\r\nx-lower: 1\r\nContent-Length: 5\r\n\r\nhello"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	received := make(chan string, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				from := bufio.NewReader(conn)
				var text strings.Builder
				length := 0
				for {
					line, err := from.ReadString('\n')
					text.WriteString(line)
					if name, value, ok := strings.Cut(strings.ToLower(line), ":"); ok && name == "content-length" {
						_, _ = fmt.Sscan(value, &length)
					}
					if err != nil || line == "\r\n" {
						break
					}
				}
				body := make([]byte, length)
				_, _ = io.ReadFull(from, body)
				received <- text.String() + string(body)
				_, _ = io.WriteString(conn, answer)
			}()
		}
	}()
	address := "http://" + listener.Addr().String()
	through := gateway(t, address, newRig(t).Recorder)
	for _, target := range []string{"/v1/messages?beta=true&a=%20b;c", "/v1/a%2Fb/../messages", "/?", "/x?q=%", "//double"} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			rest := " HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Api-Key: k\r\nx-Many: 1\r\nx-Many: 2\r\nAccept: */*\r\nContent-Length: 4\r\n\r\nbody"
			raw(t, address, method+" "+target+rest)
			want := <-received
			got := raw(t, through, method+" /model"+target+rest)
			select {
			case proxied := <-received: // before its answer
				if !slices.Equal(head(proxied), head(want)) || !strings.HasSuffix(proxied, "\r\n\r\nbody") {
					t.Errorf("the provider received\n%q, want\n%q", head(proxied), head(want))
				}
			default:
				t.Fatalf("the provider received nothing, and the client %q", got)
			}
			if !slices.Equal(head(got), head(answer)) || !strings.HasSuffix(got, "\r\n\r\nhello") {
				t.Errorf("the client received %q", got)
			}
		}
	}
}

// TestEachChunkIsFlushed: a piece of a stream arrives before the next one is sent, and a client
// that leaves ends the request of the provider.
func TestEachChunkIsFlushed(t *testing.T) {
	t.Parallel()
	next, left := make(chan struct{}), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
		<-in.Context().Done()
		close(left)
	}))
	defer provider.Close()
	through := gateway(t, provider.URL, newRig(t).Recorder)
	ctx, leave := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, through+"/model/v1/messages", strings.NewReader("{}"))
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(response.Body)
	for i := range 3 {
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
		_, _ = lines.ReadString('\n')
		next <- struct{}{}
	}
	leave()
	<-left
}

// TestCutUpstream: a response that breaks off breaks off for the client, also one to a request for another protocol.
func TestCutUpstream(t *testing.T) {
	t.Parallel()
	answer := modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("a longer answer")}, Fault: modelserver.Fault{CutAfter: 2}}
	server := modelserver.New(t, modelserver.Sequence(answer, answer))
	through := gateway(t, server.URL, nil)
	for _, header := range []http.Header{{}, {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}} {
		request, _ := http.NewRequest(http.MethodPost, through+"/model/v1/messages", strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
		request.Header = header
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("the client does not see that the response broke off: %d %q", response.StatusCode, text)
		}
	}
}

// TestOfferOfHTTP2: a call with the offer that Java's client makes is passed on without it, and recorded.
func TestOfferOfHTTP2(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("hello")}}))
	r := newRig(t)
	const body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`
	got := raw(t, gateway(t, server.URL, r.Recorder), fmt.Sprintf("POST /model/v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close, Upgrade, HTTP2-Settings\r\n"+
		"Upgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	if !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "hello") {
		t.Errorf("%q", got)
	}
	if err := r.Flush(t.Context()); err != nil || r.Counts().Exchanges != 1 {
		t.Errorf("%+v, %v", r.Counts(), err)
	}
}

// TestUpgrade: a connection that changes its protocol passes in both directions, also one whose
// bytes are not those of the protocol.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(conn, "echo "+line)
	}))
	defer provider.Close()
	recording := newRig(t)
	for _, recorder := range []*capture.Recorder{nil, recording.Recorder} {
		got := raw(t, gateway(t, provider.URL, recorder), "GET /model/v1/responses HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nping\n")
		if !strings.HasPrefix(got, "HTTP/1.1 101") || !strings.HasSuffix(got, "echo ping\n") {
			t.Errorf("%q", got)
		}
	}
	if err := recording.Flush(t.Context()); err != nil || recording.Counts().Unread != 1 {
		t.Errorf("%+v, %v", recording.Counts(), err)
	}
}

func TestUpstreams(t *testing.T) {
	t.Parallel()
	own := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7171}
	for _, address := range []string{"http://127.0.0.1:7171", "http://localhost:7171/v1", "ftp://x", "x", "", "http://user:hunter2@x", "http://x/?key=hunter2"} {
		if _, err := NewGateway(map[string]string{"a": address}, own, nil); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
	everywhere := &net.TCPAddr{IP: net.IPv4zero, Port: 7171}
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if own, ok := a.(*net.IPNet); ok && own.IP.To4() != nil {
			if _, err := NewGateway(map[string]string{"a": "http://" + own.IP.String() + ":7171/a"}, everywhere, nil); err == nil {
				t.Errorf("%s is not recognised", own.IP)
			}
		}
	}
	g, err := NewGateway(nil, own, nil)
	if err != nil || !slices.Equal(g.Names(), []string{"anthropic", "openai"}) {
		t.Errorf("%v", err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/nowhere/v1", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "/anthropic") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// forward starts a proxy that leads the host to a server.
func forward(t testing.TB, host, address string, sealed bool, recorder *capture.Recorder) (proxy *url.URL, authority *Authority) {
	t.Helper()
	_, proxy, authority = forwarding(t, host, address, sealed, recorder)
	return proxy, authority
}

func forwarding(t testing.TB, host, address string, sealed bool, recorder *capture.Recorder) (f *Forward, proxy *url.URL, authority *Authority) {
	t.Helper()
	authority, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	f, err = NewForward(authority, map[string]string{host: address}, sealed, recorder)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		f.Close()
		server.Close()
	})
	proxy, _ = url.Parse(server.URL)
	return f, proxy, authority
}

func TestForward(t *testing.T) {
	t.Parallel()
	server := modelserver.New(t, modelserver.Sequence(modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("hello")}}))
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "other") }))
	defer other.Close()
	r := newRig(t)
	for _, sealed := range []bool{false, true} {
		proxy, authority := forward(t, "api.anthropic.com", server.URL, sealed, r.Recorder)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(authority.PEM())
		pool.AddCert(other.Certificate())
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}}
		response, err := client.Post("https://api.anthropic.com/v1/messages?beta=true", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"one"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		if !strings.Contains(string(text), "hello") {
			t.Errorf("%s", text)
		}
		response, err = client.Get(other.URL)
		if sealed != (err != nil) {
			t.Errorf("sealed %t: %v", sealed, err)
		}
		if err == nil {
			text, _ := io.ReadAll(response.Body)
			if string(text) != "other" {
				t.Errorf("%s", text)
			}
		}
	}
	if strings.Contains(string(must(NewAuthority()).PEM()), "PRIVATE") {
		t.Error("the key leaves memory")
	}
	for _, call := range server.Calls() {
		if call.Target != "/v1/messages?beta=true" {
			t.Errorf("target %s", call.Target)
		}
	}
	if err := r.Flush(t.Context()); err != nil || r.Counts().Exchanges != 2 {
		t.Errorf("%+v %v", r.Counts(), err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func claudeScript() modelserver.Script {
	usage := modelserver.Usage{Input: 100, CacheRead: 40, CacheWrite5m: 7, Output: 9}
	return modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("I look."), modelserver.Call("Bash", `{"command":"echo one","description":"d"}`)}, Usage: usage},
		modelserver.Answer{Fault: modelserver.Fault{Status: 529}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), modelserver.Call("Bash", `{"command":"echo two","description":"d"}`)}, Usage: usage, Fault: slow},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: usage, Fault: modelserver.Fault{Malformed: "data: {\"type\": \"content\n\n"}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: usage}, // for a client that asks again
	)
}

// slow sends the bytes of an answer one after the other.
var slow = modelserver.Fault{Piece: 16, Pause: time.Millisecond}

// TestClaudeCodeByBaseURL runs the real client through the gateway.
func TestClaudeCodeByBaseURL(t *testing.T) {
	t.Parallel()
	server, r := modelserver.New(t, claudeScript()), newRig(t)
	client := realclient.ClaudeCode(t, gateway(t, server.URL, r.Recorder)+"/model")
	out := client.Run(t, "-p", "echo one, then two", "--allowedTools", "Bash", "--output-format", "json")
	if !strings.Contains(out, "both are done") {
		t.Errorf("the client printed %s", out)
	}
	r.same(t, server)
}

// TestClaudeCodeByProxy runs the real client through the forward proxy, with its provider's own
// host name.
func TestClaudeCodeByProxy(t *testing.T) {
	t.Parallel()
	server, r := modelserver.New(t, claudeScript()), newRig(t)
	proxy, authority := forward(t, "api.anthropic.com", server.URL, true, r.Recorder)
	client := realclient.ClaudeCode(t, server.URL)
	client.Env = slices.DeleteFunc(client.Env, func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
	client.Env = append(client.Env, "HTTPS_PROXY="+proxy.String(), "NODE_EXTRA_CA_CERTS="+written(t, authority))
	out := client.Run(t, "-p", "echo one, then two", "--allowedTools", "Bash", "--output-format", "json")
	if !strings.Contains(out, "both are done") {
		t.Errorf("the client printed %s", out)
	}
	r.same(t, server)
}

func written(t *testing.T, a *Authority) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, a.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCodexByBaseURL runs the real client through the gateway.
func TestCodexByBaseURL(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 50, CacheRead: 30, Output: 9, Reasoning: 4}
	server, r := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Reasoning("so"), modelserver.Call("exec_command", `{"cmd":"echo one"}`)}, Usage: usage, Fault: slow},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it is done")}, Usage: usage, Fault: modelserver.Fault{Malformed: "data: {\"type\": \"resp\n\n"}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it is done")}, Usage: usage}, // for a client that asks again
	)), newRig(t)
	client := realclient.Codex(t, gateway(t, server.URL, r.Recorder)+"/model")
	out := client.Run(t, "exec", "--skip-git-repo-check", "echo one")
	if !strings.Contains(out, "it is done") {
		t.Errorf("the client printed %s", out)
	}
	r.same(t, server)
}

// TestClaudeCodeSubAgentAndResume runs the real client with a sub-agent, and then resumes its
// session: the sub-agent's thread is a child, and no call is missing or twice.
func TestClaudeCodeSubAgentAndResume(t *testing.T) {
	t.Parallel()
	usage := modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}
	const found = "The sub-agent found two files: parser.go reads lines and writer.go writes them.\nBoth have tests, and the tests of the writer are slow."
	server, r := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Agent", `{"description":"look","prompt":"Which files are there?","subagent_type":"general-purpose","run_in_background":false}`)}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(found)}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("that is all")}, Usage: usage},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("it went on")}, Usage: usage},
	)), newRig(t)
	client := realclient.ClaudeCode(t, gateway(t, server.URL, r.Recorder)+"/model")
	client.Run(t, "-p", "ask an agent", "--allowedTools", "Agent,Task", "--output-format", "json")
	client.Run(t, "-p", "go on", "--continue", "--output-format", "json")
	r.same(t, server)
	children := 0
	for _, e := range r.facts.Events().Of(schema.TypeScopeOpened) {
		if e.Fact.(*schema.ScopeOpened).ParentRunID != "" {
			children++
		}
	}
	if children != 1 {
		t.Errorf("%d children\n%s", children, r.facts.Events().Of(schema.TypeScopeOpened, schema.TypeUsageRecorded).String())
	}
}

// TestClaudeCodeCompacts lets the real client compact its window and go on. The compaction has
// its proof, and its summariser is the call that wrote the summary.
func TestClaudeCodeCompacts(t *testing.T) {
	t.Parallel()
	small := modelserver.Usage{Input: 100, Output: 9}
	const summary = "<analysis>\nThe user asked for two commands.\n</analysis>\n\n<summary>\n1. The user wants one and two echoed.\n2. The command for one ran and printed one.\n3. The command for two is next.\n4. No file was changed so far.\n</summary>"
	bash := func(n string) []modelserver.Part {
		return []modelserver.Part{modelserver.Call("Bash", `{"command":"echo `+n+`","description":"d"}`)}
	}
	server, r := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: bash("one"), Usage: small},
		modelserver.Answer{Parts: bash("two"), Usage: small},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("I echoed one and two.")}, Usage: small},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(summary)}, Usage: small},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("both are done")}, Usage: small},
	)), newRig(t)
	client := realclient.ClaudeCode(t, gateway(t, server.URL, r.Recorder)+"/model")
	client.Run(t, "-p", "echo one, then two", "--allowedTools", "Bash", "--output-format", "json")
	client.Run(t, "-p", "/compact", "--continue", "--output-format", "json")
	client.Run(t, "-p", "go on", "--continue", "--output-format", "json")
	r.same(t, server)
	made := r.facts.Events().Of(schema.TypeCompactionCompleted)
	if len(made) != 1 {
		t.Fatalf("%d compactions\n%s", len(made), r.facts.Events().Of(schema.TypeScopeOpened, schema.TypeUsageRecorded, schema.TypeInjectionRemoved).String())
	}
	c := made[0].Fact.(*schema.CompactionCompleted)
	if proof := c.Validation.(map[string]any)["proof"]; proof != observe.ProofContained || c.SummarizerCallID != server.Calls()[3].MessageID {
		t.Errorf("proof %v, summariser %s", proof, c.SummarizerCallID)
	}
}
