package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture"
)

// ProviderHosts are the hosts for which a [Forward] ends TLS without any setting.
var ProviderHosts = []string{"api.anthropic.com", "api.openai.com", "chatgpt.com", "openrouter.ai", "api.deepseek.com", "api.mistral.ai", "api.x.ai"}

// Forward is an HTTPS proxy for one child process. Requests to providers are forwarded and
// recorded, connections to other hosts are tunnelled unread. So are connections to a provider after
// the client has refused a certificate of the authority. Make it with [NewForward].
type Forward struct {
	authority *Authority
	hosts     map[string]*Upstream
	sealed    bool // other hosts are refused
	server    *http.Server
	conns     *handed
	tunnelled atomic.Int64
	pinned    pinned
}

// NewForward returns a proxy that ends TLS for the hosts. An address of a host is where its
// requests go; "" is the host itself. A sealed proxy refuses all other hosts.
func NewForward(authority *Authority, hosts map[string]string, sealed bool, recorder *capture.Recorder) (*Forward, error) {
	f := &Forward{authority: authority, hosts: make(map[string]*Upstream), sealed: sealed, conns: newHanded()}
	base := NewTransport()
	for host, address := range hosts {
		if address == "" {
			address = "https://" + host
		}
		target, err := ParseUpstream(address)
		if err != nil {
			return nil, err
		}
		f.hosts[strings.ToLower(host)] = &Upstream{URL: target, Recorder: recorder, Base: base, KeepHost: true, Tunnelled: &f.tunnelled}
	}
	f.server = &http.Server{Handler: http.HandlerFunc(f.inside), ReadHeaderTimeout: time.Minute, ErrorLog: discard}
	go f.server.Serve(f.conns)
	return f, nil
}

// Close ends the connections whose TLS the proxy ended.
func (f *Forward) Close() error { return f.server.Close() }

// Tunnelled returns the number of provider connections that passed unread.
func (f *Forward) Tunnelled() int64 { return f.tunnelled.Load() }

// ServeHTTP accepts the requests of a client to its proxy.
func (f *Forward) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	switch {
	case in.Method == http.MethodConnect:
		f.connect(w, in)
	case in.URL.Host != "" && in.URL.Scheme == "http" && !f.sealed:
		u := &Upstream{URL: &url.URL{Scheme: "http", Host: in.URL.Host}, Base: f.plain()}
		u.serve(w, in, in.URL.RequestURI())
	default:
		http.Error(w, "ctxledger: this is a proxy for one process and serves no pages", http.StatusForbidden)
	}
}

// plain is the transport of requests without TLS.
func (f *Forward) plain() http.RoundTripper {
	for _, u := range f.hosts {
		return u.Base
	}
	return http.DefaultTransport
}

func (f *Forward) connect(w http.ResponseWriter, in *http.Request) {
	host, port, err := net.SplitHostPort(in.Host)
	if err != nil {
		http.Error(w, "ctxledger: CONNECT wants a host and a port", http.StatusBadRequest)
		return
	}
	host = strings.ToLower(host)
	known := f.hosts[host] != nil && port == "443"
	if !known && f.sealed {
		http.Error(w, "ctxledger: this run reaches the hosts of providers alone", http.StatusForbidden)
		return
	}
	var remote net.Conn
	through := !known || f.pinned.has(host)
	if through {
		if known {
			remote, err = f.direct(in.Context(), host)
		} else {
			remote, err = dial(in.Context(), in.Host)
		}
		if err != nil {
			http.Error(w, "ctxledger: the host could not be reached", http.StatusBadGateway)
			return
		}
		defer remote.Close()
	}
	local, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if _, err := io.WriteString(local, "HTTP/1.1 200 Connection Established\r\n\r\n"); err != nil {
		local.Close()
		return
	}
	early := &bufferedConn{Conn: local, from: buffered.Reader}
	if through {
		join(early, remote)
		return
	}
	conn := tls.Server(early, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return f.authority.certify(host)
		},
	})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(in.Context()), handshakePatience)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		f.pinned.note(host, err)
		conn.Close()
		return
	}
	f.conns.put(conn)
}

// dial connects to a host, by the proxy of the environment if there is one.
func dial(ctx context.Context, address string) (net.Conn, error) {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https", Host: address}})
	if err != nil || proxy == nil {
		return (&net.Dialer{Timeout: 30 * time.Second}).DialContext(ctx, "tcp", address)
	}
	return through(ctx, proxy, address)
}

// inside serves a request within an ended connection. The host is that of the TLS session's
// certificate, so a client cannot choose another upstream by its Host header.
func (f *Forward) inside(w http.ResponseWriter, in *http.Request) {
	host := strings.ToLower(in.Host)
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if in.TLS != nil && in.TLS.ServerName != "" {
		host = strings.ToLower(in.TLS.ServerName)
	}
	u := f.hosts[host]
	if u == nil {
		http.Error(w, "ctxledger: the request is for another host than its connection", http.StatusMisdirectedRequest)
		return
	}
	u.serve(w, in, in.RequestURI)
}

// bufferedConn is a connection of which a part was read already.
type bufferedConn struct {
	net.Conn
	from io.Reader
}

func (c *bufferedConn) Read(p []byte) (int, error) { return c.from.Read(p) }

// CloseWrite ends the sending direction.
func (c *bufferedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Conn.Close()
}

// handed is a listener whose connections are given to it.
type handed struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newHanded() *handed {
	return &handed{conns: make(chan net.Conn), ended: make(chan struct{})}
}

func (h *handed) put(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.ended:
		c.Close()
	}
}

// Accept returns the next connection.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// Addr returns no address: the listener has none.
func (h *handed) Addr() net.Addr { return &net.TCPAddr{} }

// errRefused means that another proxy does not connect to a host.
var errRefused = errors.New("the proxy of the environment refused the connection")
