package window

import (
	"fmt"
	"testing"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := NewCounter(CounterConfig{CacheEntries: 3})
	for i := range 10 {
		c.Count("gpt-5", fmt.Sprint("text ", i))
		c.Count("gpt-5", "text 0") // stays, as it is used
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
