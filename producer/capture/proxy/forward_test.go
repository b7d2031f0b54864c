package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// lateEnd sends requests as the transport does whose goroutine gets no processor between the last byte of
// a body and the body's end: it reads the end when the answer has begun.
type lateEnd struct {
	http.RoundTripper
	begun chan struct{}
}

func (l lateEnd) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body = &lateBody{r.Body, r.ContentLength, l.begun}
	return l.RoundTripper.RoundTrip(r)
}

type lateBody struct {
	io.ReadCloser
	left  int64
	begun chan struct{}
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		<-b.begun
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// between returns the address of a proxy between the client and a provider.
func between(t *testing.T, base http.RoundTripper, provider http.HandlerFunc) (address string) {
	t.Helper()
	model := httptest.NewServer(provider)
	t.Cleanup(model.Close)
	to, err := url.Parse(model.URL)
	if err != nil {
		t.Fatal(err)
	}
	u := &Upstream{URL: to, Base: base}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, r.RequestURI) }))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// answers posts a body. It calls more after the first part of the answer, and expects the second part.
func answers(t *testing.T, address string, body io.Reader, more func()) {
	t.Helper()
	response, err := http.Post(address, "text/plain", body)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 4)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "one " {
		t.Fatalf("the answer begins with %q, %v", first, err)
	}
	more()
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "two" {
		t.Errorf("the answer ends with %q, %v", rest, err)
	}
}

// TestAnswerBeforeTheEndOfTheRequest: an answer that begins before the proxy has met the end of the
// request's body is not cut.
func TestAnswerBeforeTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	begun, more := make(chan struct{}), make(chan struct{})
	address := between(t, lateEnd{NewTransport(), begun}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 5))
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, "two")
	})
	answers(t, address, strings.NewReader("hello"), func() {
		close(begun)
		time.AfterFunc(50*time.Millisecond, func() { close(more) }) // the transport meets the end first
	})
}

// TestAnswerWhileTheClientStillSends: a client sends the end of its request after the first part of
// the answer.
func TestAnswerWhileTheClientStillSends(t *testing.T) {
	t.Parallel()
	address := between(t, NewTransport(), func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.ReadFull(r.Body, make([]byte, 5))
		_, _ = io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(w, r.Body)
	})
	body, rest := io.Pipe()
	t.Cleanup(func() { rest.Close() })
	go func() { _, _ = io.WriteString(rest, "hello") }()
	answers(t, address, body, func() {
		go func() {
			_, _ = io.WriteString(rest, "two")
			rest.Close()
		}()
	})
}
