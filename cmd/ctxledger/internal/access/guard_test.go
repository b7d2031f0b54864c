package access

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// rig is a guard with a tokens file, in front of a handler that answers 200 and the tenant.
type rig struct {
	file   string
	tokens map[string]string // by name
	serve  http.Handler
	guard  *Guard
}

func newRig(t *testing.T, edit func(*Config)) rig {
	t.Helper()
	r := rig{file: filepath.Join(t.TempDir(), "tokens"), tokens: make(map[string]string)}
	for _, i := range []Identity{
		{Name: "reader", Tenant: "acme", Roles: []Role{Read}}, {Name: "publisher", Tenant: "acme", Roles: []Role{Publish}},
		{Name: "auditor", Tenant: "acme", Roles: []Role{Evidence}}, {Name: "all", Tenant: "a/b c", Roles: Roles},
	} {
		token, err := Create(r.file, i)
		if err != nil {
			t.Fatal(err)
		}
		r.tokens[i.Name] = token
	}
	c := DefaultConfig()
	c.Hosts = []string{"ledger.example"}
	c.Tokens = open(t, r.file)
	if edit != nil {
		edit(&c)
	}
	r.guard = New(c)
	r.serve = r.guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(Of(r.Context()).Tenant))
	}))
	return r
}

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Open(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ask sends a request. Headers are pairs of a name and a value.
func (r rig) ask(t *testing.T, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.Host = "ledger.example"
	for i := 0; i < len(headers); i += 2 {
		if request.Header.Add(headers[i], headers[i+1]); headers[i] == "Host" {
			request.Host = headers[i+1]
		}
	}
	answer := httptest.NewRecorder()
	r.serve.ServeHTTP(answer, request)
	return answer
}

func (r rig) bearer(name string) string { return "Bearer " + r.tokens[name] }

func basic(password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("anyone:"+password))
}

// TestEachPathAsksForItsRole: each path, without a token, with a wrong one, and with each role.
func TestEachPathAsksForItsRole(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	for path, want := range map[string]string{
		"/": "reader all", "/last": "reader all", "/s/x": "reader all", "/s/x/compactions": "reader all", "/t/x": "reader all", "/c/x": "reader all",
		"/i/x": "reader all", "/diff": "reader all", "/q": "reader all", "/q/x": "reader all", "/search": "reader all", "/events/s/x": "reader all",
		"/metrics": "reader all", "/nosuch": "reader all", "/api/v1/sessions": "reader all", "/api/v1/openapi.json": "reader all", "/api/v1/queries/x": "reader all",
		"/evidence": "reader auditor all", "/api/v1/evidence": "reader auditor all", "/assets/explorer.css": "reader publisher auditor all",
		"/v1/events": "publisher all", "/v1/logs": "publisher all", "/v1/traces": "publisher all", "/v1/receipts": "publisher all",
		"/evidence/": "reader all", "/evidence/packs": "auditor all", "/evidence/verdicts": "auditor all", "/evidence/packs/": "reader all", "//v1/events": "reader all", "/V1/events": "reader all",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
			headers := []string{"Content-Type", "application/json"}
			if got := r.ask(t, method, path, headers...); got.Code != http.StatusUnauthorized || !strings.HasPrefix(got.Header().Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s %s without a token: %d", method, path, got.Code)
			}
			for name := range r.tokens {
				status := http.StatusForbidden
				if slices.Contains(strings.Fields(want), name) {
					status = http.StatusOK
				}
				for _, given := range []string{r.bearer(name), basic(r.tokens[name])} {
					if got := r.ask(t, method, path, append(headers, "Authorization", given)...); got.Code != status {
						t.Errorf("%s %s as %s: %d, not %d", method, path, name, got.Code, status)
					}
				}
			}
		}
	}
	for _, probe := range []string{"/healthz", "/readyz"} {
		if got := r.ask(t, http.MethodGet, probe); got.Code != http.StatusOK {
			t.Errorf("%s answers %d", probe, got.Code)
		}
	}
	if got := r.ask(t, http.MethodGet, "/", "Authorization", r.bearer("all")); got.Body.String() != "a/b c" {
		t.Errorf("the tenant is %q", got.Body)
	}
}

// TestWrongTokens: nothing that resembles a token is one, and many of them are a 429.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	token := r.tokens["reader"]
	hash := sum(token)
	for _, given := range []string{
		"Bearer", "Bearer ", "Basic", "Basic !", basic(""), "Bearer " + token[:len(token)-1], "Bearer " + strings.ToUpper(token), "Bearer " + token + "x",
		"Bearer " + token + " x", "Token " + token, token, "Bearer sha256:" + string(hash[:]), basic(token + "\x00"), "Basic " + base64.StdEncoding.EncodeToString([]byte(token)),
	} {
		if got := r.ask(t, http.MethodGet, "/", "Authorization", given); got.Code != http.StatusUnauthorized || strings.Contains(got.Body.String(), "ctxledger_") {
			t.Errorf("%.20q answers %d %s", given, got.Code, got.Body)
		}
	}
	if got := r.ask(t, http.MethodGet, "/", "Authorization", r.bearer("reader"), "Authorization", r.bearer("all")); got.Code != http.StatusUnauthorized {
		t.Errorf("two headers answer %d", got.Code)
	}
	var last int
	for range 30 {
		last = r.ask(t, http.MethodGet, "/", "Authorization", "Bearer x").Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last of many wrong tokens is answered by %d", last)
	}
	if got := r.ask(t, http.MethodGet, "/", "Authorization", r.bearer("reader")); got.Code != http.StatusOK {
		t.Errorf("after wrong tokens, the right one is answered by %d", got.Code)
	}
}

