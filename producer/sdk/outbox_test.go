package sdk

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestOutbox kills a process whose gateway is away. The next process sends what the
// outbox holds. A refused event is reported and disturbs no other event.
func TestOutbox(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l language) {
		bus, server := start(t)
		outbox := filepath.Join(t.TempDir(), "outbox")
		out, err := l.try(t, nil, "faults", "http://127.0.0.1:1", outbox, "700", "leave")
		if err == nil || string(out) != `{"stored":"outbox"}` {
			t.Fatalf("%s: %v", out, err)
		}
		out = l.run(t, "", "faults", server.URL, outbox, "5", "send")
		said := decode[struct {
			Done    bool
			Refused []struct {
				Type       string
				Violations []*schema.Violation
			}
		}](t, out)
		if !said.Done || len(said.Refused) != 2 || said.Refused[0].Violations[0].Code != schema.CodeRequired || said.Refused[0].Violations[0].Pointer != "/data/item_id" {
			t.Errorf("%s", out)
		}
		next := map[string]int64{"fault-leave": 1, "fault-send": 1}
		for _, e := range bus.Events(t) {
			if *e.Sequence == map[string]int64{"fault-leave": 702, "fault-send": 7}[e.SessionID] {
				t.Errorf("the refused event is in the stream: %s", e.Data)
			}
			if *e.Sequence < next[e.SessionID] {
				t.Errorf("%s: sequence %d comes after %d", e.SessionID, *e.Sequence, next[e.SessionID]-1)
			}
			next[e.SessionID] = *e.Sequence + 1
		}
		if next["fault-leave"] != 704 || next["fault-send"] != 9 {
			t.Errorf("the next sequences are %v", next)
		}
		if left, err := os.ReadDir(outbox); err != nil || len(left) > 0 {
			t.Errorf("the outbox holds %v, %v", left, err)
		}
	})
}

// TestOutboxHasOneOwner: while a process uses an outbox, a process of either language is
// refused. When it has been killed, the next one continues.
func TestOutboxHasOneOwner(t *testing.T) {
	t.Parallel()
	_, server := start(t)
	each(t, func(t *testing.T, l language) {
		outbox := filepath.Join(t.TempDir(), "outbox")
		owner := l.command(t, "faults", server.URL, outbox, "0", "hold")
		stdin, err := owner.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := owner.StdoutPipe()
		if err == nil {
			err = owner.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
			t.Fatalf("the owner printed %q: %v", line, err)
		}
		for _, other := range languages {
			if _, err := other.try(t, nil, "faults", server.URL, outbox, "1", "send"); err == nil || !strings.Contains(err.Error(), "uses the outbox") {
				t.Errorf("%s got the outbox of a process: %v", other.name, err)
			}
		}
		stdin.Close()
		_ = owner.Process.Kill()
		_ = owner.Wait()
		for _, other := range languages {
			other.run(t, "", "faults", server.URL, outbox, "1", "send")
		}
	})
}
