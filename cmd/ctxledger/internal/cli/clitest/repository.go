package clitest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// repository is the folder of this repository: tests begin in the folder of their package. It is empty in a
// program that a test starts elsewhere.
var repository = func() string {
	for dir, err := os.Getwd(); err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return ""
}()

// Repository returns the path of a file of this repository.
func Repository(path ...string) string {
	return filepath.Join(append([]string{repository}, path...)...)
}

// ReadRepository returns the text of a file of this repository.
func ReadRepository(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(Repository(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// SDKFolders are the SDKs for other languages, each with the folder in which a program of its
// user finds it.
var SDKFolders = []struct{ Interpreter, From, To, Example, Decisions string }{
	{"node", "typescript", "node_modules/@ctxledger/sdk", "typescript/examples/agent.mjs", "testdata/decisions.mjs"},
	{"python3", "python/ctxledger", "ctxledger", "python/examples/agent.py", "testdata/decisions.py"},
}

// SDKPath returns the path of a file of the SDKs.
func SDKPath(name string) string { return Repository("producer", "sdk", name) }

// CopyOfLogs copies a folder of logs and lets the files settle.
func CopyOfLogs(t *testing.T, folder string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "logs")
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	Settle()
	return to
}

// Settle waits until the files of logs are old enough to be as they were. The time of a change of a
// file cannot be set.
func Settle() { time.Sleep(2100 * time.Millisecond) }
