package sdk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// mortal is a program that records turns, and is killed and started again with the same outbox.
type mortal struct {
	name, outbox string
	command      func(args ...string) *exec.Cmd // without the folder
	reported     map[string]int                 // items whose turn was reported as stored, by the place
	items        []string
	lives        int
}

// live starts the program, kills it at some moment after its first turn, and reads what it said.
func (m *mortal) live(patience time.Duration) error {
	m.lives++
	cmd := m.command(m.outbox, m.name, fmt.Sprintf("%s/%d", m.name, m.lives))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	lines, kill := bufio.NewReader(stdout), sync.OnceFunc(func() { time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }) })
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = cmd.Wait()
			if said := stderr.String(); said != "" || err != io.EOF || m.lives > len(m.reported) && len(m.items) == 0 {
				return fmt.Errorf("%s ended by itself: %w\n%s", m.name, err, said)
			}
			return nil // half a line was not reported
		}
		kill()
		var turn struct {
			Stored string
			Items  []string
		}
		if err := json.Unmarshal(line, &turn); err != nil {
			return fmt.Errorf("%s printed %s: %w", m.name, line, err)
		}
		m.reported[turn.Stored]++
		m.items = append(m.items, turn.Items...)
	}
}

// TestKilled kills clients with an outbox, the gateway and NATS at random moments. Each turn that a client
// reported as stored is in the stream in the end. Every fact has one event, whose messages are equal, so
// that the ledger counts it once. No client leaves anything in its outbox.
func TestKilled(t *testing.T) {
	t.Parallel()
	embeddedtest.Smoke(t)
	node := withLibraries(t, filepath.Join("testdata", "killed.mjs"))
	server := bustest.StartNATS(t)
	bus := &bustest.Bus{}
	bus.Dial(t, server.Address)
	bus.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 2 * time.Minute})
	gate := bustest.StartHTTP(t, server.Address)

	var clients []*mortal
	for way, address := range map[string]string{"nats": server.Address, "http": gate.Address} {
		clients = append(clients, &mortal{name: "ts-" + way, command: func(args ...string) *exec.Cmd {
			return inApp(t, node)("killed", append([]string{address}, args...)...)
		}}, &mortal{name: "py-" + way, command: func(args ...string) *exec.Cmd {
			return languages[1].command(t, "killed", append([]string{address}, args...)...)
		}})
	}
	var living sync.WaitGroup
	errs := make([]error, len(clients))
	for i, m := range clients {
		m.outbox, m.reported = filepath.Join(t.TempDir(), "outbox"), make(map[string]int)
		random := rand.New(rand.NewPCG(28, uint64(i)))
		living.Go(func() {
			for m.lives < 8 && errs[i] == nil {
				errs[i] = m.live(time.Duration(random.IntN(500_000)) * time.Microsecond)
			}
		})
	}
	ended := make(chan struct{})
	go func() { living.Wait(); close(ended) }()
	kills := 0
	for random := rand.New(rand.NewPCG(28, 28)); ; kills++ {
		select {
		case <-ended:
		case <-time.After(time.Duration(500+random.IntN(2000)) * time.Millisecond):
			[]*bustest.Victim{server, gate}[random.IntN(2)].Restart(t)
			continue
		}
		break
	}
	for i, m := range clients {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if out := output(t, m.command(m.outbox, m.name, "")); !strings.Contains(strings.ReplaceAll(string(out), " ", ""), `{"done":true}`) {
			t.Errorf("%s: %s", m.name, out)
		}
		if left, err := os.ReadDir(m.outbox); err != nil || len(left) > 0 {
			t.Errorf("the outbox of %s holds %v, %v", m.name, left, err)
		}
	}
	checkCountedOnce(t, bus.Events(t), clients)
	t.Logf("the servers were killed %d times", kills)
}

// checkCountedOnce compares the events of the stream with the items that clients reported.
func checkCountedOnce(t *testing.T, events []*schema.Event, clients []*mortal) {
	t.Helper()
	type identity struct{ source, id string }
	digests, ofItem, sequences := make(map[identity]any), make(map[string]identity), make(map[string][]int64)
	for _, e := range events {
		name := identity{e.Source, e.ID}
		before, again := digests[name]
		if again && before != e.Digest() {
			t.Errorf("the event %v has two digests", name)
		}
		if digests[name] = e.Digest(); again {
			continue
		}
		sequences[e.Source] = append(sequences[e.Source], *e.Sequence)
		if e.EventType() == schema.TypeItemAdded {
			if other, twice := ofItem[e.Subject]; twice {
				t.Errorf("the item %s has the events %v and %v", e.Subject, other, name)
			}
			ofItem[e.Subject] = name
		}
	}
	for source, list := range sequences {
		slices.Sort(list)
		for i, sequence := range list {
			if sequence != int64(i+1) {
				t.Errorf("%s: the sequence after %d is %d", source, i, sequence)
				break
			}
		}
	}
	outbox, stream := 0, 0
	for _, m := range clients {
		for _, item := range m.items {
			if _, found := ofItem[item]; !found {
				t.Errorf("%s was reported as stored and is lost", item)
			}
		}
		outbox, stream = outbox+m.reported["outbox"], stream+m.reported["stream"]
		t.Logf("%s: %d lives, turns by place %v, %d items", m.name, m.lives, m.reported, len(m.items))
	}
	if outbox == 0 || stream == 0 {
		t.Error("no turn was stored in one of the places")
	}
	t.Logf("%d events in %d messages", len(digests), len(events))
}
