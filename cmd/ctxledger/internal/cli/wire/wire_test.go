package wire_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// TestRunClaudeCode starts the real Claude Code behind `run`, which starts the ledger. Then the
// ledger has each call of the model server once, with its usage.
func TestRunClaudeCode(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	usage := modelserver.Usage{Input: 100, CacheRead: 40, CacheWrite5m: 7, Output: 9}
	server := modelserver.New(t, modelserver.Sequence(
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", `{"command":"echo one","description":"d"}`)}, Usage: usage},
		modelserver.Answer{Fault: modelserver.Fault{Status: 529}},
		modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("one is done")}, Usage: usage},
	))
	client, data := realclient.ClaudeCode(t, server.URL), t.TempDir()
	p := clitest.Command("run", "--data", data, "--only-providers", "--host", "api.anthropic.com="+server.URL, "--",
		client.Program, "-p", "echo one", "--allowedTools", "Bash", "--output-format", "json")
	p.Dir, p.Env = client.Dir, slices.DeleteFunc(slices.Clone(client.Env), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
	if code := p.Begin(t).Code(t, clitest.StartPatience); code != cli.ExitDone || !strings.Contains(p.Results.String(), "one is done") {
		t.Fatalf("exit code %d\n%s%s", code, &p.Results, &p.Messages)
	}
	calls := server.Calls()
	if want := fmt.Sprintf("ctxledger recorded %d calls", len(calls)); !strings.Contains(p.Messages.String(), want) {
		t.Errorf("want %q in %s", want, &p.Messages)
	}
	if !runsPage.MatchString(p.Messages.String()) {
		t.Errorf("no address of the session's page in %s", &p.Messages)
	}
	clitest.Up(t, data)
	clitest.AwaitRow(t, data, `SELECT countIf(output > 0), count(), sum(window_tokens), uniqExact(session_id) FROM model_calls`, fmt.Sprintf("2,%d,294,1", len(calls)))
	sameAsImported(t, data, client)
	if out, _, code := clitest.Run(t, "quarantine", "list", "--data", data, "-o", "json"); code != cli.ExitDone || strings.Contains(out, "code") {
		t.Errorf("quarantined: %s", out)
	}
}

// sameAsImported imports the client's own log of the session. Both tellings of a call have the same
// blocks by their digests; the log lacks the billing header and the refused call. No sum changes.
func sameAsImported(t *testing.T, data string, client *realclient.Client) {
	t.Helper()
	const sums = `SELECT count(), sum(window_tokens), sum(output), uniqExact(session_id) FROM model_calls`
	before, _, _ := clitest.Run(t, "query", "--data", data, "-o", "csv", "--sql", sums)
	_, row, _ := strings.Cut(before, "\n")
	if out, stderr, code := clitest.Run(t, "import", "claude-code", filepath.Join(client.Home, ".claude", "projects"), "--data", data); code != cli.ExitDone {
		t.Fatalf("import ended with %d\n%s%s", code, out, stderr)
	}
	clitest.AwaitRow(t, data, `SELECT count() FROM calls WHERE startsWith(source, 'urn:ctxledger:import:')`, "2")
	clitest.AwaitRow(t, data, sums, strings.TrimSpace(row))
	told := clitest.Ask(t, data, "fidelity")
	both := 0
	for _, call := range told {
		if fmt.Sprint(call["sources"]) == "2" {
			both++
		}
		if fmt.Sprint(call["fidelity"]) != "wire" || fmt.Sprint(call["differs"]) != "[]" {
			t.Errorf("a call is told as %v", call)
		}
	}
	if both != 2 {
		t.Errorf("%d calls are told by both: %v", both, told)
	}
	imported, captured := windowsOf(t, data, "import"), windowsOf(t, data, "capture")
	for _, window := range imported {
		if !slices.ContainsFunc(captured, func(other []string) bool { return slices.Equal(other[1:], window) }) {
			t.Errorf("no request on the wire has the window %v", window)
		}
	}
	if len(imported) != 2 || len(captured) != 3 {
		t.Errorf("%d imported and %d captured windows", len(imported), len(captured))
	}
}

// windowsOf returns the windows that a kind of source recorded, as the equality digests of their
// blocks.
func windowsOf(t *testing.T, data, source string) (list [][]string) {
	t.Helper()
	known := make(map[string][]string)
	for _, row := range clitest.Ask(t, data, "--sql", `SELECT assembly_id, base_assembly_id, keep, block_equalities FROM placements WHERE record_kind = 'assembly' AND startsWith(source, 'urn:ctxledger:`+source+`:') ORDER BY stream_seq`) {
		var window []string
		if keep, based := row["keep"].(float64); based {
			window = slices.Clone(known[fmt.Sprint(row["base_assembly_id"])][:int(keep)])
		}
		for _, digest := range row["block_equalities"].([]any) {
			window = append(window, digest.(string))
		}
		known[fmt.Sprint(row["assembly_id"])] = window
		list = append(list, window)
	}
	return list
}

