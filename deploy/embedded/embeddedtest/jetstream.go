package embeddedtest

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// JetStream connects to the NATS server until the test ends.
func (s *Servers) JetStream(tb testing.TB, options ...nats.Option) jetstream.JetStream {
	tb.Helper()
	nc, err := nats.Connect(s.NATSURL(), options...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		tb.Fatal(err)
	}
	return js
}
