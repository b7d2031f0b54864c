package producer

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// The test binary is also a NATS server and a producer that a test can kill. The variables
// select the role and give its settings. The standard output has one line of JSON for each
// step. The process ends when its standard input ends.
const (
	childKind   = "PRODUCER_TEST_CHILD"
	childFolder = "PRODUCER_TEST_FOLDER"
	childPort   = "PRODUCER_TEST_PORT"
	childNATS   = "PRODUCER_TEST_NATS"
	childSeed   = "PRODUCER_TEST_SEED"
)

var children = map[string]func(){"server": serve, "producer": produce, "disk": fillDisk}

type child struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
}

func startChild(t testing.TB, kind string, env ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(append(os.Environ(), childKind+"="+kind), env...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.cmd.StdinPipe(); err != nil { // ends with this process
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewReader(out)
	t.Cleanup(c.kill)
	return c
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// next returns the next line, or false at the end. An incomplete line is not a line.
func (c *child) next(v any) bool {
	line, err := c.lines.ReadBytes('\n')
	return err == nil && json.Unmarshal(line, v) == nil
}

func orphaned() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

func say(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

// serve is the child process that runs NATS.
func serve() {
	go orphaned()
	config := embedded.DefaultConfig(os.Getenv(childFolder))
	config.NoClickHouse = true
	config.NATSPort, _ = strconv.Atoi(os.Getenv(childPort))
	s, err := embedded.Start(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	say(s.NATSURL())
	select {}
}

// sealedTurn is the producing child's report of a turn whose Seal returned.
type sealedTurn struct {
	Session string
	Turn    string
	Receipt Receipt
}

// produce is the child process that records turns in several sessions until it is killed.
// Without a seed, it only sends waiting facts.
func produce() {
	go orphaned()
	box, err := outbox.Open(filepath.Join(os.Getenv(childFolder), "outbox"), outbox.Options{NoSync: true})
	if err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect(os.Getenv(childNATS), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		log.Fatal(err)
	}
	seed, err := strconv.ParseUint(os.Getenv(childSeed), 10, 64)
	drain := err != nil
	c := DefaultConfig(nc)
	c.Outbox, c.Linger, c.StreamWait = box, 5*time.Millisecond, time.Second
	if seed%4 == 0 { // otherwise it records at the stream's speed
		c.StreamWait = time.Millisecond
	}
	client, err := Connect(context.Background(), c)
	if err != nil {
		log.Fatal(err)
	}
	if drain {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for err = client.Flush(ctx); err != nil && ctx.Err() == nil; err = client.Flush(ctx) {
			time.Sleep(10 * time.Millisecond)
		}
		say(fmt.Sprint(err))
		os.Exit(0)
	}
	var sessions sync.WaitGroup
	for i := range 3 {
		sessions.Go(func() { recordTurns(client, rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprint("session ", i)) })
	}
	sessions.Wait()
}

func recordTurns(client *Client, random *rand.Rand, session string) {
	ctx := context.Background()
	run, err := client.Open(ctx, Run{Session: session})
	for err == nil {
		s := sealedTurn{Session: session, Turn: fmt.Sprint(random.Uint64())}
		turn := run.Turn(s.Turn, Model{Name: "gpt-4o"})
		for i := range random.IntN(12) {
			content := Content{ID: fmt.Sprint(s.Turn, " ", i), Role: "user", Kind: window.KindMessage, Text: "hello"}
			if _, err = turn.Add(ctx, content); err != nil {
				log.Fatal(err)
			}
			if random.IntN(4) == 0 {
				time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond)
			}
		}
		if s.Receipt, err = turn.Seal(ctx); err == nil {
			say(s)
		}
	}
	log.Fatal(err)
}

// TestKilledUnderLoad kills the producer or the NATS server 100 times under load, at moments that a
// seed decides. The stream forgets message ids after 100 ms, so only a lookup can recognize
// a batch from before a kill.
func TestKilledUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 100
	if testing.Short() {
		rounds = 10
	}
	seed := rand.Uint64()
	if text := os.Getenv(childSeed); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("%s=%d", childSeed, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	at := childFolder + "=" + folder

	var natsURL string
	server := startChild(t, "server", at)
	if !server.next(&natsURL) {
		t.Fatal("no server")
	}
	port := childPort + "=" + portOf(t, natsURL)
	b := &bustest.Bus{}
	b.Dial(t, natsURL)
	b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 100 * time.Millisecond})
	b.NC.Close()

	var receipts []sealedTurn
	produceAgain := func() *child {
		return startChild(t, "producer", at, childNATS+"="+natsURL, childSeed+"="+fmt.Sprint(random.Uint64()))
	}
	producer := produceAgain()
	collect := func(n int) {
		for range n {
			var s sealedTurn
			if !producer.next(&s) {
				t.Fatal("the producer ended by itself")
			}
			receipts = append(receipts, s)
		}
	}
	killProducer := func() {
		producer.cmd.Process.Kill()
		for s := (sealedTurn{}); producer.next(&s); s = (sealedTurn{}) {
			receipts = append(receipts, s)
		}
		producer.kill()
	}
	for range rounds {
		collect(1 + random.IntN(3))
		time.Sleep(time.Duration(random.IntN(10_000)) * time.Microsecond)
		what := random.IntN(6)
		if what <= 3 { // the producer, or both
			killProducer()
		}
		if what >= 3 { // the server, or both
			server.kill()
			if what == 5 {
				collect(random.IntN(4)) // continues into the outbox
			}
			server = startChild(t, "server", at, port)
			if !server.next(&natsURL) {
				t.Fatal("the server did not come back")
			}
		}
		if what <= 3 {
			producer = produceAgain()
		}
	}
	killProducer()
	producer = startChild(t, "producer", at, childNATS+"="+natsURL)
	var outcome string
	if !producer.next(&outcome) || outcome != "<nil>" {
		t.Fatalf("the outbox was not sent: %s", outcome)
	}
	b.Dial(t, natsURL)
	inOutbox := 0
	for _, r := range receipts {
		if r.Receipt.Stored == publish.InOutbox {
			inOutbox++
		}
	}
	events := b.Events(t)
	t.Logf("%d events, %d sealed turns, %d of them by the outbox", len(events), len(receipts), inOutbox)
	checkOnceAndInOrder(t, events)
	checkSealed(t, events, receipts)
}

// checkOnceAndInOrder fails for an event that is stored twice, for holes in sequences or
// positions, and for events of several sources.
func checkOnceAndInOrder(t *testing.T, events []*schema.Event) {
	t.Helper()
	bySequence(t, events)
	ids, positions := map[string]bool{}, map[string]int64{}
	for _, e := range events {
		if ids[e.ID] || e.Source != events[0].Source {
			t.Fatalf("event %s of %s is there twice, or of another source", e.ID, e.Source)
		}
		ids[e.ID] = true
		fact, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if entry, ok := fact.(*schema.LogAppended); ok {
			if *entry.Position != positions[e.SessionID] {
				t.Fatalf("position %d of session %s, not %d", *entry.Position, e.SessionID, positions[e.SessionID])
			}
			positions[e.SessionID]++
		}
	}
}

// checkSealed checks that each turn whose Seal returned is complete, with its envelope
// last.
func checkSealed(t *testing.T, events []*schema.Event, receipts []sealedTurn) {
	t.Helper()
	turns := map[string][]*schema.Event{}
	for _, e := range events {
		if e.TurnID != "" {
			turns[e.TurnID] = append(turns[e.TurnID], e)
		}
	}
	for _, r := range receipts {
		var want, got []int64
		for _, span := range r.Receipt.Sequences {
			for n := span[0]; n <= span[1]; n++ {
				want = append(want, n)
			}
		}
		for _, e := range turns[r.Turn] {
			got = append(got, *e.Sequence)
		}
		if !slices.Equal(got, want) || turns[r.Turn][len(got)-1].EventType() != schema.TypeEnvelopeCreated {
			t.Fatalf("turn %s of %s (%s) has sequences %v, not %v", r.Turn, r.Session, r.Receipt.Stored, got, want)
		}
	}
}
