// Package instance runs a whole ctxledger in one process: the embedded servers without a named
// address, the streams, the tables and the projector. `up` and `demo` use it.
package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/metrics"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Config names the parts to run.
type Config struct {
	Embedded embedded.Config
	// ConnectNATS connects to a server that runs elsewhere. Nil starts the
	// embedded one.
	ConnectNATS func(...nats.Option) (*nats.Conn, error)
	// ClickHouse opens one that runs elsewhere. Nil starts the embedded one.
	ClickHouse func(context.Context) (*ledger.Ledger, error)
	// Keys returns the tenants' key rings, by which the projector recognises
	// withheld values that come back. Nil has none.
	Keys func() ([]schema.KeyRing, error)
	// Ring returns the ring of the ledger's transparency log. Nil keeps no log.
	Ring func() (proof.Ring, error)
	// Heads configures the heads of the log. The zero value has the defaults.
	Heads signing.Config
	// Linger is the projector's. Nil has the default.
	Linger *time.Duration
	Log    *slog.Logger // nil discards
	// Partitions is in how many streams the events of a new installation are. 0 is
	// as many as there are, or 1.
	Partitions schema.Partitions
	// Metrics count the work of the projector. Nil counts nothing.
	Metrics *metrics.Metrics
	// Told is called when the projector gives up. The projector then tries again every minute,
	// and the servers continue. Nil ends the projector; see Failed.
	Told func(error)
}

// Instance is a running ctxledger.
type Instance struct {
	Servers   *embedded.Servers // nil when both addresses were given
	NATS      *nats.Conn
	JetStream jetstream.JetStream
	Ledger    *ledger.Ledger
	Keeper    *Keeper // of the projectors

	// Failed yields the projector's error if it ends before Close.
	Failed chan error

	stop    context.CancelFunc
	stopped chan struct{}
}

// Start starts everything and returns when events that are published from now
// on will be projected. Nothing is left running after an error.
func Start(ctx context.Context, c Config) (_ *Instance, err error) {
	i := &Instance{Failed: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, i.Close())
		}
	}()
	// The owner of the lease. A data folder has one process at a time, so a successor need not
	// wait for the end of the lease. Otherwise the projector makes a new name.
	owner := ""
	if c.ConnectNATS == nil {
		owner = "embedded"
		c.ConnectNATS = func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(i.Servers.NATSURL(), options...) }
	} else {
		c.Embedded.NoNATS = true
	}
	if c.ClickHouse == nil {
		c.ClickHouse = func(ctx context.Context) (*ledger.Ledger, error) { return ledger.Open(ctx, i.Servers.ClickHouseDSN()) }
	} else {
		c.Embedded.NoClickHouse = true
	}
	if !c.Embedded.NoNATS || !c.Embedded.NoClickHouse {
		if i.Servers, err = embedded.Start(ctx, c.Embedded); err != nil {
			return nil, err
		}
	}
	if i.NATS, err = c.ConnectNATS(nats.Name("ctxledger"), nats.MaxReconnects(-1)); err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	if i.JetStream, err = jetstream.New(i.NATS); err != nil {
		return nil, fmt.Errorf("use jetstream: %w", err)
	}
	if _, err = streamio.Ensure(ctx, i.JetStream, streamio.Layout{Partitions: c.Partitions}); err != nil {
		return nil, err
	}
	streams, err := streamio.ReadStreams(ctx, i.JetStream)
	if err != nil {
		return nil, err
	}
	err = i.again(ctx, func() (err error) {
		i.Ledger, err = c.ClickHouse(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err = i.again(ctx, func() error { return i.migrate(ctx, owner, c.Log) }); err != nil {
		return nil, err
	}
	pc := projector.DefaultConfig(i.JetStream, i.Ledger)
	pc.Ring = c.Ring
	if c.Heads.Every > 0 {
		pc.Signing = c.Heads
	}
	if c.Linger != nil {
		pc.Linger = *c.Linger
	}
	pc.Owner, pc.Keys, pc.Log, pc.Metrics = owner, c.Keys, c.Log, c.Metrics
	i.Keeper = &Keeper{Config: pc, Streams: streamio.StreamNames(streams), Tables: shardmap.Plain(i.Ledger), Pause: time.Minute, Told: c.Told}
	if c.Told != nil {
		i.Keeper.Waits = func(error) bool { return true }
	}
	if err = i.Keeper.Start(); err != nil {
		return nil, err
	}
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	i.stop, i.stopped = stop, make(chan struct{})
	go func() {
		defer close(i.stopped)
		if err := i.Keeper.Run(run); err != nil {
			i.Failed <- fmt.Errorf("projector: %w", err)
		}
	}()
	return i, nil
}

// again repeats a step of the start if the own engine ended meanwhile; see [embedded.Servers.Again].
func (i *Instance) again(ctx context.Context, step func() error) error {
	if i.Servers == nil {
		return step()
	}
	return i.Servers.Again(ctx, step)
}

// migrate brings the tables and the rules to this version. An interrupted restore needs the servers
// to be run again: they start, nothing is migrated, and the projector waits.
func (i *Instance) migrate(ctx context.Context, owner string, log *slog.Logger) error {
	switch _, err := shadow.Of(i.Ledger).Migrate(ctx); {
	case errors.Is(err, shadow.ErrRestoring):
		if log != nil {
			log.Warn("nothing is projected until the restore ends: run the same `ctxledger backup restore` again", "event", "restore_interrupted")
		}
		return nil
	case err != nil:
		return err
	}
	_, err := streamio.EnsureRules(ctx, i.JetStream, i.Ledger, owner, log)
	return err
}

// Close stops the projector, then the connections, then the servers. The projector finishes its
// batch first.
func (i *Instance) Close() error {
	if i.stop != nil {
		i.stop()
		<-i.stopped
	}
	if i.NATS != nil {
		i.NATS.Close()
	}
	var errs []error
	if i.Ledger != nil {
		errs = append(errs, i.Ledger.Close())
	}
	if i.Servers != nil {
		errs = append(errs, i.Servers.Close())
	}
	return errors.Join(errs...)
}
