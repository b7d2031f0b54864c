package known

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// TestCountsAreKept: the texts of a log are counted once, by model and key, and a damaged file or other
// options count them again.
func TestCountsAreKept(t *testing.T) {
	t.Parallel()
	folder := Folder(filepath.Join(t.TempDir(), "memory"))
	keys := make([]schema.Key, 2)
	for i := range keys {
		key, err := schema.NewKey(rand.Reader, time.Now().Add(time.Duration(i)*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key
	}
	long, short := strings.Repeat("long text ", 20), "short"
	// counted counts three texts as an import does, and returns how many the tokenizer counted.
	counted := func(kind string, key schema.Key) (tokenized int) {
		t.Helper()
		counts := folder.Counts("log", kind, key)
		for _, c := range []struct {
			model, text string
		}{{"a", long}, {"b", long}, {"a", short}} {
			want := int64(len(c.text) + len(c.model))
			tokens, estimator := counts.Count(c.model, c.text, func(model, text string) (int64, string) {
				tokenized++
				return want, "of " + model
			})
			if tokens != want || estimator != "of "+c.model {
				t.Errorf("%q has %d tokens by %q", c.text, tokens, estimator)
			}
		}
		if err := folder.KeepCounts("log", kind, counts); err != nil {
			t.Fatal(err)
		}
		return tokenized
	}
	for _, c := range []struct {
		name, kind string
		key        schema.Key
		want       int
	}{
		{"the first time", "one", keys[0], 3}, {"again", "one", keys[0], 1}, {"other options", "two", keys[0], 3},
		{"another key", "one", keys[1], 3}, {"without a key", "one", schema.Key{}, 3},
	} {
		if got := counted(c.kind, c.key); got != c.want {
			t.Errorf("%s: %d texts were counted, want %d", c.name, got, c.want)
		}
	}
	files, err := filepath.Glob(filepath.Join(string(folder), "*"+countsEnding))
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("long text")) {
			t.Error("the file has a text")
		}
		content[len(content)-1] ^= 1
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := counted("two", keys[0]); got != 3 {
		t.Errorf("with a damaged file %d texts were counted, want 3", got)
	}
	var none Counts
	if tokens, _ := none.Count("a", long, func(string, string) (int64, string) { return 7, "" }); tokens != 7 {
		t.Error("no counts are known, and the text was not counted")
	}
}

// TestCountsOfTextsThatLeft: counts of texts that the log no longer has leave the file.
func TestCountsOfTextsThatLeft(t *testing.T) {
	t.Parallel()
	folder := Folder(filepath.Join(t.TempDir(), "memory"))
	key, err := schema.NewKey(rand.Reader, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Repeat("a", 100), strings.Repeat("b", 100)} {
		counts := folder.Counts("log", "one", key)
		counts.Count("", text, func(string, string) (int64, string) { return 1, "x" })
		if err := folder.KeepCounts("log", "one", counts); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(folder.Counts("log", "one", key).before); n != 1 {
		t.Errorf("%d counts are kept, want 1", n)
	}
}
