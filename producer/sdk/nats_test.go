package sdk

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// overNATS runs a test for each SDK. TypeScript's has the packages of the NATS project. The function
// makes a command of a program of testdata.
func overNATS(t *testing.T, test func(*testing.T, func(program string, args ...string) *exec.Cmd)) {
	t.Parallel()
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		var programs []string
		for _, name := range []string{"session.mjs", "notices.mjs", "faults.mjs", "signin.mjs"} {
			programs = append(programs, filepath.Join("testdata", name))
		}
		client := withLibraries(t, programs...)
		test(t, inApp(t, client))
	})
	t.Run("Python", func(t *testing.T) {
		t.Parallel()
		embeddedtest.Smoke(t)
		test(t, func(program string, args ...string) *exec.Cmd { return languages[1].command(t, program, args...) })
	})
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v: %v\n%s%s", cmd.Args, err, out, &stderr)
	}
	return out
}

// TestSessionOverNATS records the session with every helper straight to JetStream.
func TestSessionOverNATS(t *testing.T) {
	overNATS(t, func(t *testing.T, command func(string, ...string) *exec.Cmd) {
		bus := bustest.Start(t)
		checkSession(t, bus, output(t, command("session", bus.NC.ConnectedUrl(), keyText)))
		for _, e := range bus.Events(t) {
			stream, err := bus.JS.Stream(t.Context(), "CTX")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.GetLastMsgForSubject(t.Context(), schema.SubjectOf(e).String()); err != nil {
				t.Errorf("%s is not on its subject %s: %v", e.EventType(), schema.SubjectOf(e), err)
			}
		}
	})
}

// TestNoticesOverNATS: the client counts the notices of its own source.
func TestNoticesOverNATS(t *testing.T) {
	overNATS(t, func(t *testing.T, command func(string, ...string) *exec.Cmd) {
		bus := bustest.Start(t)
		heard := make(chan []byte, 1)
		subscribed, err := bus.NC.SubscribeSync(schema.AllSubjects)
		if err != nil {
			t.Fatal(err)
		}
		go func() { heard <- output(t, command("notices", bus.NC.ConnectedUrl(), "s")) }()
		if _, err := subscribed.NextMsgWithContext(bustest.Within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		for _, runtime := range []string{"other", "ts", "py"} { // the event was stored after the client had subscribed
			source := "urn:ctxledger:runtime:" + runtime + ":fixed"
			data, err := json.Marshal(schema.Notice{Outcome: schema.OutcomeQuarantined, Source: source, ID: "id-" + runtime, Type: "t", Code: schema.CodeIDConflict, Pointer: "/id", Fix: "give it another id"})
			if err == nil {
				err = bus.NC.Publish(schema.NoticeSubject("default", source), data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		said := decode[struct {
			Quarantined, Again int
			ID                 string
		}](t, <-heard)
		if said.Quarantined != 1 || said.Again != 0 || !strings.HasSuffix(t.Name(), map[string]string{"id-ts": "TypeScript", "id-py": "Python"}[said.ID]) || said.ID == "" {
			t.Errorf("%+v", said)
		}
	})
}

// TestOutboxOverNATS kills a process whose NATS is away. The next process sends what the outbox holds,
// and a server that stops in the middle loses nothing. JetStream refuses no event by a rule.
func TestOutboxOverNATS(t *testing.T) {
	overNATS(t, func(t *testing.T, run func(string, ...string) *exec.Cmd) {
		bus, stop, start := bustest.Restartable(t)
		address, outbox := bus.NC.ConnectedUrl(), filepath.Join(t.TempDir(), "outbox")
		stop()
		command := func(args ...string) *exec.Cmd { return run("faults", append([]string{address, outbox}, args...)...) }
		out, err := command("700", "leave").Output()
		if err == nil || string(out) != `{"stored":"outbox"}` {
			t.Fatalf("%s: %v", out, err)
		}
		held := command("3000", "hold")
		input, err := held.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := held.StdoutPipe()
		if err == nil {
			err = held.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(output)
		if line, err := lines.ReadString('\n'); err != nil || line != "held\n" {
			t.Fatalf("%q, %v", line, err)
		}
		start()
		input.Close()
		for bus.Messages(t) < 1500 {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
		start()
		text, err := io.ReadAll(lines)
		if err != nil || held.Wait() != nil || !strings.Contains(strings.ReplaceAll(string(text), " ", ""), `"done":true`) {
			t.Fatalf("%s: %v", text, err)
		}
		found := make(map[string]bool)
		for _, e := range bus.Events(t) {
			found[e.Source+" "+e.ID] = true
		}
		if len(found) != 703+3003 {
			t.Errorf("the stream has %d events", len(found))
		}
	})
}
