package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/operate"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/wire"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/notify"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/producer/gateway"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func UpCommand(a *cli.App) *cobra.Command {
	var ports portFlags
	var upstreams wire.UpstreamFlag
	var partitions int
	var asJSON bool
	var linger cli.LingerFlag
	var heads cli.HeadFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run NATS, ClickHouse and the projector on this machine until interrupted",
		Long: `Run NATS JetStream, ClickHouse, the projector and HTTP for the explorer, health and
metrics on this machine, on loopback, until interrupted. The explorer shows sessions
in a browser, and programs publish CloudEvents with POST /v1/events; see
"ctxledger serve --help". Agents that take a base URL are recorded on port 7171; see
"ctxledger capture --help". Nothing needs to be installed: the
first start fetches the ClickHouse engine, once. The data folder survives any
kind of end. Other commands find the running instance by its data folder.

Where --nats or --clickhouse names a server, that one is used and the embedded
one does not start.

` + portsHelp + `

` + cli.LingerHelp + `

` + cli.HeadsHelp + `
The first start makes the key.`,
		Example: `  ctxledger up
  ctxledger up --data ./ledger --json
  ctxledger up --nats-port 9422 --http-port 9070
  ctxledger up --upstream local=http://127.0.0.1:11434
  ctxledger up --linger 20ms
  ctxledger up --checkpoint-dir /mnt/elsewhere/heads`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ports.complete(cmd.Flags()); err != nil {
				return err
			}
			c := embedded.DefaultConfig(a.Flags.Data)
			c.NATSPort, c.ClickHousePort, c.HTTPPort = ports.nats, ports.clickhouse, ports.clickhouseHTTP
			if err := operate.CheckPartitions(partitions); err != nil {
				return err
			}
			if err := linger.Check(); err != nil {
				return err
			}
			if err := heads.Check(); err != nil {
				return err
			}
			named, err := upstreams.Named()
			if err != nil {
				return err
			}
			return runUp(cmd.Context(), a, c, schema.Partitions(partitions), ports, named, asJSON, time.Duration(linger), heads)
		},
	}
	f := cmd.Flags()
	ports.register(f)
	upstreams.Register(f)
	f.IntVar(&partitions, "partitions", 0, "in how many streams the events are; see migrate (default: as many as there are, or 1)")
	linger.Register(f)
	heads.Register(f)
	f.BoolVar(&asJSON, "json", false, "print the addresses as one JSON line once all is ready; it contains passwords")
	return cmd
}

// UpAddresses is the output of `up --json`.
type UpAddresses struct {
	embedded.Addresses
	Explorer string `json:"explorer_url"`
	Events   string `json:"events_url"`
	Capture  string `json:"capture_url,omitempty"` // followed by the name of a provider
	Health   string `json:"health_url"`
	Metrics  string `json:"metrics_url"`
	Data     string `json:"data"`
}

// healthOf returns the check of NATS. Only the own server can be asked how it is.
func healthOf(i *instance.Instance) func(context.Context) error {
	if i.Servers == nil {
		return status.Connected(i.NATS.IsConnected)
	}
	return status.Healthy(i.NATS.IsConnected, func(context.Context) (string, error) { return i.Servers.NATSHealth(), nil })
}

