package gateway

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	bustest.ServeVictim(func(js jetstream.JetStream) (http.Handler, error) {
		config := DefaultConfig(js)
		config.StoreTimeout = time.Second
		return New(config)
	})
	os.Exit(m.Run())
}
