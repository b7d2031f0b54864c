package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/ctxledger/ctxledger/producer/capture"
)

// Upstream forwards requests to one provider. Safe for concurrent use.
type Upstream struct {
	// URL is the provider's address. A path of URL goes before the path of a request.
	URL *url.URL
	// Recorder records the exchanges. Nil records nothing.
	Recorder *capture.Recorder
	// Base sends the requests. It must neither add encodings nor follow redirects: see
	// [NewTransport].
	Base http.RoundTripper
	// KeepHost keeps the host that the client names. Otherwise the host is that of URL.
	KeepHost bool
	// Tunnelled counts connections that changed their protocol. Nil counts nothing.
	Tunnelled *atomic.Int64
}

// NewTransport returns a transport that changes no request. It uses the proxy of the environment.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // it would ask for an encoding, and undo it
	t.MaxIdleConnsPerHost = 64
	t.ResponseHeaderTimeout = 0
	return t
}

// hopByHop are the headers of one connection alone.
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// endToEnd returns a copy of the headers without those of the connection.
func endToEnd(h http.Header) http.Header {
	out := h.Clone()
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			out.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		out.Del(name)
	}
	return out
}

// serve forwards a request. target is its raw path and query.
func (u *Upstream) serve(w http.ResponseWriter, in *http.Request, target string) {
	out, body, tap := u.request(in, target)
	if switches(in.Header) {
		u.upgrade(w, in, out)
		return
	}
	if tap != nil {
		defer tap.End()
	}
	// The server would otherwise read and close the request's body when the answer begins. Base, which
	// may not have met its end, would take that for a failed request and cut the answer.
	_ = http.NewResponseController(w).EnableFullDuplex() // fails where no server has to be told
	response, err := u.send(out, body)
	if err != nil {
		if in.Context().Err() != nil {
			panic(http.ErrAbortHandler)
		}
		if tap != nil {
			body.rest()
		}
		http.Error(w, "ctxledger: the provider could not be reached: "+reason(err), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	if tap != nil {
		tap.Answered(response.StatusCode, response.Header, response.Uncompressed)
	}
	begin(w, response)
	if err := pass(w, response.Body, tap); err != nil {
		panic(http.ErrAbortHandler) // the client sees that the response broke off
	}
}

// begin sends the head of a response.
func begin(w http.ResponseWriter, response *http.Response) {
	header := w.Header()
	for name, values := range endToEnd(response.Header) {
		header[name] = values
	}
	for _, name := range [...]string{"Date", "Content-Type"} { // the server would add them
		if _, has := header[name]; !has {
			header[name] = nil
		}
	}
	w.WriteHeader(response.StatusCode)
}

// reason describes a failure without the address, which may hold a credential.
func reason(err error) string {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	return "no response"
}

// request returns the request for the provider, its body, and its tap. The tap is nil for requests
// without a window.
func (u *Upstream) request(in *http.Request, target string) (*http.Request, *sending, *capture.Tap) {
	out := in.Clone(in.Context())
	out.RequestURI, out.Close = "", false
	out.URL = u.address(target)
	if !u.KeepHost {
		out.Host = u.URL.Host
	}
	out.Header = endToEnd(in.Header)
	if _, has := out.Header["User-Agent"]; !has {
		out.Header["User-Agent"] = []string{""} // the transport would add its own
	}
	body := &sending{kept: new(unrecorded)}
	if in.ContentLength == 0 {
		out.Body = nil
	} else {
		body.from = in.Body
	}
	if u.Recorder == nil {
		return out, body, nil
	}
	tap := u.Recorder.Tap(in)
	if tap != nil {
		body.kept = tap
	}
	return out, body, tap
}

// address returns the URL whose request line has exactly the target.
func (u *Upstream) address(target string) *url.URL {
	address := &url.URL{Scheme: u.URL.Scheme, Host: u.URL.Host}
	path, query, has := strings.Cut(strings.TrimSuffix(u.URL.EscapedPath(), "/")+target, "?")
	address.RawQuery, address.ForceQuery = query, has && query == ""
	if strings.HasPrefix(path, "//") {
		address.Path, _ = url.PathUnescape(path)
		address.RawPath = path
	} else {
		address.Opaque = path
	}
	return address
}

// pass copies a response and flushes each piece.
func pass(w http.ResponseWriter, from io.Reader, tap *capture.Tap) error {
	flush := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := flush.Flush(); err != nil {
				return err
			}
			if tap != nil {
				tap.Received(buffer[:n])
			}
		}
		switch {
		case err == io.EOF:
			return flush.Flush()
		case err != nil:
			return err
		}
	}
}

// switches reports whether a request asks for another protocol that is passed on. An offer of HTTP/2 in plain text
// is not: Java's client makes it with each request, and a server may answer as usual.
func switches(h http.Header) bool {
	protocol := h.Get("Upgrade")
	return protocol != "" && !strings.EqualFold(protocol, "h2c")
}

// upgrade connects the client with the provider after both agreed on another protocol.
func (u *Upstream) upgrade(w http.ResponseWriter, in, out *http.Request) {
	out.Header["Connection"], out.Header["Upgrade"] = []string{"Upgrade"}, in.Header["Upgrade"]
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	response, err := u.Base.RoundTrip(out.WithContext(ctx))
	if err != nil {
		http.Error(w, "ctxledger: the provider could not be reached: "+reason(err), http.StatusBadGateway)
		return
	}
	defer response.Body.Close()
	remote, switched := response.Body.(io.ReadWriteCloser)
	if response.StatusCode != http.StatusSwitchingProtocols || !switched {
		begin(w, response)
		if pass(w, response.Body, nil) != nil {
			panic(http.ErrAbortHandler) // else a chunked answer would end as if it were whole
		}
		return
	}
	copies := u.conversation(in, response.Header)
	if copies != nil {
		defer copies.End()
	}
	local, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer local.Close()
	response.Body = nil
	if response.Write(local) != nil {
		return
	}
	join(&upgraded{buffered, local, copies}, remote)
}

// conversation returns the copy of a connection, and counts one that passes unread.
func (u *Upstream) conversation(in *http.Request, answer http.Header) *capture.Conversation {
	if u.Recorder != nil {
		if c := u.Recorder.Conversation(in); c != nil && c.Opened(answer) {
			return c
		}
	}
	if u.Tunnelled != nil {
		u.Tunnelled.Add(1)
	}
	return nil
}

// upgraded is the client's side of a connection that changed its protocol.
type upgraded struct {
	from   io.Reader
	to     net.Conn
	copies *capture.Conversation // nil for a connection that passes unread
}

// Read reads what the client sends to the provider.
func (c *upgraded) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if c.copies != nil {
		c.copies.Sent(p[:n])
	}
	return n, err
}

// Write sends what comes from the provider.
func (c *upgraded) Write(p []byte) (int, error) {
	if c.copies != nil {
		c.copies.Received(p)
	}
	return c.to.Write(p)
}

// Close ends the connection.
func (c *upgraded) Close() error { return c.to.Close() }

// join copies in both directions until one side ends.
func join(a, b io.ReadWriteCloser) {
	done := make(chan struct{}, 2)
	move := func(to io.WriteCloser, from io.Reader) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		} else {
			_ = to.Close()
		}
		done <- struct{}{}
	}
	go move(a, b)
	go move(b, a)
	<-done
	<-done
	_ = a.Close()
	_ = b.Close()
}
