package proxy

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/ctxledger/ctxledger/producer/capture"
)

// Providers are the upstreams that a gateway has without any setting.
var Providers = map[string]string{
	"anthropic": "https://api.anthropic.com",
	"openai":    "https://api.openai.com",
}

// Gateway is the handler of a base URL: the first part of the path names the upstream.
type Gateway struct {
	upstreams map[string]*Upstream
	unknown   atomic.Int64
	tunnelled atomic.Int64
}

// NewGateway returns the gateway of the upstreams, by their names, in addition to [Providers].
// own is the address on which the gateway listens. The error names an upstream that is no HTTP
// address, or that leads back to the gateway.
func NewGateway(upstreams map[string]string, own net.Addr, recorder *capture.Recorder) (*Gateway, error) {
	g := &Gateway{upstreams: make(map[string]*Upstream)}
	base := NewTransport()
	for _, list := range [...]map[string]string{Providers, upstreams} {
		for name, address := range list {
			target, err := ParseUpstream(address)
			if err != nil {
				return nil, fmt.Errorf("upstream %s: %w", name, err)
			}
			if leadsTo(target, own) {
				return nil, fmt.Errorf("upstream %s is this proxy itself: give the provider's address", name)
			}
			if name == "" || strings.ContainsAny(name, "/?#%") {
				return nil, fmt.Errorf("upstream %q: a name is one part of a path, such as openai", name)
			}
			g.upstreams[name] = &Upstream{URL: target, Recorder: recorder, Base: base, Tunnelled: &g.tunnelled}
		}
	}
	return g, nil
}

// ParseUpstream reads the address of a provider. The error does not quote the address, which may
// hold a password.
func ParseUpstream(address string) (*url.URL, error) {
	target, err := url.Parse(address)
	switch {
	case err != nil, target.Scheme != "http" && target.Scheme != "https", target.Host == "":
		return nil, fmt.Errorf("want an address such as https://api.openai.com")
	case target.User != nil, target.RawQuery != "", target.Fragment != "":
		return nil, fmt.Errorf("the address has a user, a query or a fragment: give scheme, host and path alone")
	}
	return target, nil
}

// leadsTo reports whether an address is the one on which a listener listens.
func leadsTo(target *url.URL, own net.Addr) bool {
	tcp, ok := own.(*net.TCPAddr)
	if !ok || portOf(target) != fmt.Sprint(tcp.Port) {
		return false
	}
	ips := []net.IP{net.ParseIP(target.Hostname())}
	if ips[0] == nil {
		ips, _ = net.LookupIP(target.Hostname())
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.Equal(tcp.IP) || ip.IsUnspecified() || tcp.IP.IsUnspecified() && ofThisMachine(ip) || ip.IsLoopback() && tcp.IP.IsLoopback()
	})
}

// ofThisMachine reports whether an address is one of this machine.
func ofThisMachine(ip net.IP) bool {
	addresses, _ := net.InterfaceAddrs()
	return ip.IsLoopback() || slices.ContainsFunc(addresses, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}

func portOf(target *url.URL) string {
	if port := target.Port(); port != "" {
		return port
	}
	if target.Scheme == "http" {
		return "80"
	}
	return "443"
}

// Names returns the names of the upstreams, sorted.
func (g *Gateway) Names() []string {
	names := make([]string, 0, len(g.upstreams))
	for name := range g.upstreams {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Tunnelled returns the number of connections that passed unread.
func (g *Gateway) Tunnelled() int64 { return g.tunnelled.Load() }

// ServeHTTP forwards a request to the upstream that its path names.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(in.RequestURI, "/"), "/")
	name, query, asked := strings.Cut(name, "?")
	u := g.upstreams[name]
	if u == nil || !strings.HasPrefix(in.RequestURI, "/") {
		g.unknown.Add(1)
		http.Error(w, "ctxledger: no upstream has this name; the base URL ends in /"+strings.Join(g.Names(), " or /"), http.StatusNotFound)
		return
	}
	target := "/" + rest
	if asked {
		target = "/?" + query
	}
	u.serve(w, in, target)
}
