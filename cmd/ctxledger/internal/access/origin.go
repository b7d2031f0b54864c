package access

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// formTypes are the content types that a form, or a script of another site, can send without
// a question to this server.
var formTypes = []string{"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}

// knows reports whether a Host header names this server.
func (g *Guard) knows(host string) bool {
	name := host
	if only, _, err := net.SplitHostPort(host); err == nil {
		name = only
	}
	name = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(name, "]"), "["), "."))
	if address, err := netip.ParseAddr(name); err == nil && address.Unmap().IsLoopback() || name == "localhost" {
		return true
	}
	return slices.ContainsFunc(g.config.Hosts, func(own string) bool { return strings.EqualFold(own, name) })
}

// isOwn reports whether a program or a page of this server sent a request. A browser tells it by
// Sec-Fetch-Site, and an old one by Origin. Programs send neither.
func isOwn(r *http.Request) bool {
	if site := r.Header.Values("Sec-Fetch-Site"); len(site) > 0 {
		return len(site) == 1 && (site[0] == "none" || site[0] == "same-origin")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// isLink reports whether a person followed a link of another site to a page. A link must not bring a
// statement along.
func isLink(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return isReading(r) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && (dest == "" || dest == "document") && !isForPrograms(r.URL.Path) && r.URL.Path != "/sql"
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

func isForPrograms(path string) bool {
	for _, beginning := range []string{"/api/", "/v1/", "/events/", "/metrics"} {
		if strings.HasPrefix(path, beginning) {
			return true
		}
	}
	return false
}

// allowsOrigin reports whether scripts of an origin may ask the read API.
func (g *Guard) allowsOrigin(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/api/") && slices.Contains(g.config.Origins, r.Header.Get("Origin")) && (isReading(r) || isPreflight(r))
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowOrigin sets the headers that let a script of another origin read the answer.
func allowOrigin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Access-Control-Expose-Headers", "ETag, Link, Retry-After")
	if isPreflight(r) {
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "Authorization, If-None-Match")
		h.Set("Access-Control-Max-Age", "600")
	}
}

// hasFormType reports whether a form could have sent a request.
func hasFormType(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) == 0 {
		return true
	}
	return slices.ContainsFunc(types, func(contentType string) bool {
		media, _, _ := strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
		return media == "" || slices.Contains(formTypes, media)
	})
}
