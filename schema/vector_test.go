package schema

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestWordsOfTheVectors compares the vocabularies and the event types with the lists of the
// standard in shared/vectors/actx.json. ctxledger adds the words of seeds 000 to 004. Documents
// use the words of Agent Evidence directly.
func TestWordsOfTheVectors(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "actx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Enums      map[string][]string `json:"enums"`
		EventTypes []Type              `json:"event_types"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ours := map[string]string{
		"envelope.scope": "Scope", "lifecycle": "Lifecycle", "content_mode": "ContentMode", "omission_reason": "OmissionReason",
		"overflow_strategy": "OverflowStrategy", "injection_point": "InjectionPoint", "compaction.method": "CompactionMethod",
		"compaction.trigger": "CompactionTrigger", "redaction_state": "RedactionState", "missing.severity": "Severity",
		"missing.status": "MissingStatus", "visibility": "Visibility",
	}
	words := readComments(t).words
	for name, list := range file.Enums {
		if strings.HasPrefix(name, "evidence.") {
			continue
		}
		for _, word := range list {
			if !slices.Contains(words[ours[name]], word) {
				t.Errorf("%s has the word %q, and %q has not", name, word, ours[name])
			}
		}
	}
	for _, kind := range file.EventTypes {
		if !kind.Known() {
			t.Errorf("%s is not known", kind)
		}
	}
	if len(file.Enums) < len(ours) || len(file.EventTypes) < 18 {
		t.Errorf("%d enums and %d types", len(file.Enums), len(file.EventTypes))
	}
}
