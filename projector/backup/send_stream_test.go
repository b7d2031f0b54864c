package backup

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// TestAskWaitsForAServer: a request waits until somebody takes it, and ends without anybody.
func TestAskWaitsForAServer(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect(embeddedtest.NATS(t).NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request("parts", nil, time.Second); !errors.Is(err, nats.ErrNoResponders) {
		t.Fatal("somebody takes parts:", err)
	}
	if _, err := ask(t.Context(), nc, "parts", nil, 200*time.Millisecond); !errors.Is(err, nats.ErrNoResponders) {
		t.Error("without anybody the request ends with", err)
	}
	late := time.AfterFunc(200*time.Millisecond, func() {
		_, _ = nc.Subscribe("parts", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	})
	defer late.Stop()
	if answer, err := ask(t.Context(), nc, "parts", []byte("one"), time.Minute); err != nil || string(answer) != "one" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
}
