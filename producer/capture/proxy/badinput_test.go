package proxy

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/schema"
)

// summing is a provider that answers a request with the SHA-256 of its body.
func summing(t *testing.T) string {
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		sum := sha256.New()
		_, _ = io.Copy(sum, in.Body)
		_, _ = io.WriteString(w, hex.EncodeToString(sum.Sum(nil)))
	}))
	t.Cleanup(provider.Close)
	return provider.URL
}

func packed(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Bytes()
}

// TestBadInput: a request that cannot be recorded passes as it is and is counted; one that can be
// recorded in part is recorded.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const whole = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	zeros := make([]byte, capture.MaxBodyBytes+1)
	for name, test := range map[string]struct {
		path, encoding string
		body           []byte
		want           capture.Counts
	}{
		"no JSON":                    {"/v1/messages", "", []byte("hello"), capture.Counts{Unread: 1}},
		"nothing":                    {"/v1/messages", "", nil, capture.Counts{Unread: 1}},
		"half a request":             {"/v1/messages", "", []byte(whole[:30]), capture.Counts{Unread: 1}},
		"no request of the dialect":  {"/v1/messages", "", []byte(`{"prompt":"hello"}`), capture.Counts{Unread: 1}},
		"unknown members":            {"/v1/messages", "", []byte(`{"model":"m","novel":[1],"messages":[{"role":"user","content":[{"type":"novel"}]}]}`), capture.Counts{Exchanges: 1}},
		"an encoding that is a lie":  {"/v1/messages", "gzip", []byte(whole), capture.Counts{Unread: 1}},
		"an unknown encoding":        {"/v1/messages", "novel", []byte(whole), capture.Counts{Unread: 1}},
		"a body over the limit":      {"/v1/messages", "", zeros, capture.Counts{Unread: 1}},
		"a body that grows over it":  {"/v1/messages", "gzip", packed(zeros), capture.Counts{Unread: 1}},
		"an answer that is no JSON":  {"/v1/messages", "", []byte(whole), capture.Counts{Exchanges: 1}},
		"an unknown path":            {"/v1/novel", "", []byte(whole), capture.Counts{}},
		"an unknown path, no method": {"/v1/messages/msg_1/novel", "", []byte("hello"), capture.Counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			req, _ := http.NewRequest(http.MethodPost, gateway(t, summing(t), r.Recorder)+"/model"+test.path, bytes.NewReader(test.body))
			if test.encoding != "" {
				req.Header.Set("Content-Encoding", test.encoding)
			}
			response, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			got, _ := io.ReadAll(response.Body)
			if sum := sha256.Sum256(test.body); string(got) != hex.EncodeToString(sum[:]) {
				t.Errorf("status %d: the provider received another body", response.StatusCode)
			}
			counted(t, r, test.want)
		})
	}
}

// counted compares the counts of a recorder, without that of the facts.
func counted(t *testing.T, r rig, want capture.Counts) {
	t.Helper()
	var got capture.Counts
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() { // the client may have its answer first
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got = r.Counts(); got.Exchanges+got.Unread >= want.Exchanges+want.Unread || time.Now().After(deadline) {
			break
		}
	}
	if got.Facts = 0; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if calls := len(r.facts.Events().Of(schema.TypeUsageRecorded)); calls != int(want.Exchanges) {
		t.Errorf("%d calls, want %d", calls, want.Exchanges)
	}
}

// TestAwayUpstream: a provider that is not there gives the client a bad gateway, and the call is
// recorded as an attempt with its window.
func TestAwayUpstream(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	listener.Close()
	r := newRig(t)
	response, err := http.Post(gateway(t, address, r.Recorder)+"/model/v1/messages", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusBadGateway || !strings.Contains(string(text), "could not be reached") {
		t.Errorf("status %d: %s", response.StatusCode, text)
	}
	counted(t, r, capture.Counts{Exchanges: 1})
	for _, e := range r.facts.Events().Of(schema.TypeUsageRecorded) {
		if u := e.Fact.(*schema.UsageRecorded); u.Metadata["attempt"] != true || u.AssemblyID == "" || !empty(u.Usage) {
			t.Errorf("the call is %v with %+v", u.Metadata, u.Usage)
		}
	}
}

// TestClientThatLeaves: a client that leaves in the middle of its request ends that of the provider,
// and the request is counted.
func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	left := make(chan error, 1)
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, in *http.Request) {
		_, err := io.Copy(io.Discard, in.Body)
		left <- err
	}))
	defer provider.Close()
	r := newRig(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(gateway(t, provider.URL, r.Recorder), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST /model/v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{\"model\":\"m\",")
	conn.Close()
	if <-left == nil {
		t.Error("the provider takes the request for a whole one")
	}
	counted(t, r, capture.Counts{Unread: 1})
}

// TestPinnedCertificate: a client that trusts only its provider's own certificate fails once. Its
// later connections pass unread, and the host is named.
func TestPinnedCertificate(t *testing.T) {
	t.Parallel()
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	provider.Config.ErrorLog = discard
	provider.StartTLS()
	defer provider.Close()
	pool := x509.NewCertPool()
	pool.AddCert(provider.Certificate())
	r := newRig(t)
	f, proxy, _ := forwarding(t, "example.com", provider.URL, true, r.Recorder)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), TLSClientConfig: &tls.Config{RootCAs: pool}}}
	ask := func() (string, error) {
		response, err := client.Post("https://example.com/v1/messages", "application/json", strings.NewReader("{}"))
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	if text, err := ask(); err == nil {
		t.Errorf("the client trusts another certificate and gets %q", text)
	}
	for len(f.Pinned()) == 0 && t.Context().Err() == nil {
		runtime.Gosched() // the proxy reads the client's refusal
	}
	for range 2 {
		if text, err := ask(); err != nil || text != "hello" {
			t.Errorf("the client gets %q, %v", text, err)
		}
	}
	counted(t, r, capture.Counts{})
	if got := f.Pinned(); !slices.Equal(got, []string{"example.com"}) || f.Tunnelled() == 0 {
		t.Errorf("the hosts are %v, %d connections passed unread", got, f.Tunnelled())
	}
}