func runUp(ctx context.Context, a *cli.App, c embedded.Config, partitions schema.Partitions, ports portFlags, upstreams map[string]string, asJSON bool, linger time.Duration, heads cli.HeadFlags) (err error) {
	manager := notify.FromEnvironment(a.Log())
	c.Progress, c.Log = a.FetchProgress(), a.Log()
	if _, err := cli.KeysIn(c.Dir)(); err != nil {
		return err
	}
	ring, err := cli.RingIn(c.Dir)
	if err != nil {
		return err
	}
	pagesDoor := &door{server: embedded.HTTP, asked: ports.http}
	captureDoor := &door{server: embedded.Capture, asked: ports.capture}
	own := doors{pagesDoor, captureDoor}
	defer own.close()
	if err := own.openAsked(c.Dir); err != nil {
		return err
	}
	metrics := metrics.New()
	config := instanceConfig(a, c)
	config.Metrics, config.Partitions, config.Ring, config.Heads, config.Linger = metrics, partitions, ring, heads.Heads(), &linger
	alarms := make(chan error, 1)
	config.Told = func(err error) {
		select {
		case alarms <- err:
		case <-ctx.Done():
		}
	}
	i, err := instance.Start(ctx, config)
	if errors.Is(err, streamio.ErrPartitions) {
		return cli.UsageError("%w; `ctxledger migrate --help` says what to do", err)
	}
	if err != nil {
		return cli.Quietly(ctx, err)
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	moves, err := own.openRest(c.Dir)
	if err != nil {
		return err
	}
	found, stop, err := attend(ctx, a, i, pagesDoor.open, c.Dir, metrics)
	if err != nil {
		return err
	}
	defer stop()
	alarm, err := waitReady(ctx, i, alarms)
	if err != nil {
		return cli.Quietly(ctx, err)
	}
	if i.Servers != nil {
		moves = append(i.Servers.Moves(), moves...)
	}
	for _, move := range moves {
		fmt.Fprintln(a.Err, move)
	}
	capture, err := wire.Serve(ctx, a, found.NATSURL, captureDoor.open, upstreams)
	switch {
	case err == nil:
		defer capture.Close()
		found.Capture = capture.URL()
	case cli.ExitCode(err) == cli.ExitUsage: // what a flag asks for is not left out
		return err
	default:
		captureDoor.open.Close()
		fmt.Fprintf(a.Err, "agents are not recorded by base URL: %v\n", err)
	}
	if err := printAddresses(a, found, asJSON); err != nil {
		return err
	}
	defer manager.Ready(ctx, status.Process{Projectors: projectorsOf(i.Keeper)}.Alive)()
	for {
		if alarm != nil {
			fmt.Fprintf(a.Err, "nothing is projected: %v\nqueries go on, events wait in the stream, and it is tried again every minute\n", alarm)
		}
		select {
		case alarm = <-alarms:
		case err := <-i.Failed:
			return err
		case <-ctx.Done():
			fmt.Fprintln(a.Err, "stopping")
			if alarm != nil && !i.Keeper.Fleet().Status().Ready {
				return fmt.Errorf("when it was stopped, nothing was projected: %w", alarm)
			}
			return nil
		}
	}
}

// attend serves the pages, the events and the health of an instance on listener until stop, and
// announces their address to other commands.
func attend(ctx context.Context, a *cli.App, i *instance.Instance, listener net.Listener, data string, m *metrics.Metrics) (found UpAddresses, stop func(), err error) {
	if i.Servers != nil {
		if err := i.Servers.Announce("http://" + listener.Addr().String()); err != nil {
			return found, nil, err
		}
	}
	found = addressesOf(a, i, listener.Addr(), data)
	connect := func() (jetstream.JetStream, error) { return jetstream.New(i.NATS) }
	pages := pagesOf(a, func() (string, error) { return found.ReaderDSN, nil }, connect)
	telemetry := wire.NewTelemetry(ctx, a, func() (string, error) { return found.NATSURL, nil })
	server := status.Serve(listener, status.Process{
		Projectors: projectorsOf(i.Keeper),
		NATS:       healthOf(i), ClickHouse: i.Ledger.Ping, Metrics: status.NewRegistry(m),
		Guard: guardOf(a, accessFlags{}, nil).Wrap,
		Pages: withEvents(pages, &events{app: a, telemetry: telemetry, connect: connect}),
	})
	return found, func() {
		server.Close()
		telemetry.Close()
		pages.Close()
	}, nil
}

// captureURL is the base URL of a provider as a pattern, "" without a capture.
func captureURL(found UpAddresses) string {
	if found.Capture == "" {
		return ""
	}
	return found.Capture + "/anthropic  or /openai/v1"
}

// instanceConfig runs the embedded servers, except named ones.
func instanceConfig(a *cli.App, c embedded.Config) instance.Config {
	config := instance.Config{Embedded: c, Keys: cli.KeysIn(c.Dir), Log: c.Log}
	if a.NamesNATS() {
		config.ConnectNATS = func(options ...nats.Option) (*nats.Conn, error) { return a.DialNATS(a.Flags.NATS, options...) }
	}
	if a.Flags.ClickHouse != "" {
		config.ClickHouse = func(ctx context.Context) (*ledger.Ledger, error) { return cli.OpenDSN(ctx, a.Flags.ClickHouse) }
	}
	return config
}

// addressesOf tells where everything is, servers that were named included.
func addressesOf(a *cli.App, i *instance.Instance, health net.Addr, data string) UpAddresses {
	base := "http://" + health.String()
	found := UpAddresses{Explorer: base + "/", Events: base + gateway.Path, Health: base + "/readyz", Metrics: base + "/metrics", Data: data}
	if i.Servers != nil {
		found.Addresses = i.Servers.Addresses()
	}
	found.PID = os.Getpid()
	if a.NamesNATS() {
		found.NATSURL = cmp.Or(a.Flags.NATS, i.NATS.ConnectedUrl())
	}
	if a.Flags.ClickHouse != "" {
		found.ClickHouseDSN, found.ReaderDSN = a.Flags.ClickHouse, a.Flags.ClickHouse
	}
	return found
}

// waitReady waits until the projector is at work, or has given up, which is the alarm.
func waitReady(ctx context.Context, i *instance.Instance, alarms <-chan error) (alarm, err error) {
	for !i.Keeper.Fleet().Status().Ready {
		select {
		case alarm := <-alarms:
			return alarm, nil
		case err := <-i.Failed:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil, nil
}

func printAddresses(a *cli.App, found UpAddresses, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(found)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "%s\n", line)
		return err
	}
	finding := "data folder " + ui.ShellQuote(found.Data)
	if a.NamesNATS() || a.Flags.ClickHouse != "" {
		finding = "give other commands the same --nats and --clickhouse"
	}
	fmt.Fprintf(a.Out, "ctxledger is ready; %s\n", finding)
	natsURL, dsn := cli.Redacted(found.NATSURL), cli.Redacted(found.ReaderDSN)
	if !a.NamesNATS() {
		natsURL = cli.WithoutPassword(found.NATSURL)
	}
	if a.Flags.ClickHouse == "" {
		dsn = cli.WithoutPassword(found.ReaderDSN)
	}
	for _, line := range [][2]string{
		{"explorer", found.Explorer}, {"events", found.Events}, {"capture", captureURL(found)}, {"NATS", natsURL}, {"ClickHouse", dsn}, {"ClickHouse HTTP", found.HTTPURL}, {"health", found.Health}, {"metrics", found.Metrics},
	} {
		if line[1] != "" {
			fmt.Fprintf(a.Out, "  %-15s  %s\n", line[0], line[1])
		}
	}
	fmt.Fprint(a.Out, "\nNext, in another terminal:\n")
	for _, line := range [][2]string{
		{"record session logs", "import auto" + logFolders()},
		{"record an agent", "run -- claude"},
		{"ask where tokens went", "query session-usage"},
		{"connect a program", "connect"},
	} {
		fmt.Fprintf(a.Out, "  %-21s  ctxledger %s%s\n", line[0], line[1], a.Flags.DataArgument())
	}
	_, err := fmt.Fprint(a.Out, "\nPasswords are not shown; `ctxledger connect` names the files that hold them. Ctrl-C stops it.\n")
	return err
}

// logFolders are the folders of this machine's clients that hold session logs, as arguments.
func logFolders() (arguments string) {
	for _, f := range cli.LogFolders() {
		arguments += " " + ui.ShellQuote(f.Path)
	}
	return cmp.Or(arguments, " PATH…")
}
