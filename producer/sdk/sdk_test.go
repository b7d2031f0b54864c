package sdk

import (
	"bytes"
	"os"
	"testing"
)

// TestGeneratedFilesAreCurrent fails when the contract has changed and the files have not.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	for path, want := range Files() {
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s differs from the contract: run `go generate ./producer/sdk`", path)
		}
	}
}
