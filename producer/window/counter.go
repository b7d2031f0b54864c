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

// Count is the number of tokens of a text, with the name of the counter.
type Count struct {
	// Tokens is 0 or more.
	Tokens int
	// Estimator is the name of the encoding, e.g. "o200k_base", if the model's own
	// tokenizer counted. Otherwise Estimator is "estimate:" and the name of the method that
	// was used instead.
	Estimator string
}

// Estimated reports whether another counter than the model's own tokenizer counted.
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
	// CacheEntries is the largest number of counts in the cache, about 150 bytes each.
	// Defaults to 16,384. A negative number means no cache.
	CacheEntries int
	// MaxBytes is the largest number of bytes of one text that are encoded. The rest is
	// extrapolated, and the count is marked as an estimate. Defaults to 4 MiB. A negative
	// number means no limit.
	MaxBytes int
}

// Counter counts tokens with the tokenizer of a model. Each distinct text is encoded once
// per tokenizer while its count is in the cache, even under concurrent calls. The cache has
// a size limit and drops the least recently used counts. Its keys are SHA-256 digests, and
// it holds no text.
//
// Claude, Gemini and Gemma have no public tokenizer. These models, and unknown models, are
// counted with o200k_base, and the estimator is "estimate:o200k_base". No factor is
// applied: the ledger compares the count with the provider's bill and keeps the difference
// as a separate figure.
//
// The tokenizer's time grows with the square of the length of a run of mixed white space.
// Therefore a run longer than 1,024 bytes is encoded in pieces. The result may then be a
// few tokens too high and is marked as an estimate.
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

// precision is the accuracy of a count.
type precision uint8

const (
	exact precision = iota
	pieces
	chars
)

// NewCounter returns a Counter. NewCounter loads no vocabulary; the first count of each
// encoding loads one.
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

// Count counts the tokens of text for the model, e.g. "gpt-5". Bytes that are not UTF-8 are
// counted as U+FFFD, as in tiktoken. Tokens that a provider adds around a message are not
// counted. Count does not fail: the estimator shows the accuracy of the number.
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

// entry returns the cache's entry for the key. A missing entry is added.
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

// pieceEnd returns the position at which to cut the text. Up to this position, no run of
// white space is longer than whiteRun bytes. Without a longer run, the position is the
// length of the text.
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

// cutRune returns the first n bytes of s, or fewer bytes to keep the last rune whole.
func cutRune(s string, n int) string {
	for back := 0; back < utf8.UTFMax && back < n; back++ {
		if utf8.RuneStart(s[n-back]) {
			return s[:n-back]
		}
	}
	return s[:n]
}

// EstimateChars is the approximate count without a tokenizer. The count is a quarter of the
// characters, rounded down, and at least 1 for a text that is not empty.
//
// Source: shared/vectors/tinyagents.json T017.
func EstimateChars(text string) int {
	if text == "" {
		return 0
	}
	return max(1, utf8.RuneCountInString(text)/4)
}
