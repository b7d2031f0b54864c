package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// snippetFrame is what the README's snippets stand in.
const snippetFrame = `package main

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/producertest"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

func main() {}

func tenLines(ctx context.Context, nc *nats.Conn, billed schema.ProviderUsage) error {
	TENLINES
	return err
}

func runtimeTest(t *testing.T) {
	RUNTIMETEST
	_, _ = client, selection
}
`

// goSnippets are the README's blocks of Go, in order.
func goSnippets(t *testing.T) (snippets []string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, rest := range strings.Split(string(readme), "```go\n") {
		snippet, _, closed := strings.Cut(rest, "```")
		if i > 0 && closed {
			snippets = append(snippets, snippet)
		}
	}
	return snippets
}

func TestSnippetsOfTheReadmeCompile(t *testing.T) {
	t.Parallel()
	snippets := goSnippets(t)
	if len(snippets) != 2 {
		t.Fatalf("the README has %d Go snippets, not 2", len(snippets))
	}
	if n := strings.Count(snippets[0], "\n"); n != 10 {
		t.Errorf("the first snippet has %d lines, the README says ten", n)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	source := strings.NewReplacer("TENLINES", snippets[0], "RUNTIMETEST", snippets[1]).Replace(snippetFrame)
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestQuickStartIsTheReadmes keeps the package comment at what is compiled here.
func TestQuickStartIsTheReadmes(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile(filepath.Join("..", "..", "producer", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := "//\t" + strings.ReplaceAll(strings.TrimSpace(goSnippets(t)[0]), "\n", "\n//\t") + "\n"
	if !strings.Contains(string(comment), want) {
		t.Errorf("producer/doc.go does not have the README's ten lines:\n%s", want)
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
