package serve

import (
	"net/http"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/gateway"
)

// withEvents adds the door for events to the pages. The server is on loopback, so each user of
// the machine may publish, and every event belongs to the default tenant.
func withEvents(a *cli.App, pages http.Handler, telemetry gateway.Telemetry, connect func() (jetstream.JetStream, error)) http.Handler {
	mux := http.NewServeMux()
	door := &events{app: a, connect: connect, telemetry: telemetry}
	for _, path := range [...]string{gateway.Path, gateway.ReceiptsPath, gateway.LogsPath, gateway.TracesPath} {
		mux.Handle(path, door)
	}
	mux.Handle("/", pages)
	return mux
}

// events is the gateway of a NATS server, which is connected at the first request that finds it.
// Safe for concurrent use.
type events struct {
	app       *cli.App
	connect   func() (jetstream.JetStream, error)
	telemetry gateway.Telemetry

	mu      sync.Mutex // guards the next two fields
	js      jetstream.JetStream
	gateway *gateway.Handler
}

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g, err := e.open()
	if err != nil {
		e.app.Log().Warn("events over HTTP find no NATS server", "error", err)
		gateway.Unavailable(w)
		return
	}
	g.ServeHTTP(w, r)
}

// open returns the gateway. After a closed connection it connects again.
func (e *events) open() (*gateway.Handler, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.gateway != nil && !e.js.Conn().IsClosed() {
		return e.gateway, nil
	}
	js, err := e.connect()
	if err != nil {
		return nil, err
	}
	c := gateway.DefaultConfig(js)
	c.Log, c.Telemetry = e.app.Log(), e.telemetry
	g, err := gateway.New(c)
	if err != nil {
		return nil, err
	}
	e.js, e.gateway = js, g
	return g, nil
}
