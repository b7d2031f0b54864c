package proxy

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
)

// A provider may close a kept connection while a request is sent on it. The provider has then not
// read the request, and a client without a proxy would open another connection. The transport
// repeats such a request only if it has no body, so the proxy repeats the others.
//
// A request is repeated once, within repeatWithin of its last byte, and only if no byte of an
// answer came. A provider that worked for longer may have done the work already.
const repeatWithin = time.Second

// maxUnrecorded is the size of the largest body that is repeated though it is not recorded. A
// recorded body is repeated from the copy of the recorder.
const maxUnrecorded = 1 << 20

// errNotRepeated means that a body cannot be sent again.
var errNotRepeated = errors.New("the body cannot be sent again")

// kept is the copy of a body, from which it is sent again.
type kept interface {
	Sent(p []byte)                 // adds bytes
	Resend(p []byte, from int) int // copies bytes; 0 if they are gone
}

// unrecorded is the copy of a body that nobody records.
type unrecorded struct {
	bytes []byte
	gone  bool // the body is too large
}

func (u *unrecorded) Sent(p []byte) {
	if u.gone = u.gone || len(u.bytes)+len(p) > maxUnrecorded; u.gone {
		u.bytes = nil
		return
	}
	u.bytes = append(u.bytes, p...)
}

func (u *unrecorded) Resend(p []byte, from int) int {
	if from >= len(u.bytes) {
		return 0
	}
	return copy(p, u.bytes[from:])
}

// sending is the body of a request on its way to the provider, and what is known of its
// connection. Safe for concurrent use. An answer never waits for bytes of the client, so the body
// and the connection have a lock each; reading is taken first.
type sending struct {
	reading sync.Mutex // guards the body, also while it waits for bytes of the client
	from    io.Reader  // the client's body, nil without one
	kept    kept
	read    int   // bytes of from so far
	end     error // why from ended

	mu       sync.Mutex // guards what is known of the connection
	repeated bool
	reused   bool      // the connection had served another request and was idle since
	wrote    time.Time // when the last byte was written, zero before
	answered bool      // a byte of the answer came
}

// body returns the body from its start. The transport closes it without an effect: the server
// closes the client's body.
func (s *sending) body() io.ReadCloser {
	if s.from == nil {
		return nil
	}
	return io.NopCloser(&sendingReader{s: s})
}

// sendingReader reads the body from its own position. Several readers may be at work: the
// transport can close a reader while it reads.
type sendingReader struct {
	s  *sending
	at int
}

func (r *sendingReader) Read(p []byte) (int, error) {
	s := r.s
	s.reading.Lock()
	defer s.reading.Unlock()
	if r.at < s.read {
		n := s.kept.Resend(p, r.at)
		r.at += n
		if n == 0 && len(p) > 0 {
			return 0, errNotRepeated
		}
		return n, nil
	}
	if s.end != nil {
		return 0, s.end
	}
	n, err := s.from.Read(p)
	s.kept.Sent(p[:n])
	s.end, s.read, r.at = err, s.read+n, r.at+n
	return n, err
}

// trace notes what becomes of the request.
func (s *sending) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reused, s.wrote = c.Reused && c.WasIdle, time.Time{}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			now := time.Now()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wrote = now
		},
		GotFirstResponseByte: func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.answered = true
		},
	}
}

// again returns the body for its only repetition. now is when the connection failed.
func (s *sending) again(now time.Time) (io.ReadCloser, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	late := !s.wrote.IsZero() && now.Sub(s.wrote) > repeatWithin
	gone := s.read > 0 && s.kept.Resend(make([]byte, 1), 0) == 0
	if s.repeated || s.answered || late || gone || s.end != nil && s.end != io.EOF {
		return nil, errNotRepeated
	}
	s.repeated = true
	return s.body(), nil
}

// rest reads what the provider did not take, so that the copy is whole.
func (s *sending) rest() {
	if s.from != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(&sendingReader{s: s, at: s.taken()}, capture.MaxBodyBytes))
	}
}

func (s *sending) taken() int {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.read
}

// wasIdle reports whether the connection that failed had been idle before the request.
func (s *sending) wasIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reused
}

// streamError is the error of a single stream of HTTP/2, whose connection goes on.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "the provider ended the stream" }

// send sends a request to the provider, and sends it again if the provider had closed the kept
// connection.
func (u *Upstream) send(out *http.Request, s *sending) (*http.Response, error) {
	out = out.WithContext(httptrace.WithClientTrace(out.Context(), s.trace()))
	if out.Body = s.body(); out.Body != nil {
		// For requests that the transport knows to be unread, and those that the client calls idempotent.
		out.GetBody = func() (io.ReadCloser, error) { return s.again(time.Now()) }
	}
	response, err := u.Base.RoundTrip(out)
	if err == nil || out.Context().Err() != nil || !s.wasIdle() || errors.As(err, new(streamError)) {
		return response, err
	}
	body, refused := s.again(time.Now())
	if refused != nil {
		return nil, err
	}
	if base, ok := u.Base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections() // the provider may have closed them, too
	}
	out = out.Clone(out.Context())
	out.Body, out.GetBody = body, nil
	return u.Base.RoundTrip(out)
}
