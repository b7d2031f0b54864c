package capture

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// MaxBodyBytes is the largest body that is read, as it is sent and after its encoding is undone.
// A larger body passes and is not recorded.
const MaxBodyBytes = 64 << 20

// Tap copies one exchange. Request and Response are for one goroutine each; the two may differ.
type Tap struct {
	r        *Recorder
	exchange dialect.Exchange
	head     head
	at       time.Time
	partial  []string // reasons why not all of the exchange was copied
	reported bool     // telemetry told of the exchange; there are no copies
	done     func(error)
	waits    error // reason why the facts are neither in the stream nor in the outbox

	mu       sync.Mutex // guards the fields below
	sent     copied
	received copied
	ended    bool
}

// copied is the copy of a body.
type copied struct {
	bytes.Buffer
	encoding string
	kind     string // content type
	tooLarge bool
}

// bodies are buffers of earlier exchanges. A buffer that is used again is no work for the
// collector, which would delay the bytes that pass.
var bodies sync.Pool

// Sizes of pooled buffers.
const leastPooled, mostPooled = 32 << 10, 4 << 20

// reserve takes a buffer for n bytes.
func (c *copied) reserve(n int) {
	if old, ok := bodies.Get().(*[]byte); ok && cap(*old) >= n {
		c.Buffer = *bytes.NewBuffer((*old)[:0])
		return
	}
	c.Grow(n)
}

// release gives the buffer back. Nothing may refer to the body any more.
func (c *copied) release() {
	if n := c.Cap(); n >= leastPooled && n <= mostPooled {
		c.Reset()
		old := c.AvailableBuffer()
		bodies.Put(&old)
	}
	c.Buffer = bytes.Buffer{}
}

func (c *copied) keep(p []byte) {
	if c.Len()+len(p) > MaxBodyBytes {
		c.tooLarge = true
		c.Buffer = bytes.Buffer{}
	}
	if !c.tooLarge {
		c.Write(p)
	}
}

// head is what is read of the headers.
type head struct {
	session   string
	requestID string
	agent     string

	credentials []string // withheld from the facts
}

// sessionHeaders name the session of a conversation, by the rules of their clients.
var sessionHeaders = []string{"X-Claude-Code-Session-Id", "Session_id", "Session-Id", "Conversation_id", "Conversation-Id"}

// Tap returns the tap of a request, or nil if the request has no window. The tap reads no body.
func (r *Recorder) Tap(req *http.Request) *Tap {
	of, does, ok := dialect.Match(req.Method, req.URL.Path)
	if !ok {
		return nil
	}
	t := &Tap{r: r, at: time.Now().UTC(), head: r.readHead(req)}
	t.exchange.Dialect, t.exchange.Operation = of, does
	t.sent.encoding = req.Header.Get("Content-Encoding")
	if n := req.ContentLength; n > 0 && n <= MaxBodyBytes {
		t.sent.reserve(int(n))
	}
	return t
}

// readHead reads what is known from the headers of a request, and keeps its credentials as
// values to withhold.
func (r *Recorder) readHead(req *http.Request) head {
	h := head{agent: agentOf(req.Header.Get("User-Agent")), credentials: credentialsOf(req)}
	r.credentials.use(h.credentials)
	for _, name := range sessionHeaders {
		if values := header(req.Header, name); values != "" && h.session == "" {
			h.session = values
		}
	}
	return h
}

// header returns a header by its name in any case.
func header(h http.Header, name string) string {
	if value := h.Get(name); value != "" {
		return value
	}
	for key, values := range h {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// agents are the user agents of known clients, with the names that imports use.
var agents = [...][2]string{{"claude-cli", "claude-code"}, {"claude-code", "claude-code"}, {"codex", "codex"}}

// agentOf returns the name of a client: the product of its user agent.
func agentOf(userAgent string) string {
	product, _, _ := strings.Cut(userAgent, "/")
	product = strings.ToLower(strings.TrimSpace(product))
	for _, a := range agents {
		if strings.HasPrefix(product, a[0]) {
			return a[1]
		}
	}
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, product)
	if name = strings.Trim(name, "-"); name == "" || len(name) > 40 {
		return "agent"
	}
	return name
}

// Sent copies bytes of the request's body.
func (t *Tap) Sent(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended { // a provider may answer before it has read the request
		t.sent.keep(p)
	}
}

// Resend copies bytes of the request's body to p, from the given position on, for a body that is
// sent again. Resend returns 0 if the bytes are not kept.
func (t *Tap) Resend(p []byte, from int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || from >= t.sent.Len() {
		return 0
	}
	return copy(p, t.sent.Bytes()[from:])
}

// Answered notes the head of the response. uncompressed says that the body comes without the
// encoding that the header names.
func (t *Tap) Answered(status int, h http.Header, uncompressed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exchange.Answer.Status = status
	t.received.kind = h.Get("Content-Type")
	if !uncompressed {
		t.received.encoding = h.Get("Content-Encoding")
	}
	for _, name := range [...]string{"Request-Id", "X-Request-Id"} {
		if t.head.requestID == "" {
			t.head.requestID = clean(h.Get(name))
		}
	}
}

// clean returns an id from outside, or "" for one that is too long or not printable.
func clean(id string) string {
	if len(id) > 128 || strings.ContainsFunc(id, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' }) || strings.HasPrefix(id, "{") {
		return ""
	}
	return id
}

// Received copies bytes of the response's body.
func (t *Tap) Received(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.received.keep(p)
	}
}

// End gives the exchange to the recorder, also one that broke off. Later calls do nothing.
func (t *Tap) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	t.r.take(t)
}

// size returns the bytes that the tap holds.
func (t *Tap) size() int64 {
	n := t.sent.Cap() + t.received.Cap()
	if t.reported {
		for _, list := range [...][]dialect.Block{t.exchange.Request.Blocks, t.exchange.Answer.Blocks} {
			for i := range list {
				n += len(list[i].Raw)
			}
		}
	}
	return int64(n)
}

// plain returns the body without its content encoding.
func (c *copied) plain() ([]byte, error) {
	body := c.Bytes()
	for encodings := strings.Split(c.encoding, ","); len(encodings) > 0; encodings = encodings[:len(encodings)-1] {
		var from io.Reader
		var err error
		switch strings.ToLower(strings.TrimSpace(encodings[len(encodings)-1])) {
		case "", "identity":
			continue
		case "gzip", "x-gzip":
			from, err = gzip.NewReader(bytes.NewReader(body))
		case "br":
			from = brotli.NewReader(bytes.NewReader(body))
		case "zstd":
			var dec *zstd.Decoder
			if dec, err = zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1)); err == nil {
				defer dec.Close()
				from = dec
			}
		default:
			return nil, errEncoding
		}
		if err != nil {
			return nil, errEncoding
		}
		out, err := io.ReadAll(io.LimitReader(from, MaxBodyBytes+1))
		if len(out) > MaxBodyBytes {
			return nil, errTooLarge
		}
		if err != nil && len(out) == 0 {
			return nil, errEncoding
		}
		body = out // a stream that was cut gives what arrived
	}
	return body, nil
}
