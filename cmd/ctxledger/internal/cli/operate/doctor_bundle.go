package operate

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bundle"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/storage"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/schema"
)

// writeBundle packs the findings and the state of the installation for a support request.
func writeBundle(ctx context.Context, a *cli.App, o doctorOptions, findings []finding) error {
	addresses := o.status
	found, err := a.Addresses()
	if err == nil && found.ProgramURL != "" {
		addresses = append(slices.Clone(addresses), found.ProgramURL)
	}
	b := bundler{
		a:      a,
		nats:   sync.OnceValues(func() (jetstream.JetStream, error) { return a.ConnectNATS() }),
		ledger: sync.OnceValues(func() (*ledger.Ledger, error) { return a.OpenLedger(ctx) }),
	}
	files := append([]bundle.File{
		{Name: "doctor.json", Read: func(context.Context) (any, error) { return told(findings), nil }},
		{Name: "versions.json", Read: b.versions},
		{Name: "configuration.json", Read: b.configuration},
		{Name: "streams.json", Read: b.stream(bundle.Streams)},
		{Name: "lease.json", Read: b.stream(bundle.Leases)},
		{Name: "commits.json", Read: b.tables(bundle.Commits)},
		{Name: "quarantine.json", Read: b.tables(bundle.Quarantine)},
		{Name: "migrations.json", Read: b.tables(bundle.Migrations)},
		{Name: "storage.json", Read: b.storage},
		{Name: "clickhouse.log", Read: bundle.ClickHouseLog(embedded.EngineLog(a.Flags.Data))},
	}, bundle.Processes(addresses)...)
	if err := bundle.Write(ctx, o.bundle, files, secretsOf(a, found)); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "wrote %s: %d files without contents of events. Look at it before you send it: it names streams, hosts and folders\n", o.bundle, len(files))
	return nil
}

// toldFinding is a finding in the bundle.
type toldFinding struct {
	What  string `json:"what"`
	Well  bool   `json:"ok"`
	State string `json:"state"`
}

func told(findings []finding) (list []toldFinding) {
	for _, f := range findings {
		one := toldFinding{f.what, f.err == nil, f.state}
		if f.err != nil {
			one.State = f.err.Error()
		}
		list = append(list, one)
	}
	return list
}

// bundler reads the parts of a bundle from the servers of the flags, which it connects to once.
type bundler struct {
	a      *cli.App
	nats   func() (jetstream.JetStream, error)
	ledger func() (*ledger.Ledger, error)
}

func (b bundler) stream(read func(context.Context, jetstream.JetStream) (any, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		js, err := b.nats()
		if err != nil {
			return nil, err
		}
		return read(ctx, js)
	}
}

func (b bundler) tables(read func(context.Context, *ledger.Ledger) (any, error)) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		l, err := b.ledger()
		if err != nil {
			return nil, err
		}
		return read(ctx, l)
	}
}

type versions struct {
	Program    string `json:"program"`
	Revision   string `json:"revision"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
	Processors int    `json:"processors"`
	Contract   string `json:"contract"`
	Tables     string `json:"tables"`
	Projection uint32 `json:"projection"`
	NATS       string `json:"nats"`
	ClickHouse string `json:"clickhouse"`
}

func (b bundler) versions(context.Context) (any, error) {
	build := status.ReadBuild()
	v := versions{
		Program: build.Version, Revision: build.Revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Processors: runtime.NumCPU(), Contract: schema.Version, Tables: migrate.Latest(), Projection: uint32(ledger.NewestRules),
		NATS: "unknown", ClickHouse: "unknown",
	}
	if js, err := b.nats(); err == nil {
		v.NATS = js.Conn().ConnectedServerVersion()
	}
	if l, err := b.ledger(); err == nil {
		if version, err := l.Version(); err == nil {
			v.ClickHouse = version
		}
	}
	return v, nil
}

type configuration struct {
	NATS             string   `json:"nats"`
	NATSOrigin       string   `json:"nats_origin"`
	NATSContext      string   `json:"nats_context,omitempty"`
	ClickHouse       string   `json:"clickhouse"`
	ClickHouseOrigin string   `json:"clickhouse_origin"`
	Data             string   `json:"data"`
	Variables        []string `json:"variables"` // names only
}

func (b bundler) configuration(context.Context) (any, error) {
	f := &b.a.Flags
	name, _ := f.NATSContext()
	c := configuration{
		NATS: cli.Redacted(f.NATS), NATSOrigin: f.NATSOrigin().String(), NATSContext: name,
		ClickHouse: cli.Redacted(f.ClickHouse), ClickHouseOrigin: f.ClickHouseOrigin().String(), Data: f.Data,
	}
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "CTXLEDGER_") {
			c.Variables = append(c.Variables, name)
		}
	}
	slices.Sort(c.Variables)
	return c, nil
}

func (b bundler) storage(ctx context.Context) (any, error) {
	var r storage.Report
	var err error
	if r.NATS, err = natsStorage(ctx, b.a, ""); err != nil {
		r.NATS.Error = err.Error()
	}
	if r.ClickHouse, err = ledgerStorage(ctx, b.a); err != nil {
		r.ClickHouse.Error = err.Error()
	}
	return r, nil
}

// secretsOf returns the passwords and tokens in the addresses of the flags, of the environment and
// of the instance.
func secretsOf(a *cli.App, found embedded.Addresses) []string {
	addresses := []string{a.Flags.NATS, a.Flags.ClickHouse, found.NATSURL, found.ClickHouseDSN, found.ReaderDSN}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "CTXLEDGER_") && strings.Contains(value, "://") {
			addresses = append(addresses, value)
		}
	}
	secrets := make(map[string]bool)
	for _, list := range addresses {
		for address := range strings.SplitSeq(list, ",") {
			u, err := cli.ParseAddress(address)
			if err != nil {
				continue
			}
			for _, secret := range passwordsIn(u) {
				secrets[secret] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(secrets))
}

// passwordsIn returns the password of an address. For NATS, a user without a password is a token.
func passwordsIn(u *url.URL) (list []string) {
	if password := u.Query().Get("password"); password != "" {
		list = append(list, password)
	}
	if u.User == nil {
		return list
	}
	password, has := u.User.Password()
	switch {
	case has && password != "":
		list = append(list, password)
	case !has && u.Scheme != "clickhouse":
		list = append(list, u.User.Username())
	}
	return list
}
