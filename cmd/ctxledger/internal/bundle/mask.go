package bundle

import (
	"context"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/secrets"
)

// shortestSecret is the least length of a password that is masked by its value. A shorter one would
// mask ordinary words.
const shortestSecret = 4

// mask hides known passwords, and values that look like secrets.
type mask struct {
	known *redact.Guard
	rules *secrets.Rules
}

func newMask(known []string) (*mask, error) {
	rules, err := secrets.New()
	if err != nil {
		return nil, err
	}
	m := &mask{rules: rules}
	for _, secret := range known {
		if len(secret) < shortestSecret {
			continue
		}
		// A word of the event contract is refused. It is a password that hides nothing.
		if more, err := m.known.With(redact.Withhold(secret, "policy:configuration", "secret")); err == nil {
			m.known = more
		}
	}
	return m, nil
}

// guard returns the known passwords with the secrets that a text holds.
func (m *mask) guard(ctx context.Context, text string) *redact.Guard {
	guard := m.known
	for _, value := range m.rules.Detect(ctx, text) {
		if more, err := guard.With(value); err == nil {
			guard = more
		}
	}
	return guard
}

func (m *mask) text(ctx context.Context, text string) string {
	masked, _ := m.guard(ctx, text).Mask(text)
	return masked
}

func (m *mask) json(ctx context.Context, document []byte) ([]byte, error) {
	masked, _, err := m.guard(ctx, string(document)).MaskJSON(document)
	return masked, err
}
