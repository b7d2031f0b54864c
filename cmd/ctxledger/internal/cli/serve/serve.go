package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/packs"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/wire"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/explorer/site"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/notify"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storedtext"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/projector/metrics"
)

func ServeCommand(a *cli.App) *cobra.Command {
	var listen string
	var who accessFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show sessions in a browser, answer the read API and take events over HTTP",
		Long: `Serve the explorer and the read API until interrupted. The explorer shows sessions in a
browser: the window call by call, what filled it, what was left out, and what it cost.
"ctxledger up" contains the same server. Use serve for a ledger whose servers run
elsewhere. The pages read only, as a user that may only read where there is one. The
evidence page makes packs with the key of the data folder, and verifies uploaded ones;
that a pack was made becomes a fact.

Programs publish CloudEvents with POST /v1/events, in binary, structured and batch mode.
The answer follows the acknowledgment of JetStream and has a verdict for each event. With
?dry_run nothing is stored. With ?all the events are stored together or not at all.
GET /v1/receipts lists the events that the projector quarantined later. /healthz, /readyz
and /metrics are for probes and Prometheus.

Emitters of OpenTelemetry send model calls to POST /v1/logs and /v1/traces, as protobuf
or JSON: set OTEL_EXPORTER_OTLP_ENDPOINT to the address of the pages. Their facts have the
fidelity "reported". Other spans and records are left.

The address is on loopback: every user of this machine can read the pages and publish
events of the default tenant. If port 7070 is taken, the next free one is used, and a
line reports it.

Another address needs --tokens, and TLS or --insecure. A token is bound to one tenant: it
shows and publishes the facts of this tenant only. See "ctxledger token --help". Browsers
ask for the token as a password; the user name does not matter. Programs send it as
"Authorization: Bearer TOKEN". The files of tokens and of TLS are read again after a
change. --host names the server in addresses. Requests that name another host are refused,
and so are requests that pages of other sites make.

The page /sql takes statements of your own where --clickhouse names a server with a user
that may only read, and without --tokens.

If ClickHouse is away, the pages say so and come back by themselves. The read API is
described at /api/v1/openapi.json.`,
		Example: `  ctxledger serve
  ctxledger serve --listen 127.0.0.1:8080
  ctxledger serve --listen 127.0.0.1:8443 --tokens tokens --tls-cert cert.pem --tls-key key.pem
  CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger serve`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), a, listen, who) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address (default 127.0.0.1:7070, or the next free port)")
	who.register(cmd.Flags())
	return cmd
}

func runServe(ctx context.Context, a *cli.App, listen string, who accessFlags) error {
	if err := who.check(listen); err != nil {
		return err
	}
	manager := notify.FromEnvironment(a.Log())
	tokens, err := who.openTokens(a)
	if err != nil {
		return err
	}
	tlsConfig, err := who.tlsConfig(a)
	if err != nil {
		return err
	}
	listener, err := listenPages(a, listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if _, err := a.Addresses(); err != nil {
		return err
	}
	connect := func() (jetstream.JetStream, error) { return a.ConnectNATS() }
	pages := pagesOf(a, func() (string, error) {
		found, err := a.Addresses()
		return found.ReaderDSN, err
	}, connect)
	defer pages.Close()
	telemetry := wire.NewTelemetry(ctx, a, func() (string, error) {
		found, err := a.Addresses()
		return found.NATSURL, err
	})
	defer telemetry.Close()
	door := &events{app: a, telemetry: telemetry, connect: connect}
	handler := status.Handler(status.Process{
		Projectors: func() []status.Projector { return nil }, NATS: status.Connected(door.isConnected), ClickHouse: pages.ping,
		Metrics: status.NewRegistry(metrics.New()), Pages: withEvents(pages, door), Guard: guardOf(a, who, tokens).Wrap,
	})
	server := &http.Server{
		Handler: handler, TLSConfig: tlsConfig, BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.Log().Handler(), slog.LevelWarn),
	}
	base := "http://" + listener.Addr().String()
	if tlsConfig != nil {
		base = "https://" + listener.Addr().String()
	}
	fmt.Fprintf(a.Out, "explorer  %s/\nevents    %s%s\nCtrl-C stops it.\n", base, base, gateway.Path)
	done := make(chan error, 1)
	go func() {
		if tlsConfig != nil {
			done <- server.ServeTLS(listener, "", "")
		} else {
			done <- server.Serve(listener)
		}
	}()
	defer manager.Ready(ctx, func() bool { return true })()
	select {
	case err := <-done:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return server.Close()
	}
}

// listenPages opens the given address, or the port of the explorer.
func listenPages(a *cli.App, address string) (net.Listener, error) {
	if address == "" {
		return a.ListenKept(embedded.HTTP)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener, nil
}

// pages are the explorer of one ledger or cluster, which is opened at the first request that finds it.
type pages struct {
	http.Handler
	dsn   func() (string, error)
	texts *storedtext.Reader

	mu     sync.Mutex // guards the fields below
	ledger *ledger.Ledger
	shards *cluster.Ledgers   // at most one of ledger and shards is set
	left   []*cluster.Ledgers // those before the list of shards changed
}

func pagesOf(a *cli.App, dsn func() (string, error), connect func() (jetstream.JetStream, error)) *pages {
	p := &pages{dsn: dsn, texts: &storedtext.Reader{Connect: connect, Keys: cli.KeysIn(a.Flags.Data)}}
	p.Handler = site.New(site.Config{Open: p.open, Log: a.Log(), SQL: a.Flags.ClickHouse != "", Keys: func() (note.Verifiers, error) {
		ring, err := keyfile.ReadRing(a.Flags.Data)
		return ring.Verifiers(), err
	}, Texts: p.texts.Read, Packs: packs.Server{Data: a.Flags.Data, Connect: connect}})
	return p
}

// open returns the ledger, or the shards of a cluster. As long as a server is away, each call tries again.
func (p *pages) open(ctx context.Context) (*ledger.Ledger, *cluster.Ledgers, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shards != nil && p.shards.Stale() {
		p.left = append(p.left, p.shards) // requests that began before may still ask them
		p.shards = nil
	}
	if p.ledger != nil || p.shards != nil {
		return p.ledger, p.shards, nil
	}
	dsn, err := p.dsn()
	if errors.Is(err, embedded.ErrNotRunning) {
		return nil, nil, fmt.Errorf("%w: %w", ledger.ErrUnreachable, err)
	}
	if err != nil {
		return nil, nil, err
	}
	p.ledger, p.shards, err = cli.OpenEither(ctx, dsn)
	if p.shards != nil {
		p.texts.Shards = p.shards.All()
	}
	return p.ledger, p.shards, err
}

// ping asks the server of the ledger.
func (p *pages) ping(ctx context.Context) error {
	l, shards, err := p.open(ctx)
	switch {
	case err != nil:
		return err
	case shards != nil:
		return shards.Each(func(_ int, l *ledger.Ledger) error { return l.Ping(ctx) })
	}
	return l.Ping(ctx)
}

// Close closes the connections.
func (p *pages) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ledger != nil {
		p.ledger.Close()
	}
	if p.shards != nil {
		p.shards.Close()
	}
	for _, shards := range p.left {
		shards.Close()
	}
}
