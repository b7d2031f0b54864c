package wire

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Ledger is the ledger that takes the facts of a command.
type Ledger struct {
	NATS     string // address of the stream
	Explorer string // base address of the pages, "" without them
	Stop     func() // stops what was started for the command
}

// A Starter starts a ledger on the data folder.
type Starter func(context.Context, *cli.App) (Ledger, error)

// natsAddress returns the address of the stream, also of an instance that does not run now.
// running reports whether it is the address of a server that was named or found.
func natsAddress(a *cli.App) (address string, running bool, err error) {
	l, running, err := findLedger(a)
	return l.NATS, running, err
}

func findLedger(a *cli.App) (l Ledger, running bool, err error) {
	l.Stop = func() {}
	found, err := a.Addresses()
	switch {
	case errors.Is(err, embedded.ErrNotRunning):
		l.NATS = fmt.Sprintf("nats://127.0.0.1:%d", embedded.DefaultNATSPort)
		return l, false, nil
	case err != nil:
		return l, false, err
	}
	l.NATS, l.Explorer = found.NATSURL, found.ProgramURL
	return l, found.NATSURL != "" || a.NamesNATS(), nil
}

// ledgerFor returns the ledger of the data folder, and starts one if none runs. A ledger that does
// not start keeps no agent from its work.
func ledgerFor(ctx context.Context, a *cli.App, start Starter) (Ledger, error) {
	l, running, err := findLedger(a)
	if err != nil || running || start == nil {
		return l, err
	}
	started, err := start(ctx, a)
	if err != nil {
		fmt.Fprintf(a.Err, "ctxledger: no ledger could be started: %v\nfacts wait in an outbox in %s\n", err, a.Flags.Data)
		return l, nil
	}
	return started, nil
}

// follow returns the address of a page that leads to the newest session with a fact after now, and
// waits for one. It is "" without pages.
func (l Ledger) follow(now time.Time) string {
	if l.Explorer == "" {
		return ""
	}
	return l.Explorer + "/last?" + url.Values{"since": {now.UTC().Format(time.RFC3339)}}.Encode()
}
