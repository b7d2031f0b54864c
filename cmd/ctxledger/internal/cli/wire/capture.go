package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/notify"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/producer/capture/proxy"
)

// CaptureCommand returns the command capture.
func CaptureCommand(a *cli.App) *cobra.Command {
	var flags recordFlags
	var listen string
	var upstreams UpstreamFlag
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
after the name: http://127.0.0.1:7171/openai/v1. If port 7171 is taken, the next free
one is used, and a line reports it. "ctxledger up" records on this port, too; use
capture for further providers, for text, and for a ledger that runs elsewhere.

No header but the session, the request id and the user agent is read; credentials are
never recorded. Text is stored only with --store-text, and a text of 64 KiB or more only
if NATS can be reached and no secret is found in it. In the ledger of "ctxledger up",
titles name a tool's argument or a prompt's first words, without secrets; --titles=false
leaves them out. When the ledger is away, facts wait in an outbox in the data folder. An
agent never waits for it.

Clients behave in another way when the host is not their provider's; their sessions
say client_altered. To record a client without a change, use "ctxledger run".

  Claude Code     sends three system blocks instead of four, no global cache mark,
                  fewer betas and no id of the previous message
  Codex           ignores OPENAI_BASE_URL; with a model_providers entry it posts whole
                  windows instead of a WebSocket's messages, and prepares no response
  npm libraries   ask for gzip and deflate, not for brotli`,
		Example: `  ctxledger capture
  ctxledger capture --listen 127.0.0.1:9171 --upstream local=http://127.0.0.1:11434`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			named, err := upstreams.Named()
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
	f.StringVar(&listen, "listen", "", "address to listen on (default 127.0.0.1:7171, or the next free port); port 0 takes any free port")
	upstreams.Register(f)
	return cmd
}

// UpstreamFlag names further providers.
type UpstreamFlag []string

// Register adds the flag --upstream.
func (u *UpstreamFlag) Register(f *pflag.FlagSet) {
	f.StringArrayVar((*[]string)(u), "upstream", nil, "NAME=URL of a further provider")
}

// Named returns the addresses of the providers by name.
func (u UpstreamFlag) Named() (map[string]string, error) {
	named := make(map[string]string, len(u))
	for _, text := range u {
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
	manager := notify.FromEnvironment(a.Log())
	listener, err := listenCapture(a, listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	address, running, err := natsAddress(a)
	if err != nil {
		return err
	}
	tune()
	g, err := openGateway(ctx, a, address, listener, upstreams, flags, commandSlots())
	if err != nil {
		return err
	}
	defer g.Close()
	fmt.Fprintf(a.Out, "ctxledger records what passes; base URLs:\n")
	for _, url := range g.BaseURLs() {
		fmt.Fprintf(a.Out, "  %s\n", url)
	}
	if !running {
		fmt.Fprintf(a.Err, "no ledger runs on %s: facts wait in an outbox; start one with `ctxledger up`\n", a.Flags.Data)
	}
	defer manager.Ready(ctx, func() bool { return true })()
	select {
	case err = <-g.failed:
	case <-ctx.Done():
	}
	return err
}

// listenCapture opens the given address, or the port of the captures of the data folder.
func listenCapture(a *cli.App, address string) (net.Listener, error) {
	if address == "" {
		return a.ListenKept(embedded.Capture)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; give another address with --listen", address, errors.Unwrap(err))
	}
	return listener, nil
}
