package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/windowview"
	"github.com/ctxledger/ctxledger/producer/capture"
	"github.com/ctxledger/ctxledger/producer/capture/proxy"
)

// runFlags are those of run alone.
type runFlags struct {
	recordFlags
	hosts   []string
	only    bool
	noStart bool
}

// RunCommand returns the command run. start starts a ledger if none runs.
func RunCommand(a *cli.App, start Starter) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run -- COMMAND [ARGUMENT…]",
		Short: "Start an agent and record its exact windows",
		Long: `Start an agent and record the exact windows that it sends to its model. The agent
talks to its provider's own host, so it behaves as it does alone.

The command gets a proxy of its own by HTTPS_PROXY, and the certificate of an
authority that is made for this run. The key stays in memory. TLS is ended for the
hosts of providers; connections to all other hosts pass unread. Other processes do not
notice.

The terminal, signals and the exit code pass through. If no ledger runs on the data
folder, one is started and stopped again. When the ledger fails, facts wait in an outbox
in the data folder. The agent never waits for it. Standard error has the address of
the session's page first, and the last window as a bar at the end.

Text is stored only with --store-text, and a text of 64 KiB or more only if NATS can be
reached and no secret is found in it. Credentials are never recorded. In the ledger of
"ctxledger up", titles name a tool's argument or a prompt's first words, without secrets;
--titles=false leaves them out. Calls by WebSocket are recorded for the OpenAI Responses API. Other connections that change
their protocol pass unread; they are counted.`,
		Example: `  ctxledger run -- claude
  ctxledger run -- codex exec "fix the test"
  ctxledger run --host llm.example.org -- my-agent`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.UsageError("run takes the command to start: ctxledger run -- claude")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			hosts, err := providerHosts(flags.hosts)
			if err != nil {
				return err
			}
			if err := flags.check(); err != nil {
				return err
			}
			if flags.noStart {
				start = nil
			}
			return run(cmd.Context(), a, args, hosts, flags, start)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // flags after the command are the command's
	flags.register(f)
	f.StringArrayVar(&flags.hosts, "host", nil, "a further provider's host, HOST or HOST=URL where its requests go")
	f.BoolVar(&flags.only, "only-providers", false, "refuse connections to all other hosts")
	f.BoolVar(&flags.noStart, "no-start", false, "start no ledger; facts wait in the outbox until one runs")
	return cmd
}

// providerHosts returns the hosts of providers with the addresses to which their requests go.
func providerHosts(list []string) (map[string]string, error) {
	hosts := make(map[string]string)
	for _, host := range proxy.ProviderHosts {
		hosts[host] = ""
	}
	for _, text := range list {
		host, address, mapped := strings.Cut(text, "=")
		if host == "" || strings.ContainsAny(host, "/: ") {
			return nil, cli.UsageError("--host wants a host such as llm.example.org, or HOST=URL")
		}
		if mapped {
			if _, err := proxy.ParseUpstream(address); err != nil {
				return nil, cli.UsageError("--host %s: %w", host, err)
			}
		}
		hosts[host] = address
	}
	return hosts, nil
}

func run(ctx context.Context, a *cli.App, args []string, hosts map[string]string, flags runFlags, start Starter) error {
	if _, err := exec.LookPath(args[0]); err != nil {
		return cli.UsageError("%s cannot be started: %w", args[0], errors.Unwrap(err))
	}
	l, err := ledgerFor(ctx, a, start)
	if err != nil {
		return err
	}
	defer l.Stop()
	tune()
	r, err := open(ctx, a, l.NATS, flags.recordFlags, false, commandSlots())
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "ctxledger-run-")
	if err != nil {
		r.end(ctx)
		return fmt.Errorf("make a folder for the certificate: %w", err)
	}
	defer os.RemoveAll(folder)
	env, forward, err := startProxy(hosts, flags.only, folder, r.Recorder)
	if err != nil {
		r.end(ctx)
		return err
	}
	if page := l.follow(time.Now()); page != "" {
		fmt.Fprintf(a.Err, "ctxledger: %s shows the session as it grows\n", page)
	}
	err = runChild(a, args, env)
	_ = forward.Close()
	r.end(ctx)
	if n := forward.Tunnelled(); n > 0 {
		fmt.Fprintf(a.Err, "ctxledger: %d connections changed their protocol and passed unread\n", n)
	}
	for _, host := range forward.Pinned() {
		fmt.Fprintf(a.Err, "ctxledger: the command trusts only certificates of %s itself, so its connections passed unread\n", host)
	}
	drawLast(a, r.Last(), r.Counts())
	return err
}

// startProxy starts the child's proxy and returns the child's environment.
func startProxy(hosts map[string]string, only bool, folder string, recorder *capture.Recorder) ([]string, *proxy.Forward, error) {
	authority, err := proxy.NewAuthority()
	if err != nil {
		return nil, nil, err
	}
	forward, err := proxy.NewForward(authority, hosts, only, recorder)
	if err != nil {
		return nil, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("listen for the command: %w", err)
	}
	server := &http.Server{Handler: forward, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	env, err := environment(os.Environ(), "http://"+listener.Addr().String(), authority, folder)
	return env, forward, err
}

// drawLast draws the last window that was recorded.
func drawLast(a *cli.App, last *capture.Window, counts capture.Counts) {
	if last == nil {
		fmt.Fprintln(a.Err, "ctxledger: no request to a model was recorded")
		return
	}
	fmt.Fprintf(a.Err, "\nctxledger recorded %s of session %s; the last window:\n", ui.Plural(counts.Exchanges, "call"), last.Session)
	totals := make([]windowview.Total, 0, len(last.Layers))
	for _, l := range last.Layers {
		t := windowview.Total{Layer: l.Layer, Tokens: l.Tokens}
		if l.Items != nil {
			t.Items = *l.Items
		}
		totals = append(totals, t)
	}
	style := a.Style()
	style.Colour = style.Colour && cli.IsTerminal(a.Err)
	_ = windowview.DrawTotals(a.Err, totals, style)
}
