package redact

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTranscripts searches real sessions, as documents and as text, for 1,000 values that
// nobody wrote there. Any hit is a hit by chance. The log shows the texts that the sieve
// does not decide, because these texts are slow.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is not set")
		}
		t.Skip("CTXLEDGER_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "transcripts", "*", "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	held := testGuard(t, realisticValues(1000)).held()
	found, documents, bytes, searched := map[Form]int{}, 0, 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Lines(string(text))
		if json.Valid(text) {
			lines = func(yield func(string) bool) { yield(string(text)) }
		}
		for line := range lines {
			documents, bytes = documents+1, bytes+len(line)
			if held.surelyCleanJSON([]byte(line)) {
				continue
			}
			searched += len(line)
			_, hits, err := held.maskJSON([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			for _, hit := range hits {
				found[hit.Form]++
			}
		}
	}
	t.Logf("%d documents of %d bytes, %d bytes searched, hits %v", documents, bytes, searched, found)
	if len(found) > 0 {
		t.Errorf("found what is not there: %v", found)
	}
}
