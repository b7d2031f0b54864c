package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/producer/capture/proxy"
)

// CaptureCommand returns the command capture.
func CaptureCommand(a *cli.App) *cobra.Command {
	var flags recordFlags
	var listen string
	var upstreams []string
	cmd := &cobra.Command{
		Use:   "capture",
		Short: "Record agents that take a base URL, until interrupted",
		Long: `Record the exact windows of agents that take a base URL. The proxy forwards each
request to the provider unchanged, and records a copy.

  base URL                           provider
  http://127.0.0.1:7171/anthropic    https://api.anthropic.com
  http://127.0.0.1:7171/openai       https://api.openai.com
  http://127.0.0.1:7171/NAME         the address of --upstream NAME=URL

Claude Code takes its base URL from ANTHROPIC_BASE_URL. Clients of OpenAI want /v1
after the name: http://127.0.0.1:7171/openai/v1.

No header but the session, the request id and the user agent is read; credentials are
never recorded. Text is stored only with --store-text. When the ledger is away, facts
wait in an outbox in the data folder. An agent never waits for it.

Some clients behave in another way when the host is not their provider's; their
sessions say client_altered. Claude Code sends three system blocks instead of four, no
global cache mark, fewer betas and no id of the previous message. To record a client
without a change, use "ctxledger run".`,
		Example: `  ctxledger capture
  ctxledger capture --listen 127.0.0.1:9171 --upstream local=http://127.0.0.1:11434`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			named, err := namedUpstreams(upstreams)
			if err != nil {
				return err
			}
			if err := flags.check(); err != nil {
				return err
			}
			return runCapture(cmd.Context(), a, listen, named, flags)
		},
	}
	f := cmd.Flags()
	flags.register(f)
	f.StringVar(&listen, "listen", "127.0.0.1:7171", "address to listen on; port 0 takes any free port")
	f.StringArrayVar(&upstreams, "upstream", nil, "NAME=URL of a further provider")
	return cmd
}

// namedUpstreams reads NAME=URL flags.
func namedUpstreams(list []string) (map[string]string, error) {
	named := make(map[string]string, len(list))
	for _, text := range list {
		name, address, ok := strings.Cut(text, "=")
		if !ok || name == "" || address == "" {
			return nil, cli.UsageError("--upstream wants NAME=URL, such as local=http://127.0.0.1:11434")
		}
		if _, err := proxy.ParseUpstream(address); err != nil {
			return nil, cli.UsageError("--upstream %s: %w", name, err)
		}
		named[name] = address
	}
	return named, nil
}

func runCapture(ctx context.Context, a *cli.App, listen string, upstreams map[string]string, flags recordFlags) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; give another address with --listen", listen, errors.Unwrap(err))
	}
	defer listener.Close()
	address, running, err := natsAddress(a)
	if err != nil {
		return err
	}
	r, err := open(ctx, a, address, flags, true)
	if err != nil {
		return err
	}
	defer r.end(ctx)
	gateway, err := proxy.NewGateway(upstreams, listener.Addr(), r.Recorder)
	if err != nil {
		return cli.UsageError("%w", err)
	}
	server := &http.Server{Handler: gateway, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Fprintf(a.Out, "ctxledger records what passes; base URLs:\n")
	for _, name := range gateway.Names() {
		fmt.Fprintf(a.Out, "  http://%s/%s\n", listener.Addr(), name)
	}
	if !running {
		fmt.Fprintf(a.Err, "no ledger runs on %s: facts wait in an outbox; start one with `ctxledger up`\n", a.Flags.Data)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if server.Shutdown(within) != nil {
		_ = server.Close() // streams that are open end as their clients would see any end of a proxy
	}
	if n := gateway.Tunnelled(); n > 0 {
		fmt.Fprintf(a.Err, "ctxledger: %d connections changed their protocol and passed unread\n", n)
	}
	return err
}
