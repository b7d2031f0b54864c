package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/schema"
)

func (a *App) NamesNATS() bool { return a.Flags.NATS != "" || a.Flags.natsContext != "" }

// Addresses returns the addresses of the named servers, or of the instance of `up` on the data
// folder. A named server is never paired with an instance that has such a server. The stream of
// one would go into the tables of the other.
func (a *App) Addresses() (found embedded.Addresses, err error) {
	given := embedded.Addresses{NATSURL: a.Flags.NATS, ClickHouseDSN: a.Flags.ClickHouse, ReaderDSN: a.Flags.ClickHouse}
	if a.NamesNATS() && a.Flags.ClickHouse != "" {
		return given, nil
	}
	found, err = embedded.Find(a.Flags.Data)
	if errors.Is(err, embedded.ErrNotRunning) && (a.NamesNATS() || a.Flags.ClickHouse != "") {
		return given, nil // the command may need only the server that was named
	}
	switch {
	case err != nil:
		return found, err
	case a.NamesNATS() && found.NATSURL != "", a.Flags.ClickHouse != "" && found.ClickHouseDSN != "":
		return given, nil
	case a.NamesNATS():
		found.NATSURL = given.NATSURL
	case a.Flags.ClickHouse != "":
		found.ClickHouseDSN, found.ReaderDSN, found.HTTPURL = given.ClickHouseDSN, given.ReaderDSN, ""
	}
	return found, nil
}

// ConnectNATS connects to JetStream until Close.
func (a *App) ConnectNATS(options ...nats.Option) (jetstream.JetStream, error) {
	found, err := a.Addresses()
	if err != nil {
		return nil, err
	}
	if found.NATSURL == "" && a.Flags.natsContext == "" {
		return nil, WithCode(ExitUnreachable, errors.New("no NATS address: name the server of this ClickHouse with --nats, or leave out --clickhouse to use the instance of `ctxledger up`"))
	}
	if !a.NamesNATS() {
		options = append(options, nats.NoReconnect()) // an instance that ends may come back on another port
	}
	nc, err := a.DialNATS(found.NATSURL, options...)
	if err != nil {
		return nil, err
	}
	a.opened = append(a.opened, nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	return js, nil
}

// DialNATS connects to the server at address, or to the server of the named context.
// Errors contain no password.
func (a *App) DialNATS(address string, options ...nats.Option) (*nats.Conn, error) {
	options = append([]nats.Option{nats.Name("ctxledger"), nats.Timeout(5 * time.Second), a.Flags.certificates}, options...)
	if a.Flags.natsContext != "" && a.Flags.NATS == "" {
		nc, _, err := natscontext.Connect(a.Flags.natsContext, options...)
		if err != nil {
			return nil, WithCode(ExitUnreachable, fmt.Errorf("NATS cannot be reached by the context %q: %w; `nats context ls` lists the contexts", a.Flags.natsContext, err))
		}
		return nc, nil
	}
	nc, err := nats.Connect(address, options...)
	var parse *url.Error
	switch {
	case errors.As(err, &parse):
		return nil, UsageError("the NATS address is not valid: want nats://host:4222 (%w)", parse.Err)
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("NATS at %s refuses the user: check the user and the password in the address", Redacted(address))
	case certificateTrouble(err) != "":
		return nil, WithCode(ExitUnreachable, fmt.Errorf("NATS at %s %s", Redacted(address), certificateTrouble(err)))
	case err != nil:
		return nil, WithCode(ExitUnreachable, fmt.Errorf("NATS at %s cannot be reached: %w; start it, or check the address", Redacted(address), err))
	}
	return nc, nil
}

// OpenLedger connects to ClickHouse as the writer until Close.
func (a *App) OpenLedger(ctx context.Context) (*ledger.Ledger, error) {
	return a.open(ctx, func(found embedded.Addresses) string { return found.ClickHouseDSN })
}

// OpenReader connects until Close, as a user that only reads where there is one.
func (a *App) OpenReader(ctx context.Context) (*ledger.Ledger, error) {
	return a.open(ctx, func(found embedded.Addresses) string { return found.ReaderDSN })
}

func (a *App) open(ctx context.Context, dsn func(embedded.Addresses) string) (*ledger.Ledger, error) {
	found, err := a.Addresses()
	if err != nil {
		return nil, err
	}
	l, err := OpenDSN(ctx, dsn(found))
	if err == nil {
		a.opened = append(a.opened, func() { l.Close() })
	}
	return l, err
}

// OpenDSN connects to the ledger of an address. It refuses a shard of a cluster, because an answer of
// one shard would be a part of the answer.
func OpenDSN(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	l, err := OpenAny(ctx, dsn)
	if err != nil {
		return nil, err
	}
	if err := refuseShard(ctx, l); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// OpenAny is OpenDSN for plain ledgers and shards.
func OpenAny(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	if dsn == "" {
		return nil, WithCode(ExitUnreachable, errors.New("no ClickHouse address: name the server of this NATS with --clickhouse, or leave out --nats to use the instance of `ctxledger up`"))
	}
	if err := checkDSN(dsn); err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, dsn)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, ledger.ErrUnreachable) {
		return nil, WithCode(ExitUnreachable, &unreachableClickHouse{dsn, err})
	}
	return l, err
}

