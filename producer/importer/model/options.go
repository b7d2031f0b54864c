package model

import "github.com/ctxledger/ctxledger/schema"

// Options says what an import makes of a log. The zero value imports without
// tenant, digests, token counts and text.
type Options struct {
	// Tenant is the tenant attribute of every event.
	Tenant string
	// Key makes the content digests. The zero key makes none.
	Key schema.Key
	// Count returns how many tokens text has for model and what counted them.
	// The model is "" before the thread's first answer. It is called once for
	// each piece of text. Nil leaves token counts unknown.
	Count func(model, text string) (tokens int64, estimator string)
	// StoreText puts text into the events, where it fits. Defaults to off:
	// digests, sizes and token counts are stored, text is not.
	StoreText bool
	// Progress is called now and then, and once more where the log was read to its
	// end. An import reads its log twice and total counts both passes.
	Progress func(bytesRead, total int64)
	// MaxLineBytes is the length from which on a line is skipped and reported.
	// Defaults to 64 MiB.
	MaxLineBytes int
}

const defaultMaxLineBytes = 64 << 20

func (o Options) maxLineBytes() int {
	if o.MaxLineBytes > 0 {
		return o.MaxLineBytes
	}
	return defaultMaxLineBytes
}

// CountTokens returns the tokens of text, nil when nothing counts them.
func (o Options) CountTokens(model, text string) (*int64, string) {
	if o.Count == nil {
		return nil, ""
	}
	tokens, estimator := o.Count(model, text)
	return &tokens, estimator
}

func (o Options) Digest(text string) string {
	if o.Key.IsZero() {
		return ""
	}
	return o.Key.Digest([]byte(text))
}
