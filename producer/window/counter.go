package window

import (
	"container/list"
	"crypto/sha256"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"
)

// Count is how many tokens a text has, and who says so.
type Count struct {
	// Tokens is 0 or more.
	Tokens int
	// Estimator is the name of the encoding, e.g. "o200k_base", when the number
	// is that of the model's own tokenizer. Otherwise it starts with "estimate:"
	// and goes on with what was used instead.
	Estimator string
}

// Estimated reports whether the number is not the model's own tokenizer's.
func (c Count) Estimated() bool { return strings.HasPrefix(c.Estimator, estimatePrefix) }

const (
	estimatePrefix = "estimate:"
	// charsEstimator names the fallback for a text that the tokenizer refuses.
	charsEstimator = estimatePrefix + "chars/4"
	// whiteRun is the longest run of white space, in bytes, that is encoded in
	// one piece.
	whiteRun = 1024
)

// CounterConfig bounds a [Counter].
type CounterConfig struct {
	// CacheEntries is how many counts are remembered, about 150 bytes each.
	// Defaults to 16,384; a negative number remembers none.
	CacheEntries int
	// MaxBytes is how much of one text is encoded; the rest is extrapolated, and
	// the count says that it is an estimate. Defaults to 4 MiB, which takes up to
	// about 2 s; a negative number means no bound.
	MaxBytes int
}

// Counter counts tokens with the tokenizer of a model. Each distinct text is
// encoded once per tokenizer as long as its count stays in the cache, which is
// bounded and drops the least recently used; also when many goroutines ask at
// once. The cache is keyed by SHA-256 and holds no text.
//
// A model whose tokenizer is not public, such as Claude, Gemini or Gemma, and an
// unknown one, is counted with o200k_base, unscaled, and the estimator says
// "estimate:o200k_base". No factor is applied: the ledger compares with what the
// provider billed and keeps the difference as a figure of its own.
//
// The tokenizer takes time that grows with the square of a run of mixed white
// space (3 s for 64 KiB of blanks and newlines, 47 s for 256 KiB, measured), and
// is otherwise linear, at 0.1 to 0.8 s per MiB also where there is no white
// space at all. So a longer run than 1,024 bytes is encoded in pieces. The
// result may then be a few tokens too high and is called an estimate.
//
// A Counter is safe for concurrent use. Its zero value is not usable.
type Counter struct {
	config CounterConfig
	load   func(tokenizer.Encoding) (tokenizer.Codec, error) // tokenizer.Get

	mu     sync.Mutex
	codecs map[tokenizer.Encoding]*lazyCodec // guarded by mu
	order  *list.List                        // of *cached, newest first; guarded by mu
	counts map[cacheKey]*list.Element        // guarded by mu
}

type lazyCodec struct {
	once  sync.Once
	codec tokenizer.Codec
}

type cacheKey struct {
	encoding tokenizer.Encoding
	digest   [sha256.Size]byte
}

type cached struct {
	key    cacheKey
	once   sync.Once
	tokens int
	how    precision
}

// precision says how a count came about.
type precision uint8

const (
	exact precision = iota
	pieces
	chars
)

// NewCounter returns a Counter. It loads no vocabulary; the first count of each
// encoding does (20 ms for o200k_base).
func NewCounter(config CounterConfig) *Counter {
	if config.CacheEntries == 0 {
		config.CacheEntries = 16_384
	}
	if config.MaxBytes == 0 {
		config.MaxBytes = 4 << 20
	}
	return &Counter{
		config: config,
		load:   tokenizer.Get,
		codecs: map[tokenizer.Encoding]*lazyCodec{},
		order:  list.New(),
		counts: map[cacheKey]*list.Element{},
	}
}

// Count counts the tokens of text for the model, e.g. "gpt-5". Text that is not
// UTF-8 is counted with U+FFFD in place of what is not, as tiktoken does. What a
// provider adds around a message is not counted. Count does not fail: the
// estimator says how far the number can be trusted.
func (c *Counter) Count(model, text string) Count {
	encoding, known := encodingOf(model)
	tokens, how := c.tokens(encoding, text)
	switch {
	case how == chars:
		return Count{Tokens: tokens, Estimator: charsEstimator}
	case how == pieces || !known:
		return Count{Tokens: tokens, Estimator: estimatePrefix + string(encoding)}
	}
	return Count{Tokens: tokens, Estimator: string(encoding)}
}

func (c *Counter) tokens(encoding tokenizer.Encoding, text string) (int, precision) {
	if text == "" {
		return 0, exact
	}
	if c.config.CacheEntries < 0 {
		return c.encode(encoding, text)
	}
	entry := c.entry(cacheKey{encoding, sha256.Sum256([]byte(text))})
	entry.once.Do(func() { entry.tokens, entry.how = c.encode(encoding, text) })
	return entry.tokens, entry.how
}

// entry returns the cache's entry for the key, a new one if need be.
func (c *Counter) entry(key cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.counts[key]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*cached)
	}
	fresh := &cached{key: key}
	c.counts[key] = c.order.PushFront(fresh)
	if c.order.Len() > c.config.CacheEntries {
		oldest := c.order.Remove(c.order.Back()).(*cached)
		delete(c.counts, oldest.key)
	}
	return fresh
}

func (c *Counter) codec(encoding tokenizer.Encoding) tokenizer.Codec {
	c.mu.Lock()
	lazy := c.codecs[encoding]
	if lazy == nil {
		lazy = &lazyCodec{}
		c.codecs[encoding] = lazy
	}
	c.mu.Unlock()
	lazy.once.Do(func() {
		codec, err := c.load(encoding)
		if err != nil {
			return
		}
		codec.SetErrorMode(tokenizer.ErrorModeReplace)
		lazy.codec = codec
	})
	return lazy.codec
}

func (c *Counter) encode(encoding tokenizer.Encoding, text string) (int, precision) {
	codec := c.codec(encoding)
	if codec == nil {
		return EstimateChars(text), chars
	}
	whole, how := len(text), exact
	if c.config.MaxBytes > 0 && whole > c.config.MaxBytes {
		text, how = cutRune(text, c.config.MaxBytes), pieces
	}
	sum := 0
	for rest := text; rest != ""; {
		piece := rest[:pieceEnd(rest)]
		rest = rest[len(piece):]
		if rest != "" {
			how = pieces
		}
		n, err := codec.Count(piece)
		if err != nil {
			return EstimateChars(text), chars
		}
		sum += n
	}
	if len(text) > 0 && len(text) < whole {
		sum = int(float64(sum) * float64(whole) / float64(len(text)))
	}
	return sum, how
}

// pieceEnd returns where the text may be cut so that no piece has a run of white
// space longer than whiteRun bytes; the length of the text where there is none.
func pieceEnd(text string) int {
	start := -1
	for i, r := range text {
		switch {
		case !unicode.IsSpace(r):
			start = -1
		case start < 0:
			start = i
		case i-start >= whiteRun:
			return i
		}
	}
	return len(text)
}

// cutRune returns the first n bytes of s, fewer where that would cut a rune.
func cutRune(s string, n int) string {
	for back := 0; back < utf8.UTFMax && back < n; back++ {
		if utf8.RuneStart(s[n-back]) {
			return s[:n-back]
		}
	}
	return s[:n]
}

// EstimateChars is the crude count for when there is no tokenizer: a quarter of
// the characters, rounded down, and 1 at least for a text that is not empty.
//
// Source: shared/vectors/tinyagents.json T017.
func EstimateChars(text string) int {
	if text == "" {
		return 0
	}
	return max(1, utf8.RuneCountInString(text)/4)
}
