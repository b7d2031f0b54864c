package bench

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// TestAWayWaitsAndEndsWithItsParent: a way takes nothing before its order, and ends when its
// parent ends.
func TestAWayWaitsAndEndsWithItsParent(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Installation(t)
	js := s.JetStream(t)
	if _, err := streamio.EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	for name, orders := range map[string]string{"before it goes": "", "on its way": "go\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, parent := io.Pipe()
			var out bytes.Buffer
			ended := make(chan error, 1)
			go func() {
				// The stream is empty, so the way would wait forever.
				ended <- FollowWay(t.Context(), WayConfig{Way: rawWay, NATS: s.NATSURL(), ClickHouse: s.ClickHouseDSN(), Events: 1}, in, &out)
			}()
			go func() {
				_, _ = io.WriteString(parent, orders)
				parent.Close()
			}()
			select {
			case err := <-ended:
				if orders == "" && err != nil || orders != "" && !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("it goes on without a parent")
			}
			if out.String() != "ready\n" {
				t.Errorf("it wrote %q", &out)
			}
		})
	}
}

func TestNoSuchWay(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Installation(t)
	err := FollowWay(t.Context(), WayConfig{Way: "back", NATS: s.NATSURL()}, strings.NewReader(""), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "is not a way") {
		t.Errorf("it ended with %v", err)
	}
}
