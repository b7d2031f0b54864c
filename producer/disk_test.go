package producer

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/producer/outbox"
	"github.com/ctxledger/ctxledger/schema"
)

// fillDisk is the child process with a limit on file sizes, as on a full disk. The child
// seals turns until the outbox reports the limit. Then the child removes the limit and
// seals the last turn again.
func fillDisk() {
	go orphaned()
	box, err := outbox.Open(filepath.Join(os.Getenv(childFolder), "outbox"), outbox.DefaultOptions())
	if err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect("nats://127.0.0.1:1", nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	c := DefaultConfig(nc)
	c.Outbox = box
	client, err := Connect(context.Background(), c)
	if err != nil {
		log.Fatal(err)
	}
	limit(300_000)
	ctx := context.Background()
	run, err := client.Open(ctx, Run{Session: "s"})
	if err != nil {
		log.Fatal(err)
	}
	for i := 0; ; i++ {
		turn := run.Turn(fmt.Sprint("t", i), Model{})
		for j := range 20 {
			if err := turn.Record(ctx, &schema.ItemRemoved{ItemID: fmt.Sprint(j)}); err != nil {
				log.Fatal(err)
			}
		}
		_, err := turn.Seal(ctx)
		if err == nil {
			continue
		}
		if !errors.Is(err, outbox.ErrDiskFull) {
			log.Fatal("a full disk: ", err)
		}
		limit(1 << 30)
		for deadline := time.Now().Add(20 * time.Second); err != nil && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			_, err = turn.Seal(ctx)
		}
		if err != nil {
			log.Fatal("with room again: ", err)
		}
		say(i + 1)
		os.Exit(0)
	}
}

// limit sets the largest size of the files that the process writes.
func limit(bytes uint64) {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: syscall.RLIM_INFINITY & (1<<63 - 1)}); err != nil {
		log.Fatal(err)
	}
}

// TestDiskFull: a seal without space on the disk returns an error and stores no part of a
// turn. With space, the next seal works.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	child := startChild(t, "disk", childFolder+"="+folder)
	turns := int64(0)
	if !child.next(&turns) {
		t.Fatal("the child failed")
	}
	child.kill() // it may still hold the outbox for a moment
	b := bustest.Start(t)
	client := newClient(t, b, keptIn(openBox(t, filepath.Join(folder, "outbox"))))
	flushUntilStored(t, client)
	events := b.Events(t)
	checkOnceAndInOrder(t, events)
	if n := bySequence(t, events)["s"]; n != 1+21*turns || turns < 2 {
		t.Errorf("%d events of %d turns", n, turns)
	}
}
