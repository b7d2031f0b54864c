package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func DemoCommand(a *cli.App, sources fs.FS) *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Do the main job in one go: record an agent's windows and ask about them",
		Long: `Run the whole product once, in a temporary folder. The example agent of the SDK
(producer/exampleagent) works over the sources of this program, with a window of
24,000 tokens and a scripted model. The window fills: retrieved items are dropped, tool
outputs elided, messages summarised. A secret is withheld, a file is missing, and a
child run gets fewer grants.

Then the demo draws the window of a call, asks three questions in SQL, and writes and
verifies an evidence pack of the session. Last, it writes the session as one HTML file
and names it; without --keep the file is in the folder for temporary files. Nothing
leaves this machine. The demo ends within a minute.`,
		Example: `  ctxledger demo
  ctxledger demo --keep ./demo && ctxledger up --data ./demo`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a, sources, keep) },
	}
	cmd.Flags().StringVar(&keep, "keep", "", "use this data folder and keep it")
	return cmd
}

func runDemo(ctx context.Context, a *cli.App, sources fs.FS, keep string) (err error) {
	data := keep
	if data == "" {
		if data, err = os.MkdirTemp("", "ctxledger-demo-"); err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	}
	c := embedded.DefaultConfig(data)
	c.Progress, c.Log = a.FetchProgress(), a.Log()
	ring, err := cli.RingIn(data)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "Starting NATS, ClickHouse and the projector on this machine.")
	i, err := instance.Start(ctx, instance.Config{Embedded: c, Keys: cli.KeysIn(data), Ring: ring, Log: c.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, i.Close()) }()
	fmt.Fprintln(a.Out, "An agent with a scripted model works over this program's sources with a window of 24,000 tokens.")
	fmt.Fprintln(a.Out, "The agent is producer/exampleagent. Each line below is a fact that the agent recorded.")
	fmt.Fprintln(a.Out)
	shown, err := recordDemo(ctx, a, sources, i, data)
	if err != nil {
		return err
	}
	last, err := streamio.ReadLastSequences(ctx, i.JetStream)
	if err != nil {
		return err
	}
	level, err := streamio.AwaitCommit(ctx, i.JetStream, i.Ledger, last, 20*time.Second, nil)
	if err != nil {
		return err
	}
	if !level {
		return errors.New("the projector made no progress for 20 seconds: run again with --verbose")
	}
	if err := showDemo(ctx, a, i.Ledger, shown, last.Total()); err != nil {
		return err
	}
	path, err := demoEvidence(ctx, a, i, data, shown.Session)
	if err != nil {
		return err
	}
	page, err := demoReport(ctx, i, keep, shown)
	if err != nil {
		return err
	}
	sayHowToGoOn(a, keep, path, page)
	return nil
}

func recordDemo(ctx context.Context, a *cli.App, sources fs.FS, i *instance.Instance, data string) (demo.Shown, error) {
	ring, err := keyfile.Open(data, schema.DefaultTenant)
	if err != nil {
		return demo.Shown{}, err
	}
	guard, err := demo.Guard()
	if err != nil {
		return demo.Shown{}, err
	}
	c := producer.DefaultConfig(i.NATS)
	c.Runtime, c.Key, c.Guard, c.Counter = "demo", ring.Current(), guard, window.NewCounter(window.CounterConfig{})
	publisher := publish.New(i.JetStream, c.Linger)
	shown, err := demo.Record(ctx, c, publisher, sources, func(format string, args ...any) {
		line, _ := guard.Mask(fmt.Sprintf(format, args...))
		fmt.Fprintln(a.Out, line)
	})
	return shown, errors.Join(err, publisher.Flush(ctx))
}
