package shards_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// sameTail compares the newest facts and quarantined messages with one machine, and follows sessions of
// both shards.
func (r *shardRig) sameTail(first, second place) {
	r.t.Helper()
	for _, args := range [][]string{
		{}, {"-n", "1000", "-o", "json"}, {"-n", "5000", "--session", first.session}, {"-n", "5000", "--session", second.session},
		{"-n", "300", "--type", "context.log"}, {"-n", "5000", "--tenant", "acme"},
		{"--quarantined"}, {"--quarantined", "-n", "100", "-o", "json"},
	} {
		r.sameOutput("0", append([]string{"tail", "--no-follow"}, args...)...)
	}
	if _, stderr, code := r.run("tail", "--session", first.session[:6]); code != cli.ExitFailed || !strings.Contains(stderr, "on a cluster give the whole id") {
		r.t.Errorf("tail with the beginning of a session ended with %d: %s", code, stderr)
	}
	all, lines := r.follow()
	one, ofOne := r.follow("--session", second.session)
	for name, session := range map[string]string{"followed-1": first.session, "followed-2": second.session} {
		path := filepath.Join(r.data, name)
		if err := os.WriteFile(path, []byte(strings.Replace(string(logItem(name, "log_item_id")), `"s-1"`, `"`+session+`"`, 1)), 0o600); err != nil {
			r.t.Fatal(err)
		}
		r.must("publish", path)
	}
	r.must("project", "--until-caught-up")
	clitest.Await(r.t, "tail does not show the facts of both shards", func() bool {
		return strings.Contains(lines.String(), "followed-1") && strings.Contains(lines.String(), "followed-2") && strings.Contains(ofOne.String(), "followed-2")
	})
	for _, p := range []*clitest.Program{all, one} {
		if err := p.Process.Signal(os.Interrupt); err != nil || p.Code(r.t, time.Minute) != cli.ExitDone {
			r.t.Errorf("tail: %v %s", err, &p.Messages)
		}
	}
	if strings.Contains(ofOne.String(), "followed-1") {
		r.t.Errorf("tail of one session shows\n%s", ofOne)
	}
}

// waitForMoves: tail and storage show nothing while the rows of a partition are on two shards or on none.
func (r *shardRig) waitForMoves(in place) {
	r.t.Helper()
	all := r.ledgers()
	tail, lines := r.follow("--session", in.session)
	path := filepath.Join(r.data, "moving")
	if err := os.WriteFile(path, []byte(strings.Replace(string(logItem("while-moving", "log_item_id")), `"s-1"`, `"`+in.session+`"`, 1)), 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := all.BeginMove(r.t.Context(), 1, 2, 1); err != nil {
		r.t.Fatal(err)
	}
	storage := r.command("storage").Begin(r.t)
	r.must("publish", path)
	r.must("project", "--until-caught-up")
	r.must("doctor") // takes longer than tail to look again
	if strings.Contains(lines.String(), "while-moving") || storage.Ended() {
		r.t.Errorf("tail or storage did not wait: %v\n%s", storage.Ended(), lines)
	}
	if err := all.EndMove(r.t.Context(), 1, 2, 1); err != nil {
		r.t.Fatal(err)
	}
	clitest.Await(r.t, "tail goes on after the move", func() bool { return strings.Contains(lines.String(), "while-moving") })
	if code := storage.Code(r.t, time.Minute); code != cli.ExitDone {
		r.t.Errorf("storage ended with %d: %s", code, &storage.Messages)
	}
	if err := tail.Process.Signal(os.Interrupt); err != nil || tail.Code(r.t, time.Minute) != cli.ExitDone {
		r.t.Errorf("tail: %v %s", err, &tail.Messages)
	}
}

// follow starts tail, and returns after it has shown the newest facts.
func (r *shardRig) follow(args ...string) (*clitest.Program, *clitest.Printed) {
	r.t.Helper()
	p, shown := r.command(append([]string{"tail", "-n", "5000"}, args...)...), new(clitest.Printed)
	p.Stdout = shown
	p.Begin(r.t)
	clitest.Await(r.t, "tail shows nothing", func() bool { return shown.String() != "" })
	return p, shown
}
