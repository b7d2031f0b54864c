package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

func compress(t testing.TB, encoding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestClientsGoWrong posts what a wrong client posts. Each answer is a problem with a code,
// and the stream stays empty.
func TestClientsGoWrong(t *testing.T) {
	t.Parallel()
	r := newRig(t, bustest.Start(t), func(c *Config) { c.MaxBody, c.MaxEvents = 1<<20, 2000 })
	good := document(t, removed(t, "s", "e", 1)[0])
	ahead := removed(t, "s", "e", 1)[0]
	ahead.Time = time.Now().Add(24 * time.Hour)
	stranger := removed(t, "s", "e", 1)[0]
	stranger.Tenant = "nobody"
	attributes := removed(t, "s", "e", 1)[0]
	attributes.Extensions = map[string]string{}
	for i := range 70 {
		attributes.Extensions[fmt.Sprint("x", i)] = strings.Repeat("v", 1000)
	}
	bomb := bytes.Repeat([]byte(" "), 64<<20)
	type headers []string
	structured, batch := headers{"Content-Type", structuredType}, headers{"Content-Type", batchType}
	with := func(h headers, more ...string) headers { return append(append(headers{}, h...), more...) }
	for _, c := range []struct {
		name   string
		query  string
		body   []byte
		header headers
		status int
		code   string // of the problem
		first  string // "code pointer" of the first violation
	}{
		{"half an event", "", good[:len(good)/2], structured, 422, "refused", "not_json "},
		{"nothing", "", nil, structured, 422, "refused", "not_json "},
		{"an array as an event", "", []byte("[]"), structured, 422, "refused", "not_a_cloudevent "},
		{"an event as a batch", "", good, batch, 400, "not_json", ""},
		{"half a batch", "", append([]byte("["), good...), batch, 400, "not_json", ""},
		{"half an event in a batch", "", append(append([]byte("["), good...), ",{\"id\":"...), batch, 400, "not_json", ""},
		{"two batches", "", []byte("[][]"), batch, 400, "not_json", ""},
		{"a number in a batch", "", []byte("[1]"), batch, 422, "refused", "not_a_cloudevent "},
		{"an empty object in a batch", "", []byte("[{}]"), batch, 422, "refused", "not_a_cloudevent /specversion"},
		{"a key twice", "", []byte(`[{"id":"a","id":"b"}]`), batch, 422, "refused", "not_json /id"},
		{"bytes that are not UTF-8", "", []byte("[{\"specversion\":\"1.0\",\"id\":\"\xff\"}]"), batch, 422, "refused", "not_json /id"},
		{"many small events", "", []byte("[" + strings.Repeat("{},", 3000) + "{}]"), batch, 413, "too_many", ""},
		{"another type", "", []byte(strings.Replace(string(good), "item.removed.v1", "item.vanished.v1", 1)), structured, 422, "refused", "unknown_type /type"},
		{"a clock a day ahead", "", document(t, ahead), structured, 422, "refused", "range /time"},
		{"an unknown tenant", "", document(t, stranger), structured, 422, "refused", "tenant_mismatch /tenant"},
		{"attributes above the limit of JetStream", "", document(t, attributes), structured, 422, "refused", "too_large "},
		{"an event of 600 KiB", "", append(good[:len(good)-1:len(good)-1], strings.Repeat(" ", 600<<10)+"}"...), structured, 422, "refused", "too_large "},
		{"a body above the limit", "", bytes.Repeat([]byte(" "), 1<<20+1), structured, 413, "too_large", ""},
		{"a gzip bomb", "", compress(t, "gzip", bomb), with(structured, "Content-Encoding", "gzip"), 413, "too_large", ""},
		{"a zstd bomb", "", compress(t, "zstd", bomb), with(structured, "Content-Encoding", "zstd"), 413, "too_large", ""},
		{"a bomb in a bomb", "", compress(t, "gzip", compress(t, "gzip", bomb)), with(structured, "Content-Encoding", "gzip, gzip"), 415, "content_encoding", ""},
		{"a gzip body that is none", "", good, with(structured, "Content-Encoding", "gzip"), 400, "body", ""},
		{"a zstd body that is none", "", good, with(structured, "Content-Encoding", "zstd"), 400, "body", ""},
		{"half a gzip body", "", compress(t, "gzip", good)[:60], with(structured, "Content-Encoding", "gzip"), 400, "half_body", ""},
		{"half a zstd body", "", compress(t, "zstd", good)[:60], with(structured, "Content-Encoding", "zstd"), 400, "half_body", ""},
		{"a damaged gzip body", "", damaged(compress(t, "gzip", good)), with(structured, "Content-Encoding", "gzip"), 400, "body", ""},
		{"brotli", "", good, with(structured, "Content-Encoding", "br"), 415, "content_encoding", ""},
		{"no content type", "", good, nil, 415, "content_type", ""},
		{"JSON without attributes", "", good, headers{"Content-Type", "application/json"}, 415, "content_type", ""},
		{"Latin-1", "", good, headers{"Content-Type", structuredType + "; charset=ISO-8859-1"}, 415, "content_type", ""},
		{"protobuf", "", good, headers{"Content-Type", "application/cloudevents+protobuf"}, 415, "content_type", ""},
		{"a form", "", good, headers{"Content-Type", "application/x-www-form-urlencoded"}, 415, "content_type", ""},
		{"a form with attributes", "", good, headers{"Content-Type", "text/plain", "ce-specversion", "1.0"}, 415, "content_type", ""},
		{"XML as data", "", []byte("<a/>"), headers{"Content-Type", "application/xml", "ce-specversion", "1.0", "ce-id", "1", "ce-source", "urn:x", "ce-type", "dev.ctxledger.context.item.removed.v1"}, 422, "refused", "malformed /data"},
		{"a time that is none", "", []byte("{}"), headers{"Content-Type", "application/json", "ce-specversion", "1.0", "ce-id", "1", "ce-source", "urn:x", "ce-type", "t", "ce-time", "noon"}, 422, "refused", "attribute /time"},
		{"no id", "", []byte("{}"), headers{"Content-Type", "application/json", "ce-specversion", "1.0", "ce-source", "urn:x", "ce-type", "t"}, 422, "refused", "required /id"},
		{"CloudEvents 0.3", "", []byte("{}"), headers{"Content-Type", "application/json", "ce-specversion", "0.3", "ce-id", "1", "ce-source", "urn:x", "ce-type", "t"}, 422, "refused", "attribute /specversion"},
		{"a misspelt parameter", "?dryrun", good, structured, 400, "parameter", ""},
		{"a parameter that is no truth", "?all=maybe", good, structured, 400, "parameter", ""},
		{"a malformed query", "?%zz", good, structured, 400, "parameter", ""},
	} {
		a := r.post(t, c.query, c.body, c.header...)
		if a.status != c.status || a.Code != c.code {
			t.Errorf("%s: %d %s: %s", c.name, a.status, a.Code, a.Detail)
		}
		if c.first != "" {
			if len(a.Events) == 0 || len(a.Events[0].Violations) == 0 {
				t.Errorf("%s: no violation: %+v", c.name, a)
			} else if v := a.Events[0].Violations[0]; string(v.Code)+" "+v.Pointer != c.first || v.Fix == "" {
				t.Errorf("%s: %v", c.name, v)
			}
		}
	}
	for name, edit := range map[string]func(*http.Request){
		"GET 405":               func(q *http.Request) { q.Method, q.Body, q.ContentLength = http.MethodGet, nil, 0 },
		"PUT 405":               func(q *http.Request) { q.Method = http.MethodPut },
		"two content types 400": func(q *http.Request) { q.Header.Add("Content-Type", "text/plain") },
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.server.URL+Path, bytes.NewReader(good))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", structuredType)
		edit(request)
		if a := r.do(t, request); !strings.HasSuffix(name, fmt.Sprint(" ", a.status)) {
			t.Errorf("%s: %d %s", name, a.status, a.Code)
		}
	}
	if n := r.Messages(t); n != 0 {
		t.Errorf("the stream has %d messages", n)
	}
	if used := r.handler.memory.used.Load(); used != 0 {
		t.Errorf("%d bytes are still taken", used)
	}
}

