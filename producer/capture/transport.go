package capture

import (
	"io"
	"net/http"
	"sync"
)

// Transport is an [http.RoundTripper] that records the exchanges of a program with models. It
// changes neither requests nor responses. Safe for concurrent use.
//
//	client := &http.Client{Transport: &capture.Transport{Recorder: recorder}}
type Transport struct {
	// Recorder records the exchanges. Nil records nothing.
	Recorder *Recorder
	// Base sends the requests. Nil means [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip sends the request by the base transport.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	var tap *Tap
	if t.Recorder != nil {
		if c := t.Recorder.Conversation(req); c != nil {
			return c.roundTrip(base, req)
		}
		tap = t.Recorder.Tap(req)
	}
	if tap == nil {
		return base.RoundTrip(req)
	}
	if req.Body != nil && req.Body != http.NoBody {
		copied := *req
		copied.Body = &sentBody{ReadCloser: req.Body, tap: tap}
		if again := req.GetBody; again != nil {
			copied.GetBody = func() (io.ReadCloser, error) {
				body, err := again()
				if err != nil {
					return nil, err
				}
				tap.restart()
				return &sentBody{ReadCloser: body, tap: tap}, nil
			}
		}
		req = &copied
	}
	response, err := base.RoundTrip(req)
	if err != nil {
		tap.End()
		return response, err
	}
	tap.Answered(response.StatusCode, response.Header, response.Uncompressed)
	if body, ok := response.Body.(io.ReadWriteCloser); ok { // a protocol that took over the connection
		tap.End()
		response.Body = body
		return response, nil
	}
	response.Body = &receivedBody{ReadCloser: response.Body, tap: tap}
	return response, nil
}

// roundTrip opens a WebSocket. The body of the response is the connection.
func (c *Conversation) roundTrip(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	response, err := base.RoundTrip(req)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		return response, err
	}
	if body, ok := response.Body.(io.ReadWriteCloser); ok && c.Opened(response.Header) {
		response.Body = &talkingBody{body, c}
	}
	return response, nil
}

// talkingBody is a connection whose bytes are copied.
type talkingBody struct {
	io.ReadWriteCloser
	copies *Conversation
}

func (b *talkingBody) Read(p []byte) (int, error) {
	n, err := b.ReadWriteCloser.Read(p)
	b.copies.Received(p[:n])
	return n, err
}

func (b *talkingBody) Write(p []byte) (int, error) {
	b.copies.Sent(p)
	return b.ReadWriteCloser.Write(p)
}

func (b *talkingBody) Close() error {
	defer b.copies.End()
	return b.ReadWriteCloser.Close()
}

// restart forgets the body that was sent: the base transport sends it again.
func (t *Tap) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent.Reset()
}

type sentBody struct {
	io.ReadCloser
	tap *Tap
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tap.Sent(p[:n])
	return n, err
}

type receivedBody struct {
	io.ReadCloser
	tap *Tap
	end sync.Once
}

func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tap.Received(p[:n])
	if err != nil {
		b.end.Do(b.tap.End)
	}
	return n, err
}

func (b *receivedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end.Do(b.tap.End)
	return err
}
