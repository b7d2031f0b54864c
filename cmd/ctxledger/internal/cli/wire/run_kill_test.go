package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// streamer runs NATS alone, in the folder and on the port of its arguments, until it is killed.
func streamer() {
	c := embedded.DefaultConfig(os.Args[1])
	c.NoClickHouse = true
	c.NATSPort, _ = strconv.Atoi(os.Args[2])
	s, err := embedded.Start(context.Background(), c)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(s.NATSURL())
	select {}
}

// another returns this binary under another name, which TestMain knows.
func another(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// beginStream starts NATS in a process of its own, and returns its address. Port 0 is any free one.
func beginStream(t *testing.T, path, folder, port string) (*clitest.Program, string) {
	t.Helper()
	p := &clitest.Program{Cmd: exec.Command(path, folder, port), Done: make(chan struct{})}
	r, w := io.Pipe()
	p.Stdout = w
	p.Begin(t)
	address, err := bufio.NewReader(r).ReadString('\n')
	if err != nil || !strings.HasPrefix(address, "nats://") {
		t.Fatalf("NATS starts with %q, %v", address, err)
	}
	return p, strings.TrimSpace(address)
}

// TestRunOutlivesItsServers kills the projector, ClickHouse and NATS, each alone and each of them a
// process, while the real Claude Code works behind `run`. The client does not notice. The facts wait
// while NATS is away, and the ledger has each call once after all has started again.
func TestRunOutlivesItsServers(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	path, folder, data := another(t, "streamer"), t.TempDir(), t.TempDir()
	stream, address := beginStream(t, path, folder, "0")
	port := address[strings.LastIndexByte(address, ':')+1:]
	engine := embeddedtest.Start(t, func(c *embedded.Config) { c.NoNATS = true })
	environment := append(os.Environ(), "CTXLEDGER_NATS_URL="+address, "CTXLEDGER_CLICKHOUSE_DSN="+engine.ClickHouseDSN(), "CTXLEDGER_DATA="+data)
	begin := func(args ...string) *clitest.Program {
		p := clitest.Command(args...)
		p.Env = environment
		return p.Begin(t)
	}
	done := func(args ...string) *clitest.Program {
		t.Helper()
		p := begin(args...)
		if code := p.Code(t, clitest.StartPatience); code != cli.ExitDone {
			t.Fatalf("%v ended with %d\n%s%s", args, code, &p.Results, &p.Messages)
		}
		return p
	}
	kill := func(p *clitest.Program) {
		_ = p.Process.Kill()
		<-p.Done
	}
	done("migrate")
	projector := begin("project")

	const calls = 7
	usage := modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}
	steps := map[int]func(){
		1: func() { kill(projector) },
		2: func() { _ = syscall.Kill(engine.EnginePID(), syscall.SIGKILL) },
		3: func() { kill(stream) },
		5: func() { stream, _ = beginStream(t, path, folder, port) },
		6: func() { kill(stream) },
	}
	server := modelserver.New(t, func(r *modelserver.Request) modelserver.Answer {
		results := strings.Count(string(r.Body), `"tool_result"`)
		if step := steps[results]; step != nil {
			delete(steps, results)
			step()
		}
		if results == calls-1 {
			return modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("all is done")}, Usage: usage}
		}
		return modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", fmt.Sprintf(`{"command":"echo %d","description":"d"}`, results))}, Usage: usage}
	})
	client := realclient.ClaudeCode(t, server.URL)
	p := clitest.Command("run", "--only-providers", "--host", "api.anthropic.com="+server.URL, "--no-start", "--", client.Program, "-p", "echo six numbers", "--allowedTools", "Bash", "--output-format", "json")
	p.Dir, p.Env = client.Dir, slices.DeleteFunc(slices.Concat(client.Env, environment[len(environment)-3:]), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
	if code := p.Begin(t).Code(t, clitest.StartPatience); code != cli.ExitDone || !strings.Contains(p.Results.String(), "all is done") || !strings.Contains(p.Results.String(), `"is_error":false`) {
		t.Fatalf("exit code %d\n%s%s", code, &p.Results, &p.Messages)
	}
	if received := server.Calls(); len(received) != calls || len(steps) > 0 {
		for _, call := range received {
			t.Errorf("call %d at %s with %d messages, status %d", call.Number, call.At.Format(time.StampMilli), len(call.List("messages")), call.Status)
		}
		t.Fatalf("want %d calls", calls)
	}
	if !strings.Contains(p.Messages.String(), "facts wait in") {
		t.Errorf("run does not say that facts wait: %s", &p.Messages)
	}
	beginStream(t, path, folder, port)
	if p := done("run", "--no-start", "--", "true"); strings.Contains(p.Messages.String(), "facts wait in") {
		t.Errorf("the next run leaves facts: %s", &p.Messages)
	}
	for deadline := time.Now().Add(clitest.StartPatience); begin("query", "--sql", "SELECT 1").Code(t, clitest.StartPatience) == cli.ExitUnreachable && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond) // ClickHouse recovers
	}
	done("project", "--until-caught-up")
	answer := done("query", "-o", "csv", "--sql", `SELECT count(), uniqExact(provider_message_id), sum(uncached_input), uniqExact(session_id), (SELECT count() FROM quarantine) FROM model_calls`)
	if _, row, _ := strings.Cut(answer.Results.String(), "\n"); strings.TrimSpace(row) != fmt.Sprintf("%d,%d,%d,1,0", calls, calls, 100*calls) {
		t.Errorf("the ledger answers %s", row)
	}
}

