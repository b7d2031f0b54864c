package capture

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/redact"
)

// credentialPolicy is the policy under which credentials of requests are withheld.
const credentialPolicy = "policy:capture/credential"

// Limits of the credentials that are kept.
const (
	maxCredentials = 256
	minCredential  = 8 // bytes; a shorter one would mask words
)

// credentials are the credentials of recent requests, and a detector of them in texts. Safe for
// concurrent use.
type credentials struct {
	inner producer.Detector // nil for none

	mu     sync.Mutex     // guards the fields below
	values []string       // the longest unused first
	held   map[string]int // how many exchanges that are being recorded have a value; it is not forgotten
}

// use makes the values the last that are forgotten.
func (c *credentials) use(values []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, value := range values {
		if at := slices.Index(c.values, value); at >= 0 {
			c.values = slices.Delete(c.values, at, at+1)
		}
		c.values = append(c.values, value)
		first := slices.IndexFunc(c.values, func(v string) bool { return c.held[v] == 0 })
		if len(c.values) > maxCredentials && first >= 0 {
			c.values = slices.Delete(c.values, first, first+1)
		}
	}
}

// hold keeps the values until release is called, however many other requests come meanwhile.
func (c *credentials) hold(values []string) (release func()) {
	count := func(n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, value := range values {
			if c.held[value] += n; c.held[value] == 0 {
				delete(c.held, value)
			}
		}
	}
	count(1)
	c.use(values)
	return func() { count(-1) }
}

// credentialHeaders hold a credential. Their values are withheld from all facts.
var credentialHeaders = []string{"Authorization", "X-Api-Key", "Api-Key", "Proxy-Authorization", "Cookie", "X-Goog-Api-Key"}

// credentialsOf returns the values of a request that may be credentials, and their parts. Those of
// headers come last, since the first are forgotten first.
func credentialsOf(req *http.Request) (values []string) {
	add := func(value string) {
		if value = strings.TrimSpace(value); len(value) >= minCredential && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	for _, list := range req.URL.Query() {
		for _, value := range list {
			add(value)
		}
	}
	for _, list := range req.Header["Sec-Websocket-Protocol"] { // a browser has no other header for its key
		for protocol := range strings.SplitSeq(list, ",") {
			_, key, _ := strings.Cut(protocol, ".")
			add(protocol)
			add(key)
		}
	}
	for _, name := range credentialHeaders {
		for _, value := range req.Header[name] {
			_, token, found := strings.Cut(value, " ")
			add(value)
			if found {
				add(token)
			}
		}
	}
	return values
}

// Detect returns the credentials that a text holds, and the secrets that the inner detector
// finds.
func (c *credentials) Detect(ctx context.Context, text string) []redact.Value {
	var found []redact.Value
	c.mu.Lock()
	for _, value := range c.values {
		if strings.Contains(text, value) {
			found = append(found, redact.Withhold(value, credentialPolicy, "credential of a request"))
		}
	}
	c.mu.Unlock()
	if c.inner != nil {
		found = append(found, c.inner.Detect(ctx, text)...)
	}
	return found
}
