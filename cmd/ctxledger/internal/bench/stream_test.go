package bench

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// jetStream is that of a server of the test's own.
func jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	s := embedded.StartTest(t, func(c *embedded.Config) { c.NoClickHouse = true })
	nc, err := nats.Connect(s.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
