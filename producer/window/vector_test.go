package window_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vectors reads a file of shared/vectors.
func vectors(t *testing.T, name string, into any) {
	t.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	data, err := os.ReadFile(filepath.Join(shared, "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}
