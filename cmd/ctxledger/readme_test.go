package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// snippetFrame is what the README's ten lines stand in.
const snippetFrame = `package main

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

func main() {}

func snippet(ctx context.Context, nc *nats.Conn, billed schema.ProviderUsage) error {
	SNIPPET
	return err
}
`

func TestTenLinesOfTheReadmeCompile(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	snippet, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no Go snippet")
	}
	if n := strings.Count(snippet, "\n"); n != 10 {
		t.Errorf("the snippet has %d lines, the README says ten", n)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(strings.Replace(snippetFrame, "SNIPPET", snippet, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReadmeNamesEveryDirectDependency(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.Contains(fields[0], "/") || fields[0] == "module" {
			continue // not a direct requirement
		}
		name := fields[0]
		short := "…" + name[strings.LastIndex(name, "/"):]
		if !strings.Contains(string(readme), "`"+name+"`") && !strings.Contains(string(readme), "`"+short+"`") {
			t.Errorf("the README does not say what %s is for", name)
		}
	}
}
