package capture

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/schema"
)

// store is a store of texts that is away for some writes.
type store struct {
	away           int
	writes, settle int
	texts          map[string]string
}

func (s *store) Write(_ context.Context, digest, text string) error {
	if s.writes++; s.writes <= s.away {
		return errors.New("away")
	}
	s.texts[digest] = text
	return nil
}

func (s *store) Settle(context.Context) error {
	s.settle++
	return nil
}

// TestLargeTexts: a fact names a text that was stored. While the store is away, one text of an exchange
// is tried, facts name no text, and nothing else changes.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	rec, s := new(producertest.Recorder), &store{away: 1, texts: make(map[string]string)}
	r := open(t, rec, func(c *Config) { c.StoreText, c.Texts = true, s })
	long := func(word string) string { return strings.Repeat(word+" ", 20_000) }
	window := []string{long("one"), long("two"), "short"}
	post(t, r, windowOf(window...), message("m1", "hi"))
	if s.writes != 1 || s.settle != 0 {
		t.Errorf("%d writes and %d settlements while the store is away", s.writes, s.settle)
	}
	window = append(window, long("three"), long("four"))
	post(t, r, windowOf(window...), message("m2", "hi"))
	if s.writes != 3 || s.settle != 1 {
		t.Errorf("%d writes and %d settlements", s.writes, s.settle)
	}
	var stored, left, inline int
	for _, e := range rec.Events() {
		fact, err := e.Accepted()
		if err != nil {
			t.Fatal(err)
		}
		item, ok := fact.(*schema.ItemAdded)
		switch {
		case !ok:
		case item.ContentMode == schema.ContentInline:
			inline++
		case item.ContentRef == schema.TextRef(item.ContentDigest):
			if text := s.texts[item.ContentDigest]; text != long("three") && text != long("four") {
				t.Errorf("the text of %s has %d bytes", item.ItemID, len(text))
			}
			stored++
		default:
			left++
		}
	}
	if stored != 2 || left != 2 || inline != 2 { // short, and the answer
		t.Errorf("%d texts stored, %d left out, %d inline", stored, left, inline)
	}
}

// TestLargeTextsAfterAFailure: an exchange that ends early while the store is away does not keep the texts
// of the next one from the store.
func TestLargeTextsAfterAFailure(t *testing.T) {
	t.Parallel()
	d, s := &dying{Recorder: new(producertest.Recorder), before: true}, &store{away: 1, texts: make(map[string]string)}
	r := open(t, d, func(c *Config) { c.StoreText, c.Texts = true, s })
	window := windowOf(strings.Repeat("one ", 20_000), "short")
	post(t, r, window, message("m1", "hi"))
	d.mu.Lock()
	d.before = false
	d.mu.Unlock()
	post(t, r, window, message("m2", "hi"))
	if s.writes != 2 || len(s.texts) != 1 {
		t.Errorf("%d writes, %d texts stored", s.writes, len(s.texts))
	}
}
