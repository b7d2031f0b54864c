package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/wire"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/projector/metrics"
)

// StartLedger starts an instance with its pages on the data folder, for the time of a command.
func StartLedger(ctx context.Context, a *cli.App) (l wire.Ledger, err error) {
	c := embedded.DefaultConfig(a.Flags.Data)
	c.NATSPort, c.ClickHousePort, c.HTTPPort = embedded.KeptPort, embedded.KeptPort, embedded.KeptPort
	c.Progress, c.Log = a.FetchProgress(), a.Log()
	ring, err := cli.RingIn(c.Dir)
	if err != nil {
		return l, err
	}
	config := instanceConfig(a, c)
	config.Ring, config.Metrics = ring, metrics.New()
	i, err := instance.Start(context.WithoutCancel(ctx), config)
	if err != nil {
		return l, err
	}
	pages := &door{server: embedded.HTTP, asked: embedded.KeptPort}
	own := doors{pages}
	fail := func(err error) (wire.Ledger, error) {
		own.close()
		return l, errors.Join(err, i.Close())
	}
	if _, err := own.openRest(c.Dir); err != nil {
		return fail(err)
	}
	found, stop, err := attend(ctx, a, i, pages.open, c.Dir, config.Metrics)
	if err != nil {
		return fail(err)
	}
	return wire.Ledger{NATS: found.NATSURL, Explorer: found.ProgramURL, Stop: func() {
		stop()
		own.close()
		if err := i.Close(); err != nil {
			fmt.Fprintf(a.Err, "ctxledger: stop the ledger: %v\n", err)
		}
	}}, nil
}
