package window_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"
)

func ExampleCounter() {
	counter := window.NewCounter(window.CounterConfig{})
	fmt.Println(counter.Count("gpt-5", "The quick brown fox"))
	fmt.Println(counter.Count("claude-opus-4-5", "The quick brown fox"))
	// Output:
	// {4 o200k_base}
	// {4 estimate:o200k_base}
}

func TestEstimator(t *testing.T) {
	t.Parallel()
	counter := window.NewCounter(window.CounterConfig{})
	for model, want := range map[string]string{
		"gpt-5": "o200k_base", "gpt-5-mini-2025-08-07": "o200k_base", "gpt-5.1": "o200k_base", "openai/gpt-4.1": "o200k_base",
		"o3": "o200k_base", "o1-preview": "o200k_base", "ft:gpt-4o:acme::x": "o200k_base", "GPT-4o": "o200k_base",
		"gpt-4": "cl100k_base", "gpt-4-turbo": "cl100k_base", "gpt-3.5-turbo-0125": "cl100k_base", "ft:gpt-4:x": "cl100k_base",
		"gpt-50": "estimate:o200k_base", "claude-sonnet-4-5": "estimate:o200k_base", "gemma-3n-e4b": "estimate:o200k_base",
		"": "estimate:o200k_base", "o35": "estimate:o200k_base",
	} {
		got := counter.Count(model, "hello world")
		if got.Estimator != want || got.Tokens != 2 || got.Estimated() != strings.HasPrefix(want, "estimate:") {
			t.Errorf("%q: %+v, want %s", model, got, want)
		}
	}
}

// TestCountIsTheTokenizers compares the counts with the library's, on whole texts without a
// cache.
func TestCountIsTheTokenizers(t *testing.T) {
	t.Parallel()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	counter := window.NewCounter(window.CounterConfig{CacheEntries: 3})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`([a-zA-Z_]{1,12}[ \n\t(){};.=]{1,4}){0,40}`)).Draw(t, "text")
		want, err := codec.Count(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := counter.Count("gpt-5", text); got != (window.Count{Tokens: want, Estimator: "o200k_base"}) {
				t.Fatalf("%q: got %+v, want %d", text, got, want)
			}
		}
	})
}

func TestCountOddText(t *testing.T) {
	t.Parallel()
	counter := window.NewCounter(window.CounterConfig{})
	if got := counter.Count("gpt-5", ""); got != (window.Count{Estimator: "o200k_base"}) {
		t.Errorf("empty: %+v", got)
	}
	invalid := counter.Count("gpt-5", "a\xff\xfeb")
	if replaced := counter.Count("gpt-5", "a\ufffd\ufffdb"); invalid != replaced {
		t.Errorf("not UTF-8: %+v, want %+v", invalid, replaced)
	}
	exact := strings.Repeat(" \n", 512)
	if got := counter.Count("gpt-5", "a"+exact+"b"); got.Estimated() {
		t.Errorf("1,024 bytes of white space: %+v", got)
	}
	if got := counter.Count("gpt-5", "a"+exact+"\nb"); !got.Estimated() {
		t.Errorf("1,025 bytes of white space: %+v", got)
	}
	short := window.NewCounter(window.CounterConfig{MaxBytes: 1000})
	words := strings.Repeat("word ", 1000)
	if got := short.Count("gpt-5", words); got.Tokens < 990 || got.Tokens > 1010 || !got.Estimated() {
		t.Errorf("more than MaxBytes: %+v", got)
	}
	if got := short.Count("gpt-5", strings.Repeat("\xbf", 2000)); got.Tokens == 0 || !got.Estimated() {
		t.Errorf("no rune starts: %+v", got)
	}
}

// TestPathologicalText checks the protection against slow texts. Each of these texts takes
// the tokenizer minutes at this size, or has a form that is difficult for tokenizers. The
// limit is generous, for slow machines under the race detector.
func TestPathologicalText(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const size = 256 << 10
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(alphabet string) string {
		runes := []rune(alphabet)
		var b strings.Builder
		for b.Len() < size {
			b.WriteRune(runes[random.IntN(len(runes))])
		}
		return b.String()
	}
	counter := window.NewCounter(window.CounterConfig{})
	for name, text := range map[string]string{
		"mixed white space":   draw(" \n\t\r"),
		"wide white space":    draw("\u3000\n\u2003"),
		"one letter":          draw("a"),
		"base64":              draw("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
		"blanks":              draw(" "),
		"newlines":            draw("\n"),
		"case changes":        draw("aA"),
		"modifiers and marks": draw("ʰ\u0301a"),
		"punctuation":         draw("/=*-"),
	} {
		start := time.Now()
		got := counter.Count("gpt-5", text)
		if spent := time.Since(start); spent > 20*time.Second || got.Tokens == 0 {
			t.Errorf("%s: %+v after %v", name, got, spent)
		}
	}
}

// TestCounterTogether counts few texts from many goroutines with a small cache.
func TestCounterTogether(t *testing.T) {
	t.Parallel()
	counter := window.NewCounter(window.CounterConfig{CacheEntries: 4})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 50 {
				n := (i*7 + g) % 8
				model := []string{"gpt-5", "gpt-4"}[i%2]
				if got := counter.Count(model, strings.Repeat("word ", n)); got.Tokens != n && n != 0 && got.Tokens != n+1 {
					t.Errorf("%d words: %+v", n, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestEstimateChars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "é": 1, "日本東京日本東京": 2} {
		if got := window.EstimateChars(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := window.EstimateChars("\xff"); got != 1 || utf8.ValidString("\xff") {
		t.Errorf("not UTF-8: %d", got)
	}
}
