package serve

import (
	"net/http"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/gateway"
)

// withEvents adds the door for events to the pages. An event belongs to the tenant of the
// request's token. On loopback without tokens each user of the machine may publish, for the default
// tenant.
func withEvents(pages http.Handler, door *events) http.Handler {
	mux := http.NewServeMux()
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

// isConnected reports whether NATS answers.
func (e *events) isConnected() bool {
	if _, err := e.open(); err != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.js.Conn().IsConnected()
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
	c.Log, c.Telemetry, c.Tenant = e.app.Log(), e.telemetry, tenantOf
	g, err := gateway.New(c)
	if err != nil {
		return nil, err
	}
	e.js, e.gateway = js, g
	return g, nil
}

// tenantOf returns the tenant that a request may publish to.
func tenantOf(r *http.Request) (string, error) {
	identity := access.Of(r.Context())
	if !identity.May(access.Publish) {
		return "", gateway.ErrForbidden
	}
	return identity.Tenant, nil
}
