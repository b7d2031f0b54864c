package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/notify"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storedtext"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/recheck"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

func ProjectCommand(a *cli.App) *cobra.Command {
	var untilCaughtUp, recheck bool
	var listen, monitor string
	var heads cli.HeadFlags
	var linger cli.LingerFlag
	cmd := &cobra.Command{
		Use:   "project",
		Short: "Run the projector: stream to tables",
		Long: `Run the projector until interrupted. It reads the stream by sequence and commits every
event to ClickHouse once. Of several projectors one holds the lease; another takes
over within seconds of its end. "ctxledger up" includes a projector. An interrupted
projector finishes its batch and exits with 0.

--listen answers over HTTP without a password: /metrics for Prometheus, /healthz and
/readyz. With --listen the projector stays if the stream lost events or is another
stream. The status reports the reason, the projector tries again every minute, and an
interruption exits with 1. Alert rules and a dashboard are in deploy/grafana.
A stream that could not be written, such as on a full disk, takes no messages until
NATS is restarted. With --nats-monitor, /readyz reports that.

Under systemd the command reports READY=1, WATCHDOG=1 and STOPPING=1 (Type=notify).
"ctxledger deploy systemd" prints a unit.

The keys in the data folder recognise a withheld value that a producer sends again.
Its event goes to quarantine with the value masked, and the message is deleted from
the stream.

` + cli.LingerHelp + `

` + cli.HeadsHelp + `
The key is made if the named data folder has none. A ledger that has a log needs its
key.

--recheck projects nothing. It searches the tables, and the texts in CTX_TEXTS, for values
that were recorded before their redaction. Each is printed by its place, never with the value, and stays in the
view check_redaction_reintroduced while the event is there. The exit code is 4 if there
are any. An interrupted pass continues at its place.`,
		Example: `  ctxledger project --until-caught-up
  ctxledger project --recheck
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger project
  ctxledger project --linger 20ms
  ctxledger project --data ./ledger --checkpoint-dir /mnt/elsewhere/heads
  ctxledger project --listen 127.0.0.1:9464 --log-format json
  ctxledger project --listen 127.0.0.1:9464 --nats-monitor http://127.0.0.1:8222`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if recheck && untilCaughtUp {
				return cli.UsageError("--recheck projects nothing: leave --until-caught-up away")
			}
			if recheck && listen != "" {
				return cli.UsageError("--recheck has no status: leave --listen away")
			}
			if monitor != "" && listen == "" {
				return cli.UsageError("--nats-monitor is for /readyz: give --listen, too")
			}
			if recheck {
				return runRecheck(cmd.Context(), a)
			}
			if err := linger.Check(); err != nil {
				return err
			}
			if err := heads.Check(); err != nil {
				return err
			}
			return project(cmd.Context(), a, untilCaughtUp, time.Duration(linger), listen, monitor, heads)
		},
	}
	cmd.Flags().BoolVar(&untilCaughtUp, "until-caught-up", false, "stop once level with the stream")
	linger.Register(cmd.Flags())
	cmd.Flags().StringVar(&listen, "listen", "", "address for /metrics, /healthz and /readyz, such as 127.0.0.1:9464 (default: none)")
	cmd.Flags().StringVar(&monitor, "nats-monitor", "", "monitoring address of the NATS server, such as http://127.0.0.1:8222, which /readyz asks")
	heads.Register(cmd.Flags())
	cmd.Flags().BoolVar(&recheck, "recheck", false, "search the tables for values that were recorded before their redaction, and stop")
	return cmd
}

// Outlasting makes a connection to NATS wait for an absent server without limit. A connection
// without answers is noticed within the life of a lease.
var Outlasting = []nats.Option{nats.MaxReconnects(-1), nats.PingInterval(3 * time.Second), nats.MaxPingsOutstanding(2)}