// TestOtherSites: rebound names, forms and scripts of other sites, with and without tokens.
func TestOtherSites(t *testing.T) {
	t.Parallel()
	local := newRig(t, func(c *Config) { c.Tokens, c.Origins = nil, []string{"https://dash.example"} })
	json := []string{"Content-Type", "application/json"}
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}
	for _, c := range []struct {
		name, method, path string
		headers            []string
		status             int
	}{
		{"a rebound name", "GET", "/", []string{"Host", "evil.example"}, 421},
		{"a rebound name with a port", "POST", "/v1/events", append(json, "Host", "evil.example:7070"), 421},
		{"no Host", "GET", "/", []string{"Host", ""}, 421},
		{"an address of another machine", "GET", "/", []string{"Host", "192.0.2.1"}, 421},
		{"a name that ends like an own one", "GET", "/", []string{"Host", "notledger.example"}, 421},
		{"an own name", "GET", "/", []string{"Host", "LEDGER.example.:7070"}, 200},
		{"localhost", "GET", "/", []string{"Host", "localhost:7070"}, 200},
		{"IPv6", "GET", "/", []string{"Host", "[::1]:7070"}, 200},
		{"a form", "POST", "/v1/events", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form with a file", "POST", "/v1/events", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{"a form as text", "POST", "/", []string{"Content-Type", "Text/Plain;charset=utf-8"}, 415},
		{"no content type", "POST", "/v1/events", nil, 415},
		{"two content types", "POST", "/v1/events", append(json, "Content-Type", "text/plain"), 415},
		{"a form of another site", "POST", "/v1/events", append(link, "Content-Type", "text/plain"), 403},
		{"a navigation that posts", "POST", "/v1/events", append(link, json...), 403},
		{"a script of another site", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"), 403},
		{"a script of a sibling site", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "same-site"), 403},
		{"two sites", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site"), 403},
		{"an old browser on another site", "POST", "/v1/events", append(json, "Origin", "https://evil.example"), 403},
		{"an old browser on a page of no site", "POST", "/v1/events", append(json, "Origin", "null"), 403},
		{"an old browser here", "POST", "/v1/events", append(json, "Origin", "http://ledger.example"), 200},
		{"a page of this server", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "same-origin"), 200},
		{"the address bar", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "none"), 200},
		{"a link to a page", "GET", "/s/x", append(link, "Sec-Fetch-Dest", "document"), 200},
		{"a frame of another site", "GET", "/s/x", append(link, "Sec-Fetch-Dest", "iframe"), 403},
		{"a link to an answer", "GET", "/api/v1/sessions", link, 403},
		{"a link with a statement", "GET", "/sql?q=SELECT+1", link, 403},
		{"a link to an event stream", "GET", "/events/s/x", link, 403},
		{"a script that reads a page", "GET", "/s/x", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"an allowed origin", "GET", "/api/v1/sessions", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Origin", "https://dash.example"}, 200},
		{"its question first", "OPTIONS", "/api/v1/sessions", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://dash.example", "Access-Control-Request-Method", "GET"}, 204},
		{"an allowed origin that publishes", "POST", "/v1/events", append(json, "Sec-Fetch-Site", "cross-site", "Origin", "https://dash.example"), 403},
		{"an allowed origin that reads a page", "GET", "/", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Origin", "https://dash.example"}, 403},
		{"another origin", "GET", "/api/v1/sessions", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Origin", "https://dash.example.org"}, 403},
		{"a program", "POST", "/v1/events", []string{"Content-Type", "application/cloudevents+json"}, 200},
	} {
		got := local.ask(t, c.method, c.path, c.headers...)
		if got.Code != c.status {
			t.Errorf("%s: %d, not %d: %s", c.name, got.Code, c.status, got.Body)
		}
		if allowed := got.Header().Get("Access-Control-Allow-Origin"); (allowed != "") != (strings.Contains(c.name, "allowed origin") && c.path != "/" && c.method == "GET" || c.status == 204) {
			t.Errorf("%s: the allowed origin is %q", c.name, allowed)
		}
		if got.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: there is a cookie", c.name)
		}
	}
}

// TestRates: one client cannot take the room of another one.
func TestRates(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.Pages, c.Events, c.MaxBody = Rate{1, 3}, Rate{1, 2}, 4 })
	for path, names := range map[string][2]string{"/": {"reader", "all"}, "/v1/events": {"publisher", "all"}} {
		var codes []int
		for range 4 {
			codes = append(codes, r.ask(t, http.MethodGet, path, "Authorization", r.bearer(names[0])).Code)
		}
		if codes[0] != http.StatusOK || codes[3] != http.StatusTooManyRequests {
			t.Errorf("%s answers %v", path, codes)
		}
		if got := r.ask(t, http.MethodGet, path, "Authorization", r.bearer(names[1])); got.Code != http.StatusOK {
			t.Errorf("%s answers the other token by %d", path, got.Code)
		}
	}
	b, now := buckets{rate: Rate{10, 2}}, time.Now()
	for i, want := range []bool{true, true, false} {
		if b.take("a", now) != want {
			t.Errorf("request %d", i)
		}
	}
	if !b.take("a", now.Add(100*time.Millisecond)) || b.take("a", now.Add(100*time.Millisecond)) {
		t.Error("a tenth of a second does not give room for one request")
	}
	for i := range mostClients + 10 {
		b.take(string(rune(i+1000)), now)
	}
	if len(b.room) > mostClients {
		t.Errorf("%d clients are remembered", len(b.room))
	}
}
