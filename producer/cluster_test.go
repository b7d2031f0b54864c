package producer

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
)

// TestClusterWithoutAMajority: the stream is on three servers. While two of them are down, a flush
// reports an error and the facts stay in the outbox. Then they are sent once each and in order, also
// when the leader is killed meanwhile.
func TestClusterWithoutAMajority(t *testing.T) {
	t.Parallel()
	b, nodes := bustest.Cluster(t)
	client := newClient(t, b, keptIn(openBox(t, filepath.Join(t.TempDir(), "outbox"))))
	recorded := 0
	more := func(n int) {
		for range n {
			record(t, client, "s", fmt.Sprint(recorded))
			recorded++
		}
	}
	flushed := func() {
		t.Helper()
		ctx := bustest.Within(t, 2*time.Minute)
		for err := error(errors.ErrUnsupported); err != nil; time.Sleep(20 * time.Millisecond) {
			if err = client.Flush(ctx); ctx.Err() != nil {
				t.Fatal("the facts are not sent: ", err)
			}
		}
	}
	more(500)
	flushed()
	nodes[0].Kill()
	more(100)
	flushed() // two of three are enough
	nodes[1].Kill()
	more(500)
	if err := client.Flush(bustest.Within(t, 3*time.Second)); err == nil {
		t.Error("facts were stored without a majority")
	}
	nodes[0].Start()
	more(500)
	nodes[1].Start()
	flushed()
	more(500)
	b.Leader(t, nodes).Kill()
	more(500)
	flushed()
	for i, e := range b.Events(t) {
		if *e.Sequence != int64(i+1) || e.Subject != fmt.Sprint(i) {
			t.Fatalf("event %d has sequence %d and subject %s", i, *e.Sequence, e.Subject)
		}
	}
	if got := b.Messages(t); got != uint64(recorded) {
		t.Errorf("%d messages, not %d", got, recorded)
	}
	if n := client.Dropped(); n != 0 {
		t.Errorf("%d dropped", n)
	}
}
