package wire

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/capture/proxy"
	"github.com/ctxledger/ctxledger/schema"
)

// Gateway records the agents that use it as their base URL, until Close.
type Gateway struct {
	recording *recording
	proxy     *proxy.Gateway
	server    *http.Server
	base      string
	failed    chan error // why the server ended by itself
}

// Serve records the agents that use the address of listener as their base URL, for the default
// tenant and without text. nats is the address of the stream. upstreams are further providers, by
// name. Serve returns at once. One process at a time may serve a data folder. Serve gives the whole
// process more threads, so that bytes that pass do not wait for the recorder.
func Serve(ctx context.Context, a *cli.App, nats string, listener net.Listener, upstreams map[string]string) (*Gateway, error) {
	addThreads()
	return openGateway(ctx, a, nats, listener, upstreams, recordFlags{tenant: schema.DefaultTenant}, []string{"up"})
}

func openGateway(ctx context.Context, a *cli.App, nats string, listener net.Listener, upstreams map[string]string, flags recordFlags, slots []string) (*Gateway, error) {
	r, err := open(ctx, a, nats, flags, true, slots)
	if err != nil {
		return nil, err
	}
	p, err := proxy.NewGateway(upstreams, listener.Addr(), r.Recorder)
	if err != nil {
		r.end(ctx)
		return nil, cli.UsageError("%w", err)
	}
	g := &Gateway{recording: r, proxy: p, base: "http://" + listener.Addr().String(), failed: make(chan error, 1)}
	g.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { g.failed <- g.server.Serve(listener) }()
	return g, nil
}

// URL returns the address to which the name of a provider is added.
func (g *Gateway) URL() string { return g.base }

// BaseURLs returns the base URL of each provider.
func (g *Gateway) BaseURLs() []string {
	var list []string
	for _, name := range g.proxy.Names() {
		list = append(list, g.base+"/"+name)
	}
	return list
}

// Close ends the server within a second, records what waits, and says what could not be recorded.
func (g *Gateway) Close() {
	within, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if g.server.Shutdown(within) != nil {
		_ = g.server.Close() // streams that are open end as their clients would see any end of a proxy
	}
	if n := g.proxy.Tunnelled(); n > 0 {
		fmt.Fprintf(g.recording.app.Err, "ctxledger: %d connections changed their protocol and passed unread\n", n)
	}
	g.recording.end(context.Background())
}