func project(ctx context.Context, a *cli.App, untilCaughtUp bool, linger time.Duration, listen, monitor string, heads cli.HeadFlags) error {
	manager := notify.FromEnvironment(a.Log())
	listener, err := ListenStatus(listen)
	if err != nil {
		return err
	}
	if listener != nil {
		defer listener.Close()
	}
	js, err := a.ConnectNATS(Outlasting...)
	if err != nil {
		return err
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return cli.Quietly(ctx, err)
	}
	tables, err := cli.OpenTables(ctx, a, js)
	if err != nil {
		return cli.Quietly(ctx, err)
	}
	names := streamio.StreamNames(streams)
	ledgers := tables.Ledgers(names)
	keys := cli.KeysIn(a.Flags.Data)
	if _, err := keys(); err != nil {
		return err
	}
	ring, err := a.OwnRing()
	if err != nil {
		return err
	}
	c := projector.DefaultConfig(js, ledgers[0])
	c.Ring, c.Signing = ring, heads.Heads()
	c.UntilCaughtUp, c.Linger, c.Keys, c.Log = untilCaughtUp, linger, keys, a.Log()
	if listener != nil {
		c.Metrics = metrics.New()
	}
	k := instance.Keeper{Config: c, Streams: names, Tables: tables, Pause: time.Minute}
	if tables.OnCluster() {
		k.Reopen = func(ctx context.Context) (shardmap.Tables, error) { return cli.OpenTables(ctx, a, js) }
	}
	if listener != nil && !untilCaughtUp { // ending would take the alarm away
		k.Waits = instance.Alarming
	}
	if err := k.Start(); err != nil {
		return err
	}
	process := status.Process{Projectors: projectorsOf(&k), NATS: status.Connected(js.Conn().IsConnected), ClickHouse: pingAll(ledgers)}
	if monitor != "" {
		process.NATS = status.Healthy(js.Conn().IsConnected, func(ctx context.Context) (string, error) { return storage.ReadHealth(ctx, monitor) })
	}
	if listener != nil {
		process.Metrics = status.NewRegistry(c.Metrics)
		defer status.Serve(listener, process).Close()
	}
	defer manager.Ready(ctx, process.Alive)()
	err = k.Run(ctx)
	s := k.Fleet().Status()
	upTo := fmt.Sprintf("up to sequence %d", s.Committed)
	if n := len(k.Streams); n > 1 {
		upTo = fmt.Sprintf("of %d streams", n)
	}
	fmt.Fprintf(a.Out, "projected %d events %s; %d duplicates, %d quarantined\n", s.Events, upTo, s.Duplicates, s.Quarantined)
	return err
}

// projectorsOf returns a function that lists the running projectors.
func projectorsOf(k *instance.Keeper) func() []status.Projector {
	return func() []status.Projector {
		var list []status.Projector
		for _, p := range k.Fleet().Projectors() {
			list = append(list, p)
		}
		return list
	}
}

// ListenStatus opens the address for the status; without one it returns nil.
func ListenStatus(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	var call *os.SyscallError
	switch {
	case err == nil:
		return listener, nil
	case errors.As(err, &call):
		return nil, fmt.Errorf("listen on %s for the status (%w): stop the program on that port, or choose another port with --listen", address, call.Err)
	}
	return nil, cli.UsageError("--listen %q is no address: want host:port, such as 127.0.0.1:9464", address)
}

func runRecheck(ctx context.Context, a *cli.App) error {
	plain, shards, err := cli.OpenWritersMigrated(ctx, a)
	if err != nil {
		return err
	}
	stored := &storedtext.Reader{Connect: func() (jetstream.JetStream, error) { return a.ConnectNATS() }, Keys: cli.KeysIn(a.Flags.Data)}
	r := recheck.Rechecker{
		Ledger: plain, Keys: cli.KeysIn(a.Flags.Data), Log: a.Log(),
		Text: func(ctx context.Context, tenant string, ref schema.Ref) (string, error) {
			text, err := stored.Stored(ctx, tenant, ref)
			if errors.Is(err, texts.ErrAbsent) {
				return "", nil
			}
			return text, err
		},
		Found: func(r privacy.Reintroduction) {
			_ = ui.Line(a.Out, "sequence %d of stream %s: %s %s of tenant %s holds a value that %s withholds", r.StreamSeq, r.Incarnation, r.Type, r.Record, r.Tenant, r.PolicyRef)
		},
	}
	done, err := recheckAll(ctx, r, shards)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%d events read, %d hold a withheld value\n", done.Events, done.Found)
	if done.UnknownKeys > 0 {
		fmt.Fprintf(a.Err, "%d keys that redactions name are not in %s: their values were not looked for\n", done.UnknownKeys, a.Flags.Data)
	}
	if done.Unread > 0 {
		fmt.Fprintf(a.Err, "%s of the bucket %s could not be read and were not searched; the log has the reasons\n", ui.Plural(done.Unread, "text"), streamio.TextsBucket)
	}
	if done.Found > 0 {
		return cli.WithCode(cli.ExitNotVerified, errors.New("withheld values were recorded before their redaction: `ctxledger query --sql 'SELECT * FROM check_redaction_reintroduced'` lists them"))
	}
	return nil
}

// recheckAll runs a re-check on its plain ledger, or on all shards one after the other.
func recheckAll(ctx context.Context, r recheck.Rechecker, shards *cluster.Ledgers) (done recheck.Rechecked, err error) {
	if shards == nil {
		return r.Run(ctx)
	}
	r.Shards = shards.All()
	for i, l := range shards.All() {
		r.Ledger = l
		of, err := r.Run(ctx)
		if err != nil {
			return done, shards.Shards[i].Failed(err)
		}
		done.Events, done.Found, done.Unread = done.Events+of.Events, done.Found+of.Found, done.Unread+of.Unread
		done.UnknownKeys = of.UnknownKeys // the same on each shard
	}
	return done, nil
}
