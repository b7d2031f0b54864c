package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/producertest/modelserver"
	"github.com/ctxledger/ctxledger/producer/producertest/realclient"
)

// TestRunOutlivesItsServers kills ClickHouse, then NATS with the projector, while the real Claude
// Code works behind `run`. The client does not notice, and the ledger has each call once after the
// servers and a recorder have started again.
func TestRunOutlivesItsServers(t *testing.T) {
	t.Parallel()
	needEngine(t)
	data := t.TempDir()
	servers, found := beginUp(t, data)
	usage := modelserver.Usage{Input: 100, CacheRead: 40, Output: 9}
	var once [2]sync.Once
	server := modelserver.New(t, func(r *modelserver.Request) modelserver.Answer {
		done := strings.Count(string(r.Body), `"tool_result"`)
		switch done {
		case 1:
			once[0].Do(func() { killEngine(t, data) })
		case 2:
			once[1].Do(func() {
				_ = servers.Process.Kill()
				<-servers.done
			})
		case 4:
			return modelserver.Answer{Parts: []modelserver.Part{modelserver.Text("all is done")}, Usage: usage}
		}
		return modelserver.Answer{Parts: []modelserver.Part{modelserver.Call("Bash", fmt.Sprintf(`{"command":"echo %d","description":"d"}`, done))}, Usage: usage}
	})
	client := realclient.ClaudeCode(t, server.URL)
	run := func(args ...string) *program {
		p := command(append([]string{"run", "--data", data, "--only-providers", "--host", "api.anthropic.com=" + server.URL, "--no-start", "--"}, args...)...)
		p.Dir, p.Env = client.Dir, slices.DeleteFunc(slices.Clone(client.Env), func(v string) bool { return strings.HasPrefix(v, "ANTHROPIC_BASE_URL=") })
		return p.begin(t)
	}
	p := run(client.Program, "-p", "echo four numbers", "--allowedTools", "Bash", "--output-format", "json")
	if code := p.code(t, startPatience); code != cli.ExitDone || !strings.Contains(p.stdout.String(), "all is done") || !strings.Contains(p.stdout.String(), `"is_error":false`) {
		t.Fatalf("exit code %d\n%s%s", code, &p.stdout, &p.stderr)
	}
	if calls := server.Calls(); len(calls) != 5 {
		for _, call := range calls {
			t.Errorf("call %d at %s with %d messages, status %d", call.Number, call.At.Format(time.StampMilli), len(call.List("messages")), call.Status)
		}
		t.Fatal("want 5 calls")
	}
	if !strings.Contains(p.stderr.String(), "facts wait in") {
		t.Errorf("run does not say that facts wait: %s", &p.stderr)
	}
	address, err := url.Parse(found.NATSURL)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := beginUp(t, data, "--nats-port", address.Port())
	if p := run("true"); p.code(t, startPatience) != cli.ExitDone || strings.Contains(p.stderr.String(), "facts wait in") {
		t.Errorf("the next run leaves facts: %s", &p.stderr)
	}
	awaitRow(t, data, `SELECT count(), uniqExact(provider_message_id), sum(uncached_input), uniqExact(session_id), (SELECT count() FROM quarantine) FROM model_calls`, "5,5,500,1,0")
	_ = again.Process.Signal(syscall.SIGTERM)
	again.code(t, startPatience)
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
	needEngine(t)
	data := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	client := filepath.Join(t.TempDir(), "talker")
	if err := os.Symlink(self, client); err != nil {
		t.Fatal(err)
	}
	server := modelserver.New(t, func(r *modelserver.Request) modelserver.Answer {
		a := modelserver.Answer{Parts: []modelserver.Part{modelserver.Text(fmt.Sprintf("message %d", len(r.List("messages"))))}, Usage: modelserver.Usage{Input: 10, Output: 1}}
		a.Fault.Delay = 20 * time.Millisecond
		return a
	})
	run := func(from, to int, more ...string) *program {
		args := slices.Concat([]string{"run", "--data", data, "--only-providers", "--host", "api.openai.com=" + server.URL}, more, []string{"--", client, strconv.Itoa(from), strconv.Itoa(to)})
		return command(args...).begin(t)
	}
	said, from := 0, 1
	for round := range 5 {
		p := run(from, from+2000, "--no-start")
		for deadline := time.Now().Add(startPatience); ; time.Sleep(time.Millisecond) {
			now, err := storedCalls(data)
			if err != nil {
				t.Fatal(err)
			}
			if now > said+round {
				break
			}
			if time.Now().After(deadline) || p.ended() {
				t.Fatalf("%d calls are stored after %d\n%s%s", now, said, &p.stdout, &p.stderr)
			}
		}
		time.Sleep(time.Duration(rand.IntN(25)) * time.Millisecond) // any moment of a call
		_ = p.Process.Kill()
		p.code(t, startPatience)
		out, _, failed := strings.Cut(p.stdout.String(), "error ")
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
	if code := p.code(t, startPatience); code != cli.ExitDone {
		t.Fatalf("the last run ended with %d\n%s%s", code, &p.stdout, &p.stderr)
	}
	final, err := storedCalls(data)
	if err != nil || final < said+more {
		t.Errorf("%d calls are stored at the end, after %d and %d more, %v", final, said, more, err)
	}
	up(t, data)
	if p := command("run", "--data", data, "--", "true").begin(t); p.code(t, startPatience) != cli.ExitDone || strings.Contains(p.stderr.String(), "wait in") {
		t.Errorf("facts wait: %s", &p.stderr)
	}
	// Each message of the last window is one item, and so is its answer. Each stored call is there.
	items := from + 2*(more-1) + 1
	awaitRow(t, data, `SELECT count(), uniqExact(session_id), (SELECT count() FROM items FINAL), (SELECT uniqExact(item_id) FROM items FINAL), (SELECT count() FROM quarantine) FROM model_calls`,
		fmt.Sprintf("%d,1,%d,%d,0", final, items, items))
}
