package backup

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/nats-io/jsm.go/api"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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
	if _, err := ask(t.Context(), nc, nats.NewMsg("parts"), 200*time.Millisecond); !errors.Is(err, nats.ErrNoResponders) {
		t.Error("without anybody the request ends with", err)
	}
	late := time.AfterFunc(200*time.Millisecond, func() {
		_, _ = nc.Subscribe("parts", func(m *nats.Msg) { _ = m.Respond(m.Data) })
	})
	defer late.Stop()
	if answer, err := ask(t.Context(), nc, &nats.Msg{Subject: "parts", Data: []byte("one")}, time.Minute); err != nil || string(answer) != "one" {
		t.Errorf("the answer is %q, %v", answer, err)
	}
}

// TestSendStreamNamesWhatFailed: a snapshot that cannot be read to its end is not taken for a whole one, and the
// server's refusal is the error.
func TestSendStreamNamesWhatFailed(t *testing.T) {
	t.Parallel()
	nc, err := nats.Connect(embeddedtest.NATS(t).NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	config := api.StreamConfig{Name: "CUT", Subjects: []string{"cut"}, Storage: api.FileStorage, Replicas: 1}
	cut := io.MultiReader(strings.NewReader("the begin of a snapshot"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := sendStream(t.Context(), nc, config, cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("a connection that was cut ends with", err)
	}
	config.Name = "OTHER"
	if _, err := sendStream(t.Context(), nc, config, strings.NewReader("no snapshot")); err == nil || errors.Is(err, nats.ErrNoResponders) {
		t.Error("another file ends with", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "THERE", Subjects: []string{"there"}}); err != nil {
		t.Fatal(err)
	}
	config.Name = "THERE"
	if _, err := sendStream(t.Context(), nc, config, strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "name already in use") {
		t.Error("a stream that is there ends with", err)
	}
}
