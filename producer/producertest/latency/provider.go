package latency

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// Provider starts a provider that reads a request and streams a short answer. It ends with the
// test.
func Provider(t testing.TB) *httptest.Server {
	const stream = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_%d\",\"usage\":{\"input_tokens\":1}}}\n\n"
	var answers atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, stream, answers.Add(1))
		w.(http.Flusher).Flush()
		fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

// Reverse starts the reverse proxy of the standard library, which ends with the test. That proxy cuts
// an answer that begins before it has met the end of the request.
func Reverse(t testing.TB, provider string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(provider)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0)})
	t.Cleanup(server.Close)
	return server
}

// Request returns a request of the Messages API of about the size in bytes.
func Request(size int) []byte {
	return []byte(`{"model":"m",` + Messages("messages", size) + `}`)
}

// Messages returns a member that is a list of messages of about the size in bytes.
func Messages(member string, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q:[", member)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"role":"user","content":%q}`, fmt.Sprintf("message %d ", i)+strings.Repeat("some words of a text ", 80))
	}
	b.WriteString("]")
	return b.String()
}

// Post returns the way of a request to a base URL.
func Post(client *http.Client, base string, body []byte) func(begun func()) error {
	return func(begun func()) error {
		req, err := http.NewRequest(http.MethodPost, base+"/v1/messages", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("X-Claude-Code-Session-Id", "s1")
		response, err := client.Do(req)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
			return err
		}
		begun()
		if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		return err
	}
}
