package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/producertest/latency"
)

// closing is a provider that answers the first request of its first connection. What the second
// request meets there, and what the other connections meet, is up to a test.
type closing struct {
	second, others func(conn net.Conn, from *bufio.Reader)
	bodies         chan string // of the requests that were read
}

// answer reads a request and answers it.
func (c *closing) answer(conn net.Conn, from *bufio.Reader) {
	in, err := http.ReadRequest(from)
	if err != nil {
		return
	}
	body, _ := io.ReadAll(in.Body)
	c.bodies <- string(body)
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"id\":\"m_1\"}")
}

// leave closes a connection as soon as a request begins.
func leave(_ net.Conn, from *bufio.Reader) { _, _ = from.Peek(1) }

func (c *closing) start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	c.bodies = make(chan string, 8)
	go func() {
		for first := true; ; first = false {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				from := bufio.NewReader(conn)
				if first {
					c.answer(conn, from)
					c.second(conn, from)
				} else {
					c.others(conn, from)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// TestClosedConnection: a provider closes a kept connection just as a request with a body is sent.
// The client gets the answer of another connection, unless the request may have been worked on.
func TestClosedConnection(t *testing.T) {
	t.Parallel()
	begun := func(conn net.Conn, from *bufio.Reader) {
		if in, err := http.ReadRequest(from); err == nil {
			_, _ = io.Copy(io.Discard, in.Body)
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 20")
	}
	middle := func(_ net.Conn, from *bufio.Reader) { _, _ = io.CopyN(io.Discard, from, 2<<20) }
	for name, test := range map[string]struct {
		path   string
		size   int
		header string // that the client sends
		second func(net.Conn, *bufio.Reader)
		others func(net.Conn, *bufio.Reader) // nil: the provider answers
		status int
	}{
		"a call":                     {"/v1/messages", 300 << 10, "", leave, nil, http.StatusOK},
		"an idempotent call":         {"/v1/messages", 300 << 10, "Idempotency-Key", leave, nil, http.StatusOK},
		"another request":            {"/v1/files", 300 << 10, "", leave, nil, http.StatusOK},
		"too much is sent":           {"/v1/files", 3 << 20, "", middle, nil, http.StatusBadGateway},
		"a large call in its middle": {"/v1/messages", 3 << 20, "", middle, nil, http.StatusOK},
		"an answer that has begun":   {"/v1/messages", 300 << 10, "", begun, nil, http.StatusBadGateway},
		"closed again":               {"/v1/messages", 300 << 10, "", leave, leave, http.StatusBadGateway},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := closing{second: test.second, others: test.others}
			if c.others == nil {
				c.others = c.answer
			}
			r := newRig(t)
			through := gateway(t, c.start(t), r.Recorder) + "/model" + test.path
			post := func(body []byte) int {
				req, _ := http.NewRequest(http.MethodPost, through, bytes.NewReader(body))
				if test.header != "" {
					req.Header.Set(test.header, "x")
				}
				response, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer response.Body.Close()
				_, _ = io.Copy(io.Discard, response.Body)
				return response.StatusCode
			}
			if status := post(latency.Request(100)); status != http.StatusOK {
				t.Fatalf("the first request gets %d", status)
			}
			<-c.bodies
			body := latency.Request(test.size)
			if status := post(body); status != test.status {
				t.Fatalf("status %d, want %d", status, test.status)
			}
			received := ""
			if len(c.bodies) > 0 {
				received = <-c.bodies
			}
			if ok := test.status == http.StatusOK; ok != (received == string(body)) {
				t.Errorf("the provider received %d bytes of %d", len(received), len(body))
			}
			want := capture.Counts{}
			if strings.HasSuffix(test.path, "messages") {
				want.Exchanges = 2
			}
			counted(t, r, want)
		})
	}
}

// TestEndedStream: a stream of HTTP/2 that the provider ends is not repeated, since the provider
// has read the request.
func TestEndedStream(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	provider := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, _ = io.Copy(io.Discard, in.Body)
		if requests.Add(1) > 1 {
			panic(http.ErrAbortHandler)
		}
	}))
	provider.EnableHTTP2 = true
	provider.StartTLS()
	defer provider.Close()
	address, err := url.Parse(provider.URL)
	if err != nil {
		t.Fatal(err)
	}
	u := &Upstream{URL: address, Base: provider.Client().Transport}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { u.serve(w, r, r.RequestURI) }))
	defer proxy.Close()
	for _, want := range []int{http.StatusOK, http.StatusBadGateway} {
		response, err := http.Post(proxy.URL, "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("status %d, want %d", response.StatusCode, want)
		}
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("the provider received %d requests", n)
	}
}

// TestAgain: a request is repeated once, soon after its last byte, and never after an answer began.
func TestAgain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, test := range map[string]struct {
		change func(s *sending)
		want   bool
	}{
		"sent now":           {func(s *sending) { s.wrote = now.Add(-repeatWithin / 2) }, true},
		"not sent whole":     {func(*sending) {}, true},
		"sent long ago":      {func(s *sending) { s.wrote = now.Add(-2 * repeatWithin) }, false},
		"answered":           {func(s *sending) { s.answered = true }, false},
		"sent twice":         {func(s *sending) { s.repeated = true }, false},
		"a client that left": {func(s *sending) { s.end = errors.New("reset") }, false},
		"bytes are gone":     {func(s *sending) { s.kept = &unrecorded{gone: true} }, false},
	} {
		s := &sending{from: strings.NewReader("hello"), kept: new(unrecorded)}
		first := s.body()
		half := make([]byte, 3)
		if _, err := io.ReadFull(first, half); err != nil {
			t.Fatal(err)
		}
		test.change(s)
		body, err := s.again(now)
		if (err == nil) != test.want {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		_, _ = io.ReadFull(first, half[:1]) // the transport has not closed the first body yet
		if text, err := io.ReadAll(body); err != nil || string(text) != "hello" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if fmt.Sprint(s.again(now)) != fmt.Sprint(nil, errNotRepeated) {
			t.Errorf("%s: the body is sent a third time", name)
		}
	}
	var _ kept = (*capture.Tap)(nil)
}
