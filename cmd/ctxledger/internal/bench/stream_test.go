package bench

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// jetStream connects to a separate NATS server for the test.
func jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	return embeddedtest.NATS(t).JetStream(t)
}
