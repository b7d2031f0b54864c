package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
)

func (a *app) namesNATS() bool { return a.flags.nats != "" || a.flags.natsContext != "" }

// addresses returns where the servers are: as given, or those of the instance
// that `up` runs on the data folder. A server that was named is never paired
// with an instance that has one of its own: one's stream would go into the
// other's tables.
func (a *app) addresses() (found embedded.Addresses, err error) {
	given := embedded.Addresses{NATSURL: a.flags.nats, ClickHouseDSN: a.flags.clickhouse, ReaderDSN: a.flags.clickhouse}
	if a.namesNATS() && a.flags.clickhouse != "" {
		return given, nil
	}
	found, err = embedded.Find(a.flags.data)
	if errors.Is(err, embedded.ErrNotRunning) && (a.namesNATS() || a.flags.clickhouse != "") {
		return given, nil // the command may need only the server that was named
	}
	switch {
	case err != nil:
		return found, err
	case a.namesNATS() && found.NATSURL != "", a.flags.clickhouse != "" && found.ClickHouseDSN != "":
		return given, nil
	case a.namesNATS():
		found.NATSURL = given.NATSURL
	case a.flags.clickhouse != "":
		found.ClickHouseDSN, found.ReaderDSN, found.HTTPURL = given.ClickHouseDSN, given.ReaderDSN, ""
	}
	return found, nil
}

// connectNATS connects to JetStream. The caller closes the connection.
func (a *app) connectNATS(options ...nats.Option) (*nats.Conn, jetstream.JetStream, error) {
	found, err := a.addresses()
	if err != nil {
		return nil, nil, err
	}
	if found.NATSURL == "" && a.flags.natsContext == "" {
		return nil, nil, &exitError{exitUnreachable, errors.New("no NATS address: give the one that belongs to this ClickHouse with --nats, or leave --clickhouse away to use the instance that `ctxledger up` runs")}
	}
	if !a.namesNATS() {
		options = append(options, nats.NoReconnect()) // an instance that ends comes back on another port
	}
	nc, err := a.dialNATS(found.NATSURL, options...)
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, nil, fmt.Errorf("use JetStream: %w", err)
	}
	return nc, js, nil
}

// dialNATS connects to the server at address, or to that of the context that
// was named. No password gets into the error.
func (a *app) dialNATS(address string, options ...nats.Option) (*nats.Conn, error) {
	options = append([]nats.Option{nats.Name("ctxledger"), nats.Timeout(5 * time.Second)}, options...)
	if a.flags.natsContext != "" && a.flags.nats == "" {
		nc, _, err := natscontext.Connect(a.flags.natsContext, options...)
		if err != nil {
			return nil, &exitError{exitUnreachable, fmt.Errorf("NATS cannot be reached by the context %q: %w; `nats context ls` lists the contexts", a.flags.natsContext, err)}
		}
		return nc, nil
	}
	nc, err := nats.Connect(address, options...)
	var parse *url.Error
	switch {
	case errors.As(err, &parse):
		return nil, usageError("the NATS address is none: want nats://host:4222 (%w)", parse.Err)
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("NATS at %s refuses the user: check the user and the password in the address", redacted(address))
	case err != nil:
		return nil, &exitError{exitUnreachable, fmt.Errorf("NATS at %s cannot be reached: %w; start it, or check the address", redacted(address), err)}
	}
	return nc, nil
}

// publishOnly reports whether err says that the account may publish to the streams
// and not look into them, as that of a tenant of `deploy nats`.
func publishOnly(err error) bool { return errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) }

// openLedger connects to ClickHouse as the writer.
func (a *app) openLedger(ctx context.Context) (*ledger.Ledger, error) {
	found, err := a.addresses()
	if err != nil {
		return nil, err
	}
	return openDSN(ctx, found.ClickHouseDSN)
}

// openReader connects as a user who can only read, where there is one.
func (a *app) openReader(ctx context.Context) (*ledger.Ledger, error) {
	found, err := a.addresses()
	if err != nil {
		return nil, err
	}
	return openDSN(ctx, found.ReaderDSN)
}

func openDSN(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	if dsn == "" {
		return nil, &exitError{exitUnreachable, errors.New("no ClickHouse address: give the one that belongs to this NATS with --clickhouse, or leave --nats away to use the instance that `ctxledger up` runs")}
	}
	if err := checkDSN(dsn); err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, dsn)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, ledger.ErrUnreachable) {
		return nil, &exitError{exitUnreachable, &unreachableClickHouse{dsn, err}}
	}
	return l, err
}

// unreachableClickHouse words ledger.ErrUnreachable for a person.
type unreachableClickHouse struct {
	dsn   string
	cause error
}

func (e *unreachableClickHouse) Error() string {
	return fmt.Sprintf("ClickHouse at %s cannot be reached: start it, or check the address", redacted(e.dsn))
}

func (e *unreachableClickHouse) Unwrap() error { return e.cause }

func checkDSN(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return usageError("the ClickHouse address is none: want clickhouse://user@host:9000/ctxledger, with the password in CTXLEDGER_CLICKHOUSE_DSN only")
	}
	return nil
}

// redacted returns addresses, which may be several with commas between, without
// passwords and tokens.
func redacted(addresses string) string {
	if addresses == "" {
		return ""
	}
	list := strings.Split(addresses, ",")
	for i, address := range list {
		u, err := parseAddress(address)
		if err != nil {
			return "the given address"
		}
		if u.User != nil {
			if _, has := u.User.Password(); !has && holdsSecret(u) {
				u.User = url.User("xxxxx")
			}
		}
		u.RawQuery = ""
		list[i] = u.Redacted()
	}
	return strings.Join(list, ",")
}

// parseAddress reads an address, which for NATS may lack its scheme.
func parseAddress(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}
