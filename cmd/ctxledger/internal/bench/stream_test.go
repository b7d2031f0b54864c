package bench

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// jetStream is that of a server of the test's own.
func jetStream(t *testing.T) jetstream.JetStream {
	t.Helper()
	return embeddedtest.NATS(t).JetStream(t)
}