// unreachableClickHouse words ledger.ErrUnreachable for a person.
type unreachableClickHouse struct {
	dsn   string
	cause error
}

func (e *unreachableClickHouse) Error() string {
	if trouble := certificateTrouble(e.cause); trouble != "" {
		return fmt.Sprintf("ClickHouse at %s %s", Redacted(e.dsn), trouble)
	}
	return fmt.Sprintf("ClickHouse at %s cannot be reached: start it, or check the address", Redacted(e.dsn))
}

func (e *unreachableClickHouse) Unwrap() error { return e.cause }

func checkDSN(dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return UsageError("the ClickHouse address is not valid: want clickhouse://user@host:9000/ctxledger, with the password in CTXLEDGER_CLICKHOUSE_DSN only")
	}
	return nil
}

// Redacted returns addresses, which may be several with commas between, without
// passwords and tokens.
func Redacted(addresses string) string {
	if addresses == "" {
		return ""
	}
	list := strings.Split(addresses, ",")
	for i, address := range list {
		u, err := ParseAddress(address)
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

// ParseAddress reads an address, which for NATS may lack its scheme.
func ParseAddress(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, "://") {
		address = "nats://" + address
	}
	return url.Parse(address)
}

// Quietly makes an interruption a normal end, for commands that run until one.
func Quietly(ctx context.Context, err error) error {
	if ctx.Err() != nil && !isExit(err) {
		return nil
	}
	return err
}

// ListenKept opens the last port of the data folder for one of the program's own servers. If the
// port is taken, it opens the next free one and says so.
func (a *App) ListenKept(server embedded.Listener) (net.Listener, error) {
	listener, move, err := embedded.Listen(a.Flags.Data, server, embedded.KeptPort)
	if move != nil {
		fmt.Fprintln(a.Err, move)
	}
	return listener, err
}

// FetchProgress shows how far the fetch of the engine is, on a terminal only.
func (a *App) FetchProgress() embedded.Progress {
	if !IsTerminal(a.Err) {
		return nil
	}
	return embedded.ProgressTo(a.Err)
}

// KeysIn returns a way to read the tenants' keys in a data folder.
func KeysIn(data string) func() ([]schema.KeyRing, error) {
	return func() ([]schema.KeyRing, error) { return keyfile.List(data) }
}

// OpenMigrated connects until Close to a ledger with current tables.
func (a *App) OpenMigrated(ctx context.Context) (*ledger.Ledger, error) {
	l, err := a.OpenLedger(ctx)
	if err != nil {
		return nil, err
	}
	pending, err := shadow.Of(l).Pending(ctx)
	if err != nil || len(pending) == 0 {
		return l, err
	}
	if err := shadow.Of(l).Restoring(ctx); err != nil { // migrate refuses
		return l, err
	}
	return l, errors.New("the tables are of an older version: run `ctxledger migrate`")
}

// KeysOf returns the keys of a tenant that a data folder has.
func KeysOf(data, tenant string) ([]schema.Key, error) {
	if tenant == "" {
		tenant = schema.DefaultTenant
	}
	rings, err := keyfile.List(data)
	if err != nil {
		return nil, err
	}
	for _, ring := range rings {
		if ring.Tenant == tenant {
			return ring.Keys, nil
		}
	}
	return nil, nil
}
