package access

import (
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Config configures a [Guard].
type Config struct {
	// Hosts are names that the Host header may have, without a port, besides the names of loopback.
	Hosts []string
	// Origins are origins such as https://dashboard.example whose scripts may ask the read API.
	// Empty means none.
	Origins []string
	// Tokens are the valid tokens. With nil, every request is Local.
	Tokens *File
	// Pages limits requests of one client for pages and answers. Events limits requests of one token
	// that publish. Requests of Local that publish have no limit of rate.
	Pages, Events Rate
	// MaxBody is the largest body in bytes. Handlers may have a smaller limit.
	MaxBody int64
	// Log receives refused tokens, without the token. Nil discards them.
	Log *slog.Logger
}

// DefaultConfig returns the limits of an installation on one machine.
func DefaultConfig() Config {
	return Config{Pages: Rate{PerSecond: 50, Burst: 300}, Events: Rate{PerSecond: 1000, Burst: 5000}, MaxBody: 32 << 20}
}

// Guard decides which requests are answered. Safe for concurrent use.
type Guard struct {
	config               Config
	pages, events, wrong buckets
}

// New returns a guard.
func New(c Config) *Guard {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Guard{config: c, pages: buckets{rate: c.Pages}, events: buckets{rate: c.Events}, wrong: buckets{rate: Rate{1, 20}}}
}

type key struct{}

// admitted is what the context of an answered request has.
type admitted struct {
	identity Identity
	guard    *Guard
}

// Of returns the identity of a request that a guard has let through. A request without a guard is of
// nobody, who may do nothing.
func Of(ctx context.Context) Identity {
	a, _ := ctx.Value(key{}).(admitted)
	return a.identity
}

// Still reports whether the token of a request is still valid. Event streams ask it, because they
// last.
func Still(ctx context.Context) bool {
	a, ok := ctx.Value(key{}).(admitted)
	return ok && (a.guard.config.Tokens == nil || a.guard.config.Tokens.Has(a.identity))
}

// As returns a context of a request of an identity, for tests of handlers.
func As(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, key{}, admitted{i, New(Config{})})
}

// Wrap returns a handler that passes the requests that are allowed to next.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		identity, no := g.admit(r)
		if g.allowsOrigin(r) {
			allowOrigin(w, r)
			if no == nil && isPreflight(r) {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		if no != nil {
			no.write(w, r)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, g.config.MaxBody)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, admitted{identity, g})))
	})
}

// admit returns the identity of an allowed request, or the refusal.
func (g *Guard) admit(r *http.Request) (Identity, *refusal) {
	switch {
	case !g.knows(r.Host):
		return Identity{}, refuse(http.StatusMisdirectedRequest, "host", "the Host header names another server",
			"use the address that the server printed, or allow the name with --host")
	case !isOwn(r) && !g.allowsOrigin(r) && !isLink(r):
		return Identity{}, refuse(http.StatusForbidden, "cross_site", "a page of another site sent the request",
			"send the request from a program, or from a page of this server")
	case isPreflight(r) && g.allowsOrigin(r): // a browser sends it without the token
		return Identity{}, nil
	case !isReading(r) && hasFormType(r):
		return Identity{}, refuse(http.StatusUnsupportedMediaType, "content_type", "the request has no Content-Type, or one that a form can send",
			"send JSON, CloudEvents or protobuf with its content type")
	}
	identity, no := g.authenticate(r)
	if no != nil {
		return identity, no
	}
	return identity, g.limit(r, identity)
}

// isProbe reports whether a path is for probes, which have no token.
func isProbe(path string) bool { return path == "/healthz" || path == "/readyz" }

// rolesFor returns the roles for a path. One of them suffices.
func rolesFor(path string) []Role {
	switch {
	case path == "/evidence/packs", path == "/evidence/verdicts":
		return []Role{Evidence}
	case strings.HasPrefix(path, "/v1/"):
		return []Role{Publish}
	case path == "/evidence", path == "/api/v1/evidence":
		return []Role{Evidence, Read}
	case strings.HasPrefix(path, "/assets/"), path == "/favicon.ico":
		return Roles
	}
	return []Role{Read}
}

// authenticate returns the identity of a token that has a role for the path.
func (g *Guard) authenticate(r *http.Request) (Identity, *refusal) {
	if g.config.Tokens == nil {
		return Local, nil
	}
	if isProbe(r.URL.Path) {
		return Identity{}, nil
	}
	token, given := tokenOf(r)
	identity, ok := g.config.Tokens.Find(token)
	switch {
	case !given:
		return Identity{}, refuse(http.StatusUnauthorized, "unauthenticated", "the request has no token", "send a token of this server as Bearer, or as the password of HTTP Basic")
	case !ok && !g.wrong.take(clientOf(r), time.Now()):
		return Identity{}, refuse(http.StatusTooManyRequests, "busy", "this address sent too many wrong tokens", "wait for Retry-After seconds, and use a valid token")
	case !ok:
		g.config.Log.Warn("a request has a wrong token", "event", "token_refused", "address", clientOf(r))
		return Identity{}, refuse(http.StatusUnauthorized, "unauthenticated", "the token is not valid", "send a token of this server as Bearer, or as the password of HTTP Basic")
	}
	for _, role := range rolesFor(r.URL.Path) {
		if identity.May(role) {
			return identity, nil
		}
	}
	return identity, refuse(http.StatusForbidden, "forbidden", "the token lacks the role for this path", "use a token with the role "+string(rolesFor(r.URL.Path)[0]))
}

// tokenOf returns the token of a request: that of Bearer, or the password of Basic.
func tokenOf(r *http.Request) (token string, given bool) {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return "", len(values) > 1
	}
	scheme, rest, _ := strings.Cut(values[0], " ")
	switch strings.ToLower(scheme) {
	case "bearer":
		return strings.TrimSpace(rest), true
	case "basic":
		pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(rest))
		if err != nil {
			return "", true
		}
		_, password, _ := strings.Cut(string(pair), ":")
		return password, true
	}
	return "", true
}

// limit takes a request from the room of its client.
func (g *Guard) limit(r *http.Request, i Identity) *refusal {
	room, client := &g.pages, i.Name
	if strings.HasPrefix(r.URL.Path, "/v1/") {
		room = &g.events
	}
	if client == "" {
		client = clientOf(r) + " " // a name of a token has no space
	}
	if i.Name == "" && room == &g.events || room.take(client, time.Now()) {
		return nil
	}
	return refuse(http.StatusTooManyRequests, "busy", "this client sent too many requests", "wait for Retry-After seconds")
}

// clientOf returns the address of a client.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
