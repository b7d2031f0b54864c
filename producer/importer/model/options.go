package model

import (
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// Options configure an import. The zero value imports without tenant, digests, token counts and
// text.
type Options struct {
	// Tenant is the tenant attribute of every event.
	Tenant string
	// Key is the key of the content digests. The zero key makes no digests.
	Key schema.Key
	// Equality is the key of the digests by which equal blocks of windows are recognised, see
	// [schema.KeyRing.Equality]. The zero key makes no digests.
	Equality schema.Key
	// Count returns the number of tokens that text has for model, and the name of the counter.
	// The model is "" before the thread's first answer. An import calls Count once for each piece
	// of text. If Count is nil, token counts are unknown. A counter that gives other numbers than
	// before needs another [Revision].
	Count func(model, text string) (tokens int64, estimator string)
	// StoreText puts text into the events, up to the size limit of an event. The default is off:
	// the events hold digests, sizes and token counts.
	StoreText bool
	// LargeText gets the text of an item that does not fit into its event. The event names the text by
	// [schema.TextRef], and LargeText is called before the event is emitted. It keeps the text until the
	// event is published. With nil, larger texts are left out. Used only with StoreText and a Key.
	LargeText func(e *schema.Event, text string)
	// Titles makes titles that name a tool's argument or the first words of a prompt. With nil, titles
	// say what kind of item it is. A maker that gives other titles than before needs another [Revision].
	Titles *title.Maker
	// Rewritten is a mark of a log that was rewritten after an import stored facts of it. It makes the
	// log another telling, so its facts conflict with none of those.
	Rewritten string
	// Growing is for a log whose program still writes it. Facts that only a later record can decide
	// wait for the next import. A record or document at the end that is not complete is no problem.
	// Facts of a log that later grows then never change, apart from the exceptions that package
	// importer lists.
	Growing bool
	// Progress is called about once per megabyte, and at the end of the log. An import reads its
	// log twice, and total counts both passes.
	Progress func(bytesRead, total int64)
	// MaxLineBytes is the longest line that is read. Longer lines are skipped and reported. The
	// default is 64 MiB.
	MaxLineBytes int
}

const defaultMaxLineBytes = 64 << 20

func (o Options) maxLineBytes() int {
	if o.MaxLineBytes > 0 {
		return o.MaxLineBytes
	}
	return defaultMaxLineBytes
}

// StoresLargeText reports whether texts that do not fit into events go to LargeText.
func (o Options) StoresLargeText() bool {
	return o.StoreText && o.LargeText != nil && !o.Key.IsZero()
}

// CountTokens returns the number of tokens of text, nil without Count.
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
