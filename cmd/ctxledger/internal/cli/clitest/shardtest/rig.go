// Package shardtest has a cluster of ClickHouse servers for tests, and compares it with one machine that has the
// same streams.
package shardtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Rig is a cluster of ClickHouse servers with a NATS server, and a plain ledger next to it.
type Rig struct {
	T      *testing.T
	JS     jetstream.JetStream
	Shards []*embeddedtest.Servers
	nats   string
	Plain  *ledger.Ledger // has nothing until [Rig.ProjectPlain]
	DSN    string         // of Plain
	HTTP   string         // of Plain
	Data   string         // folder of the keys
}

// NewRig starts n shards, a NATS server and one machine until the end of the test.
func NewRig(t *testing.T, n int) *Rig {
	t.Helper()
	clitest.NeedEngine(t)
	return NewRigOf(t, embeddedtest.NewShards(t, n, nil))
}

// NewRigOf is [NewRig] with these servers.
func NewRigOf(t *testing.T, shards []*embeddedtest.Servers) *Rig {
	t.Helper()
	r := &Rig{T: t, Shards: shards, nats: embeddedtest.NATS(t).NATSURL(), Data: t.TempDir()}
	nc, err := nats.Connect(r.nats)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if r.JS, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	plain := embeddedtest.ClickHouse(t)
	r.DSN, r.HTTP = plain.ClickHouseDSN(), plain.HTTPURL()
	if r.Plain, err = ledger.Open(t.Context(), r.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Plain.Close() })
	return r
}

// Command returns a command with the address of the first shard.
func (r *Rig) Command(args ...string) *clitest.Program {
	p := clitest.Command(append(args, "--data", r.Data)...)
	p.Env = append(os.Environ(), "CTXLEDGER_NATS_URL="+r.nats, "CTXLEDGER_CLICKHOUSE_DSN="+r.Shards[0].ClickHouseDSN())
	return p
}

// Run runs a command with the address of the first shard.
func (r *Rig) Run(args ...string) (stdout, stderr string, code int) {
	r.T.Helper()
	return r.RunOn(r.Shards[0].ClickHouseDSN(), args...)
}

// RunOn runs a command in this process, with the address of a ClickHouse server. The addresses are in a
// file, because arguments must not have passwords.
func (r *Rig) RunOn(dsn string, args ...string) (stdout, stderr string, code int) {
	r.T.Helper()
	ctx, cancel := context.WithTimeout(r.T.Context(), 5*time.Minute)
	defer cancel()
	settings := filepath.Join(r.T.TempDir(), "settings.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "nats: %q\nclickhouse: %q\n", r.nats, dsn), 0o600); err != nil {
		r.T.Fatal(err)
	}
	var out, errs bytes.Buffer
	code = clitest.RunContext(ctx, append(slices.Clone(args), "--data", r.Data, "--config", settings), strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

// Must is [Rig.Run] of a command that succeeds, and returns what it prints.
func (r *Rig) Must(args ...string) string {
	r.T.Helper()
	stdout, stderr, code := r.Run(args...)
	if code != cli.ExitDone {
		r.T.Fatalf("%v ended with %d: %s", args, code, stderr)
	}
	return stdout
}

// Projecting begins project, and returns once it has projected a message of each of four streams. Each is
// quarantined.
func (r *Rig) Projecting() *clitest.Program {
	r.T.Helper()
	project := r.Command("project").Begin(r.T)
	for _, bucket := range []string{"p00", "p40", "p8a", "pff"} {
		if _, err := r.JS.Publish(r.T.Context(), "ctx.v1.acme.unnamed."+bucket+".log.appended", []byte("{")); err != nil {
			r.T.Fatal(err)
		}
	}
	m, err := shardmap.Read(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	last, err := streamio.ReadLastSequences(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	if level, err := m.AwaitCommit(r.T.Context(), r.JS, r.Ledgers(), last, 2*time.Minute); err != nil || slices.Contains(level, false) {
		r.T.Fatalf("the shards are level with their streams: %v %v", level, err)
	}
	return project
}

// ProjectPlain projects the same streams into the plain ledger.
func (r *Rig) ProjectPlain() {
	r.T.Helper()
	if _, err := shadow.Of(r.Plain).Migrate(r.T.Context()); err != nil {
		r.T.Fatal(err)
	}
	c := projector.DefaultConfig(r.JS, r.Plain)
	c.UntilCaughtUp = true
	ring, err := cli.RingIn(r.Data)
	if err != nil {
		r.T.Fatal(err)
	}
	c.Ring = ring
	streams, err := streamio.ReadStreams(r.T.Context(), r.JS)
	if err != nil {
		r.T.Fatal(err)
	}
	f, err := projector.NewFleet(c, streamio.StreamNames(streams))
	if err == nil {
		err = f.Run(r.T.Context())
	}
	if err != nil {
		r.T.Fatal(err)
	}
}

// Ledgers opens all shards.
func (r *Rig) Ledgers() *cluster.Ledgers {
	r.T.Helper()
	l, err := ledger.Open(r.T.Context(), r.Shards[0].ClickHouseDSN())
	if err != nil {
		r.T.Fatal(err)
	}
	defer l.Close()
	m, err := cluster.Of(r.T.Context(), l)
	if err != nil || m == nil {
		r.T.Fatal(m, err)
	}
	all, err := cluster.Open(r.T.Context(), r.Shards[0].ClickHouseDSN(), *m)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { all.Close() })
	return all
}

// Digests returns the rows of a table and a digest that does not depend on their order.
func Digests(t *testing.T, list []*ledger.Ledger, table string) (rows uint64, digest uint64) {
	t.Helper()
	for _, l := range list {
		var n, sum uint64
		sql := fmt.Sprintf("SELECT count(), sumWithOverflow(cityHash64(toString(tuple(*)))) FROM %s FINAL", table)
		if err := l.SQL(nil).Conn.QueryRow(t.Context(), sql).Scan(&n, &sum); err != nil {
			t.Fatal(table, err)
		}
		rows, digest = rows+n, digest+sum
	}
	return rows, digest
}
