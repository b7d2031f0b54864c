package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
)

// TestScripts runs the command line as a shell does. Beside testscript's own
// commands there are:
//
//	code N ctxledger ARG…        runs it and wants exit code N
//	await RE ctxledger ARG…      runs it until its output matches RE
//	up [ARG…]                    starts `ctxledger up` on any ports and waits until it is ready
//	down [INT|TERM]              ends it by a signal; it must exit with 0, and leave nothing running
//	mode PERM FILE               wants the permissions of a file
//	occupy PORTVAR               takes a port, and puts its number into a variable
//	raw SUBJECT FILE             publishes the bytes of a file, whatever they are
//	sql STATEMENT                changes the tables behind the program's back
//
// With UPDATE=1 in the environment, cmp writes what came out into the script.
//
// $CTXLEDGER_DATA is a folder of the script's own. After up, $NATS and
// $CLICKHOUSE are the addresses, with passwords.
func TestScripts(t *testing.T) {
	params := testscript.Params{Dir: "testdata/script"}
	library := ""
	if testing.Short() {
		params = testscript.Params{Files: withoutServers}
	} else {
		clitest.NeedEngine(t)
		var err error
		if library, err = clitest.FetchEngine(); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "ctxledger")); err != nil {
		t.Fatal(err)
	}
	params.RequireExplicitExec, params.RequireUniqueNames, params.UpdateScripts = true, true, os.Getenv("UPDATE") == "1"
	params.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
		e.Setenv("BIN", bin)
		e.Setenv("CTXLEDGER_CACHE", filepath.Dir(filepath.Dir(filepath.Dir(library))))
		e.Setenv("CTXLEDGER_DATA", filepath.Join(e.WorkDir, "data"))
		e.Setenv("TERM", "xterm")
		e.Values["running"] = &running{}
		return nil
	}
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"code": scriptCode, "await": scriptAwait, "up": scriptUp, "down": scriptDown, "mode": scriptMode, "occupy": scriptOccupy, "raw": scriptRaw, "sql": scriptSQL,
	}
	testscript.Run(t, params)
}

// withoutServers are the scripts that the short form of the tests runs.
var withoutServers = []string{
	"testdata/script/connect.txtar", "testdata/script/help.txtar", "testdata/script/schema.txtar", "testdata/script/usage.txtar",
}

// running is the `up` of a script.
type running struct{ program *clitest.Program }

func scriptCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: await RE COMMAND ARG…")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		_ = ts.Exec(args[1], args[2:]...)
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("never matched %s", want)
}

func scriptUp(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.Getenv("CTXLEDGER_DATA")
	p := clitest.Command(slices.Concat([]string{"up", "--json"}, clitest.AnyPorts, args)...)
	p.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "CTXLEDGER_CACHE", "CTXLEDGER_DATA", "TMPDIR"} {
		p.Env = append(p.Env, name+"="+ts.Getenv(name))
	}
	out, err := os.CreateTemp(ts.Getenv("TMPDIR"), "up")
	ts.Check(err)
	p.Stdout = out
	ts.Check(p.Start())
	go func() {
		_ = p.Wait()
		close(p.Done)
	}()
	ts.Value("running").(*running).program = p
	ts.Defer(func() {
		_ = p.Process.Signal(syscall.SIGTERM)
		<-p.Done
	})
	var found serve.UpAddresses
	for deadline := time.Now().Add(clitest.StartPatience); ; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(out.Name())
		ts.Check(err)
		if strings.HasSuffix(string(text), "\n") {
			ts.Check(json.Unmarshal(text, &found))
			break
		}
		if time.Now().After(deadline) {
			ts.Fatalf("up on %s is not ready: %s", data, &p.Messages)
		}
	}
	ts.Setenv("NATS", found.NATSURL)
	ts.Setenv("CLICKHOUSE", found.ClickHouseDSN)
}

func scriptDown(ts *testscript.TestScript, _ bool, args []string) {
	signal := syscall.SIGTERM
	if slices.Contains(args, "INT") {
		signal = syscall.SIGINT
	}
	p := ts.Value("running").(*running).program
	ts.Check(p.Process.Signal(signal))
	select {
	case <-p.Done:
	case <-time.After(20 * time.Second):
		ts.Fatalf("up still runs 20 seconds after %s", signal)
	}
	if code := p.ProcessState.ExitCode(); code != cli.ExitDone {
		ts.Fatalf("up ended with %d: %s", code, &p.Messages)
	}
	text, err := exec.Command("pgrep", "-f", "--", ts.Getenv("CTXLEDGER_DATA")).Output()
	if err == nil {
		ts.Fatalf("up left processes running: %s", text)
	}
}

func scriptMode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: mode PERM FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

func scriptOccupy(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: occupy PORTVAR")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
}

// scriptRaw publishes what `ctxledger publish` would refuse.
func scriptRaw(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: raw SUBJECT FILE")
	}
	nc, err := nats.Connect(ts.Getenv("NATS"))
	ts.Check(err)
	defer nc.Close()
	_, err = nc.Request(args[0], []byte(ts.ReadFile(args[1])), 5*time.Second)
	ts.Check(err)
}

// scriptSQL changes the tables as only a mishap would.
func scriptSQL(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: sql STATEMENT")
	}
	options, err := clickhouse.ParseDSN(ts.Getenv("CLICKHOUSE"))
	ts.Check(err)
	conn, err := clickhouse.Open(options)
	ts.Check(err)
	defer conn.Close()
	ts.Check(conn.Exec(context.Background(), args[0]))
}
