package capture

import (
	"context"
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

	mu     sync.Mutex // guards values
	values []string   // oldest first
}

func (c *credentials) add(value string) {
	if value = strings.TrimSpace(value); len(value) < minCredential {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.values, value) {
		return
	}
	if c.values = append(c.values, value); len(c.values) > maxCredentials {
		c.values = slices.Delete(c.values, 0, 1)
	}
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