func damaged(data []byte) []byte {
	data[len(data)-6] ^= 0xff // in the checksum
	return data
}

// TestBodiesOnTheWire: bodies that declare 100 MB, stop half-way, or never end.
func TestBodiesOnTheWire(t *testing.T) {
	t.Parallel()
	bus := bustest.Start(t)
	r := newRig(t, bus, func(c *Config) { c.BodyTimeout = 300 * time.Millisecond })
	head := "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + structuredType + "\r\n"
	for _, c := range []struct{ name, request, status, code string }{
		{"100 MB are declared", head + "Content-Length: 104857600\r\nExpect: 100-continue\r\n\r\n", "413", "too_large"},
		{"a body that stops", head + "Content-Length: 100\r\n\r\n{\"id\":", "408", "slow_body"},
		{"a chunk that stops", head + "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"id\":", "408", "slow_body"},
		{"chunks that are none", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}", "400", "body"},
	} {
		conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.request)
		wantProblem(t, conn, c.name, c.status, c.code)
	}
	for _, c := range []struct{ name, status, code string }{{"half a body", "400", "half_body"}, {"a byte now and then", "408", "slow_body"}} {
		conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, head+"Content-Length: 100000\r\n\r\n{\"id\":")
		if c.code == "half_body" {
			_ = conn.(*net.TCPConn).CloseWrite()
		} else {
			dripped := make(chan bool)
			go func() {
				defer close(dripped)
				for err := error(nil); err == nil; time.Sleep(20 * time.Millisecond) {
					_, err = io.WriteString(conn, " ")
				}
			}()
			defer func() { <-dripped }()
		}
		wantProblem(t, conn, c.name, c.status, c.code)
	}
	// A client that goes away in the middle of its body stores nothing.
	conn, err := net.Dial("tcp", r.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, head+"Content-Length: 100\r\n\r\n{\"id\":")
	conn.Close()
	// A client of 100 MB that sends them anyway gets its answer, and the server reads no more than it
	// takes from anyone: the rest of what the client sends fills the buffers of the connection. Its body
	// may take longer than those above on a busy machine.
	patient := newRig(t, bus, nil)
	var sent blanks
	sent.left.Store(100 << 20)
	big, err := http.NewRequestWithContext(t.Context(), http.MethodPost, patient.server.URL+Path, &sent)
	if err != nil {
		t.Fatal(err)
	}
	big.Header.Set("Content-Type", structuredType)
	if response, err := patient.server.Client().Do(big); err == nil { // the server may close the connection before the client has read
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("100 MB: %d", response.StatusCode)
		}
		response.Body.Close()
	}
	if left := sent.left.Load(); left < 64<<20 {
		t.Errorf("of 100 MB the server read all but %d bytes", left)
	}
	if n := r.Messages(t); n != 0 {
		t.Errorf("the stream has %d messages", n)
	}
}

