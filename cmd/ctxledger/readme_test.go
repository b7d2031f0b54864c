package main

import (
	"bufio"
	"context"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// notRun are the lines of the README's shell blocks that its test does not run, with the
// reason.
var notRun = map[string]string{
	"go run ./cmd/ctxledger demo": "TestDemo runs the demo",
	"go test ./...":               "this test is a part of it",
}

// readmeBlocks are the README's blocks of a language, in order.
func readmeBlocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	for i, rest := range strings.Split(clitest.ReadRepository(t, "README.md"), "```"+language+"\n") {
		block, _, closed := strings.Cut(rest, "```")
		if i > 0 && closed {
			blocks = append(blocks, block)
		}
	}
	return blocks
}

// readmeBlock is the README's only block of a language.
func readmeBlock(t *testing.T, language string) string {
	t.Helper()
	blocks := readmeBlocks(t, language)
	if len(blocks) != 1 {
		t.Fatalf("the README has %d blocks of %s, not 1", len(blocks), language)
	}
	return blocks[0]
}

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	if n := strings.Count(clitest.ReadRepository(t, "README.md"), "\n"); n > 150 {
		t.Errorf("the README has %d lines, more than 150", n)
	}
}

// TestReadmeRuns runs the README as it stands, as a user with session logs of their own: the
// shell blocks, the Go program in a module of its own, and the programs in Python and
// TypeScript. Then the ledger has the sealed turn of each program.
func TestReadmeRuns(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	work := newReadmeUser(t)
	var lines []string
	for _, block := range readmeBlocks(t, "sh") {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(regexp.MustCompile(`\s#.*`).ReplaceAllString(line, ""))
			switch {
			case notRun[line] != "" || line == "":
			case line == "ctxledger up":
				work.up(t)
			case strings.HasPrefix(line, "ctxledger window "): // the facts are in the tables a moment after the stream has them, table by table
				lines = append(lines, "until "+line+" | grep gpt-4o; do sleep 0.05; done")
			default:
				lines = append(lines, line)
			}
		}
	}
	out := work.run(t, "sh", "-e", "-c", strings.Join(lines, "\n"))
	for _, want := range []string{"sessions", "claude-opus-4-5", "gpt-5.3-codex", "turn turn_7, call call_1 of session s_42, gpt-4o"} {
		if !strings.Contains(out, want) {
			t.Errorf("the shell blocks did not print %q:\n%s", want, out)
		}
	}
	work.write(t, "hello.py", readmeBlock(t, "python"))
	work.write(t, "hello.mjs", readmeBlock(t, "ts")) // it has no types, so that Node.js runs it
	for i, program := range []string{"node hello.mjs", "python3 hello.py"} {
		sdk := clitest.SDKFolders[i]
		if _, err := exec.LookPath(sdk.Interpreter); err != nil {
			clitest.Skip(t, err.Error())
		}
		if err := os.CopyFS(filepath.Join(work.module, sdk.To), os.DirFS(clitest.SDKPath(sdk.From))); err != nil {
			t.Fatal(err)
		}
		if out := work.run(t, "sh", "-e", "-c", `eval "$(ctxledger connect env --show-secrets)"; `+program); out != "stream\n" {
			t.Errorf("%s printed %q", program, out)
		}
	}
	const want = "s_42 turn_7|s_43 turn_8|s_44 turn_9"
	asked := []string{"query", "-o", "json", "--data", work.data, "--sql", `SELECT arrayStringConcat(arraySort(groupArray(concat(session_id, ' ', turn_id))), '|') AS found
		FROM events WHERE session_id LIKE 's\\_4%' AND event_type = 'context.envelope.created'`}
	for end := time.Now().Add(clitest.StartPatience); ; time.Sleep(50 * time.Millisecond) {
		stdout, stderr, code := clitest.Run(t, asked...)
		if code == cli.ExitDone && strings.Contains(stdout, `"`+want+`"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger has %s, not %s: %s", stdout, want, stderr)
		}
	}
}

// readmeUser is a user with a home folder, session logs and a Go module of their own.
type readmeUser struct {
	home, module, data string
	env                []string
}

func newReadmeUser(t *testing.T) readmeUser {
	t.Helper()
	home := t.TempDir()
	u := readmeUser{home: home, module: filepath.Join(home, "hello"), data: filepath.Join(home, ".local", "share", "ctxledger")}
	for from, to := range map[string]string{"claude-code": ".claude/projects/p", "codex": ".codex/sessions"} {
		if err := os.CopyFS(filepath.Join(home, to), os.DirFS(clitest.Shared(t, "transcripts", from))); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err == nil {
		err = os.MkdirAll(u.module, 0o700)
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(home, "ctxledger"))
	}
	if err != nil {
		t.Fatal(err)
	}
	library, err := clitest.FetchEngine()
	if err != nil {
		t.Fatal(err)
	}
	u.env = append(os.Environ(), "CTXLEDGER_CACHE="+filepath.Dir(filepath.Dir(filepath.Dir(library))), "GOFLAGS=-mod=mod", "GOPROXY=off")
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		u.env = append(u.env, name+"="+strings.TrimSpace(string(value)))
	}
	u.env = append(u.env, "HOME="+home, "XDG_DATA_HOME=", "PATH="+home+":"+os.Getenv("PATH"))

	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(clitest.ReadRepository(t, "go.mod"), "module "+module, "module hello", 1)
	u.write(t, "go.mod", mod+"\nrequire "+module+" v0.0.0\n\nreplace "+module+" => "+repository+"\n")
	u.write(t, "go.sum", clitest.ReadRepository(t, "go.sum"))
	program := readmeBlock(t, "go")
	if formatted, err := format.Source([]byte(program)); err != nil || string(formatted) != program {
		t.Errorf("the README's Go program is not as gofmt writes it: %v\n%s", err, formatted)
	}
	u.write(t, "main.go", program)
	return u
}

func (u readmeUser) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.module, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a program in the user's module and returns its standard output.
func (u readmeUser) run(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clitest.StartPatience)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = u.module, u.env, &stderr, time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return string(out)
}

// up runs `ctxledger up` until the test ends, and returns when it is ready.
func (u readmeUser) up(t *testing.T) {
	t.Helper()
	p := clitest.Command("up")
	p.Dir, p.Env = u.module, u.env
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	t.Cleanup(func() { // a killed instance would leave its engine, which writes into the folder that the test removes
		_ = p.Process.Signal(os.Interrupt)
		select {
		case <-p.Done:
		case <-time.After(time.Minute):
			t.Error("up does not end")
		}
	})
	ready := make(chan bool, 1)
	go func() {
		text, _ := bufio.NewReader(r).ReadString('\n')
		ready <- strings.HasPrefix(text, "ctxledger is ready")
		_, _ = io.Copy(io.Discard, r)
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatal("up did not print that it is ready")
		}
	case <-p.Done:
		t.Fatalf("up ended: %s", &p.Messages)
	case <-time.After(clitest.StartPatience):
		t.Fatal("up is not ready")
	}
}

// tenLines are the lines of the README's Go program from the client to the seal.
func tenLines(t *testing.T) []string {
	t.Helper()
	_, body, _ := strings.Cut(readmeBlock(t, "go"), "func main() {\n")
	body, _, _ = strings.Cut(body, "\n}\n")
	lines := strings.Split(body, "\n")
	first := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "\tclient :=") })
	if first < 0 || len(lines)-first != 10 {
		t.Fatalf("the Go program has not ten lines from the client on:\n%s", body)
	}
	return lines[first:]
}

// TestQuickStartIsTheReadmes keeps the package comment equal to lines that TestReadmeRuns runs.
func TestQuickStartIsTheReadmes(t *testing.T) {
	t.Parallel()
	want := ""
	for _, line := range tenLines(t) {
		want += "//" + line + "\n"
	}
	if !strings.Contains(clitest.ReadRepository(t, "producer", "doc.go"), want) {
		t.Errorf("producer/doc.go does not have the README's ten lines:\n%s", want)
	}
}

func TestReadmeNamesEveryDirectDependency(t *testing.T) {
	t.Parallel()
	readme := clitest.ReadRepository(t, "README.md")
	for line := range strings.Lines(clitest.ReadRepository(t, "go.mod")) {
		fields := strings.Fields(line)
		if len(fields) != 2 || !strings.Contains(fields[0], "/") || fields[0] == "module" {
			continue // not a direct requirement
		}
		name := fields[0]
		short := "…" + name[strings.LastIndex(name, "/"):]
		if !strings.Contains(readme, "`"+name+"`") && !strings.Contains(readme, "`"+short+"`") {
			t.Errorf("the README does not say what %s is for", name)
		}
	}
}