// TestRunPassesSignals: each signal that `run` gets reaches the command, which ends as it likes.
func TestRunPassesSignals(t *testing.T) {
	t.Parallel()
	for i, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			script := fmt.Sprintf(`trap 'echo got; exit %d' %d; echo ready >&2; while :; do sleep 0.02; done`, 40+i, int(signal))
			p := clitest.Command("run", "--no-start", "--data", t.TempDir(), "--", "sh", "-c", script)
			r, w := io.Pipe()
			p.Stderr = w
			p.Begin(t)
			said := bufio.NewReader(r)
			for {
				line, err := said.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if line == "ready\n" {
					break
				}
			}
			go func() { _, _ = io.Copy(io.Discard, said) }()
			if err := p.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := p.Code(t, clitest.StartPatience); code != 40+i || p.Results.String() != "got\n" {
				t.Errorf("exit code %d, the command says %q", code, &p.Results)
			}
		})
	}
}

// TestRunPassesTheTerminal: the command has the terminal on which run was started.
func TestRunPassesTheTerminal(t *testing.T) {
	t.Parallel()
	script, err := exec.LookPath("script")
	if err != nil {
		clitest.Skip(t, "there is no script, which gives a command a terminal")
	}
	p := clitest.Command("run", "--no-start", "--data", t.TempDir(), "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all three")
	quoted := make([]string, len(p.Args))
	for i, arg := range p.Args {
		quoted[i] = "'" + arg + "'"
	}
	folder := t.TempDir()
	if err := os.Symlink(p.Path, filepath.Join(folder, "ctxledger")); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(script, "-qec", folder+"/ctxledger "+strings.Join(quoted[1:], " "), "/dev/null").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all three") {
		t.Errorf("%v: %s", err, out)
	}
}

// page returns the text of an address, and the address to which it leads.
func page(t *testing.T, address string) (text, leads string) {
	t.Helper()
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d, %v: %s", address, response.StatusCode, err, body)
	}
	return string(body), response.Request.URL.Path
}

// TestRunServesPages: the address that `run` prints first answers as long as the command runs. No
// other port is open.
func TestRunServesPages(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data := t.TempDir()
	p := clitest.Command("run", "--data", data, "--", "cat")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	p.Stderr = w
	p.Begin(t)
	go func() {
		<-p.Done
		w.Close()
	}()
	said := bufio.NewReader(r)
	address := ""
	for address == "" { // a client of another test, whose server had this port, may be logged first
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("run says %q last, %v", line, err)
		}
		address = runsPage.FindString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	if text, _ := page(t, address); !strings.Contains(text, "No call is recorded yet") {
		t.Errorf("the page is %s", text)
	}
	if ports, err := os.ReadFile(filepath.Join(data, "ports.json")); err != nil || strings.Contains(string(ports), "capture") {
		t.Errorf("the ports are %s, %v", ports, err)
	}
	in.Close()
	if code := p.Code(t, clitest.StartPatience); code != cli.ExitDone {
		t.Errorf("run ended with %d", code)
	}
	if _, err := http.Get(address); err == nil {
		t.Error("the page answers after the end of run")
	}
}

// runsPage is the address that `run` prints.
var runsPage = regexp.MustCompile(`http://127\.0\.0\.1:\d+/last\?since=\S+`)

// talk sends a conversation of n messages to a model through a base URL.
func talk(t *testing.T, base string, n int) {
	t.Helper()
	var messages []string
	for i := range n {
		message := fmt.Sprintf(`{"role":"user","content":"question %d"}`, i)
		if i%2 == 1 {
			message = fmt.Sprintf(`{"role":"assistant","content":"answer %d"}`, i)
		}
		messages = append(messages, message)
	}
	body := `{"model":"gpt-5","messages":[` + strings.Join(messages, ",") + `]}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer of-the-test")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v: %s", response.StatusCode, err, text)
	}
}

// TestUpRecordsByBaseURL talks to a model through `up`, which is killed in the middle of the
// conversation. The ledger has each call and each item once, and /last leads to the session.
func TestUpRecordsByBaseURL(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	var answers []modelserver.Answer
	for _, text := range []string{"answer 1", "answer 3", "answer 5"} {
		answers = append(answers, modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(text)}, Usage: modelserver.Usage{Input: 50, Output: 1}})
	}
	server := modelserver.New(t, modelserver.Sequence(answers...))
	data, since := t.TempDir(), time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	upstream := []string{"--upstream", "local=" + server.URL}
	first, found := clitest.BeginUp(t, data, upstream...)
	talk(t, found.Capture+"/local", 1)
	talk(t, found.Capture+"/local", 3)
	const counts = `SELECT count(), uniqExact(session_id), sum(uncached_input), (SELECT count() FROM items FINAL), (SELECT count() FROM quarantine) FROM model_calls`
	clitest.AwaitRow(t, data, counts, "2,1,100,4,0")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.Done
	_, found = clitest.BeginUp(t, data, upstream...)
	talk(t, found.Capture+"/local", 5)
	clitest.AwaitRow(t, data, counts, "3,1,150,6,0")
	if _, leads := page(t, found.Explorer+"last?since="+since); !strings.HasPrefix(leads, "/s/") {
		t.Errorf("/last leads to %s", leads)
	}
	if text, _ := page(t, found.Explorer+"last?since="+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)); !strings.Contains(text, "No call is recorded yet") {
		t.Errorf("before the first call /last shows %s", text)
	}
}