// wantProblem reads the answer of a connection, and closes it.
func wantProblem(t *testing.T, conn net.Conn, name, status, code string) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer := make([]byte, 4096)
	n, _ := conn.Read(answer)
	if got := string(answer[:n]); !strings.HasPrefix(got, "HTTP/1.1 "+status) || !strings.Contains(got, `"code":"`+code+`"`) {
		t.Errorf("%s: %s", name, got)
	}
	conn.Close()
}

// TestAnswerIsNotRead: a client that does not read its answer loses the connection. The events of its
// request are judged, and a client that reads keeps its connection for as long as it wants.
func TestAnswerIsNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, bustest.Start(t), func(c *Config) { c.MaxBody, c.MaxEvents, c.BodyTimeout = 32<<20, 60_000, 500*time.Millisecond })
	ended := make(chan struct{}, 3)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.handler.ServeHTTP(w, q)
		ended <- struct{}{}
	}))
	server.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		// Else the system takes megabytes of the answer.
		if err := conn.(*net.TCPConn).SetWriteBuffer(1 << 16); err != nil {
			t.Error(err)
		}
		return ctx
	}
	server.Start()
	defer server.Close()
	body := "[" + strings.Repeat("{},", 50_000) + "{}]" // with an answer of some MB
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	post := func(body string) {
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", Path, batchType, len(body), body)
	}
	for range 2 { // the limit of the first answer is not that of the second
		post("[{}]")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusUnprocessableEntity {
			t.Fatalf("%v, %v", response, err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		<-ended
		time.Sleep(r.handler.config.BodyTimeout)
	}
	post(body)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the server still writes the answer")
	}
	if answer, err := io.ReadAll(conn); err == nil && bytes.HasSuffix(answer, []byte("}")) {
		t.Errorf("the answer of %d bytes is whole", len(answer))
	}
}

// blanks is a body of spaces that counts the bytes that nobody has read. Its client may still read it
// after the answer.
type blanks struct{ left atomic.Int64 }

func (b *blanks) Read(p []byte) (int, error) {
	n := min(len(p), int(b.left.Load()))
	if n == 0 {
		return 0, io.EOF
	}
	b.left.Add(-int64(n))
	for i := range p[:n] {
		p[i] = ' '
	}
	return n, nil
}

