package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

// addresses returns where the servers are: as given, or those of the instance
// that `up` runs on the data folder.
func (a *app) addresses() (natsURL, dsn, readerDSN string, err error) {
	natsURL, dsn, readerDSN = a.flags.nats, a.flags.clickhouse, a.flags.clickhouse
	if (natsURL != "" || a.flags.natsContext != "") && dsn != "" {
		return natsURL, dsn, readerDSN, nil
	}
	found, err := embedded.Find(a.flags.data)
	if err != nil {
		if errors.Is(err, embedded.ErrNotRunning) && (natsURL != "" || dsn != "") {
			err = nil // the command may need only the server that was named
		}
		return natsURL, dsn, readerDSN, err
	}
	if natsURL == "" && a.flags.natsContext == "" {
		natsURL = found.NATSURL
	}
	if dsn == "" {
		dsn, readerDSN = found.ClickHouseDSN, found.ReaderDSN
	}
	return natsURL, dsn, readerDSN, nil
}

// connectNATS connects to JetStream. The caller closes the connection.
func (a *app) connectNATS() (*nats.Conn, jetstream.JetStream, error) {
	address, _, _, err := a.addresses()
	if err != nil {
		return nil, nil, err
	}
	var nc *nats.Conn
	switch {
	case a.flags.natsContext != "":
		nc, _, err = natscontext.Connect(a.flags.natsContext, nats.Name("ctxledger"))
	case address == "":
		return nil, nil, &exitError{exitUnreachable, errors.New("no NATS address: give --nats, or start one with `ctxledger up`")}
	default:
		nc, err = nats.Connect(address, nats.Name("ctxledger"), nats.Timeout(5*time.Second))
	}
	if err != nil {
		return nil, nil, &exitError{exitUnreachable, fmt.Errorf("connect to NATS: %w", err)}
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("use JetStream: %w", err)
	}
	return nc, js, nil
}

// openLedger connects to ClickHouse as the writer.
func (a *app) openLedger(ctx context.Context) (*ledger.Ledger, error) {
	_, dsn, _, err := a.addresses()
	return openDSN(ctx, dsn, err)
}

// openReader connects as a user who can only read, where there is one.
func (a *app) openReader(ctx context.Context) (*ledger.Ledger, error) {
	_, _, dsn, err := a.addresses()
	return openDSN(ctx, dsn, err)
}

func openDSN(ctx context.Context, dsn string, err error) (*ledger.Ledger, error) {
	if err != nil {
		return nil, err
	}
	if dsn == "" {
		return nil, &exitError{exitUnreachable, errors.New("no ClickHouse address: give --clickhouse, or start one with `ctxledger up`")}
	}
	return ledger.Open(ctx, dsn)
}
