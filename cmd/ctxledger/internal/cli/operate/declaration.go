package operate

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/projector/shardmap"
)

// A declaration has the flags of the operator's facts: an erasure, a revocation.
type declaration struct {
	tenant, reason string
	policyRefs     []string
	dryRun         bool
	output         string
}

// register adds the flags. tenant and policy are their help.
func (d *declaration) register(f *pflag.FlagSet, tenant, policy string) {
	f.StringVar(&d.tenant, "tenant", "", tenant)
	f.StringVar(&d.reason, "reason", "", "why, for people; it stays")
	f.StringArrayVar(&d.policyRefs, "policy-ref", nil, policy+"; may be given again")
	f.StringVarP(&d.output, "output", "o", "table", "table or json")
}

// check refuses what no fact can be made of. A dry run makes none.
func (d *declaration) check() error {
	switch {
	case d.output != "table" && d.output != "json":
		return cli.UsageError("-o %q: want table or json", d.output)
	case !d.dryRun && strings.TrimSpace(d.reason) == "":
		return cli.UsageError("why? give --reason; it stays in the ledger")
	case !d.dryRun && len(d.policyRefs) == 0:
		return cli.UsageError("under which policy? give --policy-ref")
	}
	return nil
}

// openTables connects to the streams, and to the tables of all their partitions.
func openTables(ctx context.Context, a *cli.App) (jetstream.JetStream, shardmap.Tables, error) {
	js, err := a.ConnectNATS()
	if err != nil {
		return nil, shardmap.Tables{}, err
	}
	t, err := cli.OpenTables(ctx, a, js)
	return js, t, err
}
