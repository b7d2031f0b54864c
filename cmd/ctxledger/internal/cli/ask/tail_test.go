package ask_test

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest/shardtest"
)

// sameTail compares the newest facts and quarantined messages with one machine, and follows sessions of
// both shards.
func (r *shardRig) sameTail(first, second shardtest.Place) {
	r.T.Helper()
	for _, args := range [][]string{
		{}, {"-n", "1000", "-o", "json"}, {"-n", "5000", "--session", first.Session}, {"-n", "5000", "--session", second.Session},
		{"-n", "300", "--type", "context.log"}, {"-n", "5000", "--tenant", "acme"},
		{"--quarantined"}, {"--quarantined", "-n", "100", "-o", "json"},
	} {
		r.SameOutput("0", append([]string{"tail", "--no-follow"}, args...)...)
	}
	if _, stderr, code := r.Run("tail", "--session", first.Session[:6]); code != cli.ExitFailed || !strings.Contains(stderr, "on a cluster give the whole id") {
		r.T.Errorf("tail with the beginning of a session ended with %d: %s", code, stderr)
	}
	all, lines := r.follow()
	one, ofOne := r.follow("--session", second.Session)
	for name, session := range map[string]string{"followed-1": first.Session, "followed-2": second.Session} {
		path := filepath.Join(r.Data, name)
		if err := os.WriteFile(path, []byte(strings.Replace(string(logItem(name, "log_item_id")), `"s-1"`, `"`+session+`"`, 1)), 0o600); err != nil {
			r.T.Fatal(err)
		}
		r.Must("publish", path)
	}
	r.Must("project", "--until-caught-up")
	clitest.Await(r.T, "tail does not show the facts of both shards", func() bool {
		return strings.Contains(lines.String(), "followed-1") && strings.Contains(lines.String(), "followed-2") && strings.Contains(ofOne.String(), "followed-2")
	})
	for _, p := range []*clitest.Program{all, one} {
		if err := p.Process.Signal(os.Interrupt); err != nil || p.Code(r.T, time.Minute) != cli.ExitDone {
			r.T.Errorf("tail: %v %s", err, &p.Messages)
		}
	}
	if strings.Contains(ofOne.String(), "followed-1") {
		r.T.Errorf("tail of one session shows\n%s", ofOne)
	}
}

// waitForMoves: tail and storage show nothing while the rows of a partition are on two shards or on none.
func (r *shardRig) waitForMoves(in shardtest.Place) {
	r.T.Helper()
	all := r.Ledgers()
	tail, lines := r.follow("--session", in.Session)
	path := filepath.Join(r.Data, "moving")
	if err := os.WriteFile(path, []byte(strings.Replace(string(logItem("while-moving", "log_item_id")), `"s-1"`, `"`+in.Session+`"`, 1)), 0o600); err != nil {
		r.T.Fatal(err)
	}
	if err := all.BeginMove(r.T.Context(), 1, 2, 1); err != nil {
		r.T.Fatal(err)
	}
	storage := r.Command("storage").Begin(r.T)
	r.Must("publish", path)
	r.Must("project", "--until-caught-up")
	r.Must("doctor") // takes longer than tail to look again
	if strings.Contains(lines.String(), "while-moving") || storage.Ended() {
		r.T.Errorf("tail or storage did not wait: %v\n%s", storage.Ended(), lines)
	}
	if err := all.EndMove(r.T.Context(), 1, 2, 1); err != nil {
		r.T.Fatal(err)
	}
	clitest.Await(r.T, "tail goes on after the move", func() bool { return strings.Contains(lines.String(), "while-moving") })
	if code := storage.Code(r.T, time.Minute); code != cli.ExitDone {
		r.T.Errorf("storage ended with %d: %s", code, &storage.Messages)
	}
	if err := tail.Process.Signal(os.Interrupt); err != nil || tail.Code(r.T, time.Minute) != cli.ExitDone {
		r.T.Errorf("tail: %v %s", err, &tail.Messages)
	}
}

// follow starts tail, and returns after it has shown the newest facts.
func (r *shardRig) follow(args ...string) (*clitest.Program, *clitest.Printed) {
	r.T.Helper()
	p, shown := r.Command(append([]string{"tail", "-n", "5000"}, args...)...), new(clitest.Printed)
	p.Stdout = shown
	p.Begin(r.T)
	clitest.Await(r.T, "tail shows nothing", func() bool { return shown.String() != "" })
	return p, shown
}
