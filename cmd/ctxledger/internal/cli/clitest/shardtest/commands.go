package shardtest

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/schema"
)

// written matches the time of a report.
var written = regexp.MustCompile(`written [^;]*;`)

// Printed returns all that a command writes, also into a report, and its exit code.
func (r *Rig) Printed(dsn, report string, args []string) (string, int) {
	r.T.Helper()
	stdout, stderr, code := r.RunOn(dsn, args...)
	text := stdout + stderr
	page, err := os.ReadFile(report)
	if err == nil {
		err = os.Remove(report)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.T.Fatal(err)
	}
	return text + written.ReplaceAllString(string(page), ""), code
}

// SameOutput compares what a command prints with one machine, and returns it.
func (r *Rig) SameOutput(says string, args ...string) string {
	r.T.Helper()
	got, code := r.Printed(r.Shards[0].ClickHouseDSN(), "", args)
	want, wantCode := r.Printed(r.DSN, "", args)
	if got != want || code != cli.ExitDone || wantCode != cli.ExitDone || !strings.Contains(want, says) {
		r.T.Errorf("%v ended with %d, on one machine with %d, and printed\n%s\nand on one machine\n%s", args, code, wantCode, got, want)
	}
	return want
}

// SameProofs compares the logs of all streams with one machine.
func (r *Rig) SameProofs() {
	r.T.Helper()
	logs := 0
	for _, stream := range schema.Partitions(4).EventStreams() {
		head := filepath.Join(r.Data, stream.Name+".head")
		if text, _ := r.Printed(r.DSN, "", []string{"proof", "checkpoint", "--stream", stream.Name, "-o", "json"}); strings.Contains(text, `"size":0,`) {
			continue // no session is in this stream
		}
		logs++
		for _, args := range [][]string{
			{"proof", "checkpoint", "--stream", stream.Name, "-o", "json", "--out", head}, {"proof", "consistency", "1", head}, {"proof", "consistency", "--stream", stream.Name, "1", "5"},
			{"proof", "witness", "--stream", stream.Name, "--state", filepath.Join(r.Data, "witness"), "-o", "json"},
		} {
			got, code := r.Printed(r.Shards[0].ClickHouseDSN(), "", args)
			want, wantCode := r.Printed(r.DSN, "", args)
			if code != cli.ExitDone || wantCode != cli.ExitDone || got != want && args[1] != "witness" {
				r.T.Errorf("%v ended with %d and %d:\n%.700s\nand on one machine\n%.700s", args, code, wantCode, got, want)
			}
		}
	}
	if logs < 2 {
		r.T.Errorf("only %d logs have leaves", logs)
	}
	if _, stderr, code := r.Run("proof", "checkpoint"); code != cli.ExitFailed || !strings.Contains(stderr, "the log of stream CTX has no signed head yet") {
		r.T.Errorf("the head of no stream ended with %d: %s", code, stderr)
	}
}
