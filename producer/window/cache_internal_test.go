package window

import (
	"fmt"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

// tally counts the texts that real codecs encoded.
type tally struct {
	mu    sync.Mutex
	times map[string]int // by encoding and text
}

// counting is a real codec that notes each text it encodes.
type counting struct {
	tokenizer.Codec
	tally *tally
}

func (c counting) Count(text string) (int, error) {
	c.tally.mu.Lock()
	c.tally.times[c.GetName()+" "+text]++
	c.tally.mu.Unlock()
	return c.Codec.Count(text)
}

func tallied(config CounterConfig) (*Counter, *tally) {
	c, t := NewCounter(config), &tally{times: map[string]int{}}
	c.load = func(e tokenizer.Encoding) (tokenizer.Codec, error) {
		codec, err := tokenizer.Get(e)
		return counting{codec, t}, err
	}
	return c, t
}

// TestEncodedOnce counts the same texts for many models from many goroutines. Each text is
// encoded once per tokenizer, for all callers and models.
func TestEncodedOnce(t *testing.T) {
	t.Parallel()
	c, encoded := tallied(CounterConfig{})
	models := []string{"gpt-5", "gpt-4o", "claude-opus-4-5", "unheard-of", "gpt-4", "gpt-3.5-turbo"} // two tokenizers
	start := make(chan struct{})
	var wait sync.WaitGroup
	for g := range 16 {
		wait.Go(func() {
			<-start
			for i := range 60 {
				c.Count(models[(g+i)%len(models)], fmt.Sprint("text number ", i%10))
			}
		})
	}
	close(start)
	wait.Wait()
	if len(encoded.times) != 2*10 {
		t.Errorf("%d texts and tokenizers, not 20", len(encoded.times))
	}
	for what, n := range encoded.times {
		if n != 1 {
			t.Errorf("%s: encoded %d times", what, n)
		}
	}
}

// TestEncodedAgain: a text that the cache has dropped is encoded again, and a text in use
// is not dropped.
func TestEncodedAgain(t *testing.T) {
	t.Parallel()
	c, encoded := tallied(CounterConfig{CacheEntries: 2})
	for _, text := range []string{"a", "b", "a", "c", "a", "b", "b"} {
		c.Count("gpt-5", text)
	}
	for text, want := range map[string]int{"a": 1, "b": 2, "c": 1} {
		if got := encoded.times["o200k_base "+text]; got != want {
			t.Errorf("%q: encoded %d times, not %d", text, got, want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := NewCounter(CounterConfig{CacheEntries: 3})
	for i := range 10 {
		c.Count("gpt-5", fmt.Sprint("text ", i))
		c.Count("gpt-5", "text 0") // stays, because it is in use
	}
	if len(c.counts) != 3 || c.order.Len() != 3 {
		t.Errorf("%d counts, %d in order; want 3", len(c.counts), c.order.Len())
	}
	newest := c.order.Front().Value.(*cached)
	if again := c.entry(newest.key); again != newest || again.tokens == 0 {
		t.Error("a cached text is encoded again")
	}
	none := NewCounter(CounterConfig{CacheEntries: -1})
	if none.Count("gpt-5", "text"); len(none.counts) != 0 {
		t.Error("something is cached")
	}
}
