package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func (a *app) upCommand() *cobra.Command {
	var natsPort, clickhousePort, clickhouseHTTPPort, httpPort int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run NATS, ClickHouse and the projector on this machine until interrupted",
		Long: `Run NATS JetStream, ClickHouse, the projector and an HTTP health endpoint on
this machine, on loopback, until interrupted. Nothing needs to be installed: the
first start fetches the ClickHouse engine, once. The data folder survives any
kind of end. Other commands find the running instance by its data folder.

Where --nats or --clickhouse names a server, that one is used and the embedded
one does not start.`,
		Example: `  ctxledger up
  ctxledger up --data ./ledger --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := embedded.DefaultConfig(a.flags.data)
			c.NATSPort, c.ClickHousePort, c.HTTPPort = natsPort, clickhousePort, clickhouseHTTPPort
			return a.up(cmd.Context(), c, httpPort, asJSON)
		},
	}
	f := cmd.Flags()
	f.IntVar(&natsPort, "nats-port", 0, "port of NATS (default: a free one)")
	f.IntVar(&clickhousePort, "clickhouse-port", 0, "port of ClickHouse's native protocol (default: a free one)")
	f.IntVar(&clickhouseHTTPPort, "clickhouse-http-port", 0, "port of ClickHouse over HTTP (default: a free one)")
	f.IntVar(&httpPort, "http-port", 0, "port of the health endpoint (default: a free one)")
	f.BoolVar(&asJSON, "json", false, "print the addresses as one JSON line once all is ready; it contains passwords")
	return cmd
}

// upAddresses is what `up --json` prints.
type upAddresses struct {
	embedded.Addresses
	Health string `json:"health_url"`
	Data   string `json:"data"`
}

func (a *app) up(ctx context.Context, c embedded.Config, httpPort int, asJSON bool) (err error) {
	if isTerminal(a.err) || !asJSON {
		c.Progress = embedded.ProgressTo(a.err)
	}
	c.Log = a.log()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", httpPort))
	if err != nil {
		return fmt.Errorf("port %d of the health endpoint is in use: choose another with --http-port", httpPort)
	}
	defer listener.Close()
	i, err := instance.Start(ctx, instance.Config{Embedded: c, NATSURL: a.flags.nats, ClickHouseDSN: a.flags.clickhouse, Log: c.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	server := &http.Server{Handler: healthHandler(i), ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(listener)
	defer server.Close()
	if err := waitReady(ctx, i); err != nil {
		return err
	}
	found := upAddresses{Health: "http://" + listener.Addr().String() + "/readyz", Data: c.Dir}
	if i.Servers != nil {
		found.Addresses = i.Servers.Addresses()
	}
	found.PID = os.Getpid()
	if err := a.printAddresses(found, asJSON); err != nil {
		return err
	}
	select {
	case err := <-i.Failed:
		return err
	case <-ctx.Done():
		fmt.Fprintln(a.err, "stopping")
		return nil
	}
}

func waitReady(ctx context.Context, i *instance.Instance) error {
	for !i.Projector.Status().Ready {
		select {
		case err := <-i.Failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

func (a *app) printAddresses(found upAddresses, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(found)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "%s\n", line)
		return err
	}
	_, err := fmt.Fprintf(a.out, `ctxledger is ready; other commands find it by the data folder
  data        %s
  NATS        %s
  ClickHouse  %s
  HTTP        %s
  health      %s
(passwords are not shown; "ctxledger up --json" prints them) Ctrl-C stops it.
`, found.Data, redacted(found.NATSURL), redacted(found.ClickHouseDSN), found.HTTPURL, found.Health)
	return err
}

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return "as given"
	}
	return u.Redacted()
}

// healthHandler answers /healthz while the process lives and /readyz with 200
// while events are projected.
func healthHandler(i *instance.Instance) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status := i.Projector.Status()
		if !status.Ready || !i.NATS.IsConnected() || i.Ledger.Ping(r.Context()) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.MarshalWrite(w, status)
	})
	return mux
}