// talker is the client of a model. It continues a conversation of the first given number of
// messages up to the second. It prints each answered call, or the error that ends it.
func talker() {
	from, _ := strconv.Atoi(os.Args[1])
	to, _ := strconv.Atoi(os.Args[2])
	for n := from; n <= to; n += 2 {
		var messages []string
		for i := range n {
			messages = append(messages, fmt.Sprintf(`{"role":%q,"content":"message %d"}`, []string{"user", "assistant"}[i%2], i))
		}
		body := `{"model":"gpt-5","messages":[` + strings.Join(messages, ",") + `]}`
		response, err := http.Post("https://api.openai.com/v1/chat/completions", "application/json", strings.NewReader(body))
		if err == nil {
			_, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(3)
		}
		fmt.Println("answered", n)
	}
	os.Exit(0)
}

// storedCalls returns the calls whose facts the recorders of a data folder said to be stored.
func storedCalls(data string) (calls int, err error) {
	files, err := filepath.Glob(filepath.Join(data, "capture", "*", "sessions", "*.json"))
	for _, file := range files {
		var state struct {
			Session struct {
				Threads []struct {
					Calls int `json:"calls"`
				} `json:"threads"`
			} `json:"session"`
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &state)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		for _, thread := range state.Session.Threads {
			calls += thread.Calls
		}
	}
	return calls, err
}

// TestKilledRun kills `run` itself again and again, in the middle of a call of its client. The
// client sees an error of its own. No fact that was said to be stored is lost, no item is added
// twice, and nothing conflicts.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	clitest.NeedEngine(t)
	data, client := t.TempDir(), another(t, "talker")
	server := modelserver.New(t, func(r *modelserver.Request) modelserver.Answer {
		a := modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(fmt.Sprintf("message %d", len(r.List("messages"))))}, Usage: modelserver.Usage{Input: 10, Output: 1}}
		a.Fault.Delay = 20 * time.Millisecond
		return a
	})
	environment := append(os.Environ(), "TMPDIR="+t.TempDir()) // a killed run leaves its certificates
	run := func(from, to int, more ...string) *clitest.Program {
		args := slices.Concat([]string{"run", "--data", data, "--only-providers", "--host", "api.openai.com=" + server.URL}, more, []string{"--", client, strconv.Itoa(from), strconv.Itoa(to)})
		p := clitest.Command(args...)
		p.Env = environment
		return p.Begin(t)
	}
	said, from := 0, 1
	for round := range 5 {
		p := run(from, from+2000, "--no-start")
		for deadline := time.Now().Add(clitest.StartPatience); ; time.Sleep(time.Millisecond) {
			now, err := storedCalls(data)
			if err != nil {
				t.Fatal(err)
			}
			if now > said+round {
				break
			}
			if time.Now().After(deadline) || p.Ended() {
				t.Fatalf("%d calls are stored after %d\n%s%s", now, said, &p.Results, &p.Messages)
			}
		}
		time.Sleep(time.Duration(rand.IntN(25)) * time.Millisecond) // any moment of a call
		_ = p.Process.Kill()
		p.Code(t, clitest.StartPatience)
		out, _, failed := strings.Cut(p.Results.String(), "error ")
		if !failed {
			t.Fatalf("the client of a killed run says %s", out)
		}
		now, err := storedCalls(data)
		if err != nil || now < said {
			t.Fatalf("%d stored calls became %d, %v", said, now, err)
		}
		answered := strings.Fields(out)
		last, _ := strconv.Atoi(answered[len(answered)-1])
		said, from = now, last+2
		t.Logf("killed after %d answers; %d calls are stored", (last+1)/2, said)
	}
	const more = 3
	p := run(from, from+2*(more-1), "--no-start")
	if code := p.Code(t, clitest.StartPatience); code != cli.ExitDone {
		t.Fatalf("the last run ended with %d\n%s%s", code, &p.Results, &p.Messages)
	}
	final, err := storedCalls(data)
	if err != nil || final < said+more {
		t.Errorf("%d calls are stored at the end, after %d and %d more, %v", final, said, more, err)
	}
	clitest.Up(t, data)
	if p := clitest.Command("run", "--data", data, "--", "true").Begin(t); p.Code(t, clitest.StartPatience) != cli.ExitDone || strings.Contains(p.Messages.String(), "wait in") {
		t.Errorf("facts wait: %s", &p.Messages)
	}
	// Each message of the last window is one item, and so is its answer. Each stored call is there.
	items := from + 2*(more-1) + 1
	clitest.AwaitRow(t, data, `SELECT count(), uniqExact(session_id), (SELECT count() FROM items FINAL), (SELECT uniqExact(item_id) FROM items FINAL), (SELECT count() FROM quarantine) FROM model_calls`,
		fmt.Sprintf("%d,1,%d,%d,0", final, items, items))
}