// TestBackpressure: the request above each limit gets 429 with Retry-After, and the requests
// before it are not disturbed.
func TestBackpressure(t *testing.T) {
	t.Parallel()
	bus := bustest.Start(t)
	for name, edit := range map[string]func(*Config){
		"requests": func(c *Config) { c.MaxRequests = 1 },
		"memory":   func(c *Config) { c.MaxBody = 100_000; c.MaxMemory = bodyCost*c.MaxBody + zstdWindow },
	} {
		r := newRig(t, bus, edit)
		slow, more := io.Pipe()
		first := make(chan answered, 1)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.server.URL+Path, slow)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", structuredType)
		request.Header.Set("Content-Encoding", "zstd")
		go func() { first <- r.do(t, request) }()
		body := compress(t, "zstd", document(t, removed(t, "s", name, 1)[0]))
		if _, err := more.Write(body[:10]); err != nil {
			t.Fatal(err)
		}
		for len(r.handler.slots) == 0 || r.handler.memory.used.Load() < zstdWindow {
			time.Sleep(time.Millisecond)
		}
		a := r.post(t, "", body, "Content-Type", structuredType, "Content-Encoding", "zstd")
		if a.status != http.StatusTooManyRequests || a.Code != "busy" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", name, a.status, a.Code)
		}
		if _, err := more.Write(body[10:]); err != nil {
			t.Fatal(err)
		}
		more.Close()
		if a := <-first; a.status != http.StatusOK {
			t.Errorf("%s: the first request: %d %s", name, a.status, a.Detail)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil {
		t.Error("an empty configuration is accepted")
	}
	c := DefaultConfig(nil)
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "JetStream") {
		t.Error(err)
	}
	if c.MaxMemory = c.MaxBody; c.Validate() == nil {
		t.Error("a memory of one body is accepted")
	}
}

// FuzzReadEvents: whatever a request holds, reading it ends, stays within the limits and gives
// each event a verdict. A compressed body is read as the plain one.
func FuzzReadEvents(f *testing.F) {
	good := []byte(`{"specversion":"1.0","id":"a","source":"urn:x","type":"dev.ctxledger.context.item.removed.v1","time":"2026-01-02T03:04:05Z","data":{"schema_version":"0.1.0","event_type":"context.item.removed","item_id":"i"}}`)
	f.Add(structuredType, "", good)
	f.Add(batchType, "", []byte("["+string(good)+",1,{}]"))
	f.Add(batchType, "gzip", compress(f, "gzip", []byte("["+string(good)+"]")))
	f.Add(structuredType, "zstd", compress(f, "zstd", good))
	f.Add("application/json", "", []byte(`{"item_id":"i"}`))
	const most = 1 << 16
	now := time.Unix(2e9, 0)
	f.Fuzz(func(t *testing.T, contentType, encoding string, body []byte) {
		shared := &memory{most: 1 << 25}
		room := &lease{memory: shared}
		data, err := decompressed(bytes.NewReader(body), []string{encoding}, room, most)
		if len(data) > most || err == nil && encoding == "" && len(data) != len(body) {
			t.Fatalf("%d bytes were read, with %v", len(data), err)
		}
		room.release()
		if shared.used.Load() != 0 {
			t.Fatal("memory is still taken")
		}
		if err != nil {
			return
		}
		header := http.Header{"Content-Type": {contentType}, "Ce-Id": {"a"}, "Ce-Specversion": {"1.0"}, "Ce-Source": {"urn:x"}, "Ce-Type": {"dev.ctxledger.context.item.removed.v1"}}
		events, p := readEvents(header, data, schema.DefaultTenant, now, 100)
		if p == nil && len(events) > 100 || p != nil && events != nil {
			t.Fatalf("%d events, %+v", len(events), p)
		}
		for _, j := range events {
			if len(j.violations) == 0 && (j.event == nil || j.message.Subject == "" || schema.SubjectTenant(j.message.Subject) != schema.DefaultTenant) {
				t.Fatalf("an event without violation has no message of the tenant: %+v", j.message)
			}
		}
		zipped, err := decompressed(bytes.NewReader(compress(t, "gzip", data)), []string{"gzip"}, room, most)
		if err != nil || !bytes.Equal(zipped, data) {
			t.Fatalf("gzip gives another body: %v", err)
		}
		room.release()
	})
}
