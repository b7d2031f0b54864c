package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func DoctorCommand(a *cli.App) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up, and print the next step for each problem",
		Long: `Check the data folder, the keys, the servers, the streams, the tables and the projector,
and print the next step for each problem. Exit codes: 0 if all is well, 5 if a server
does not answer, 1 otherwise. A data folder without a running instance is no problem.

A stream or store with more than 85 % of its limit is a problem, and so is a disk that is
nearly full. NATS does not tell its clients the limit of the whole server
(max_file_store). --nats-monitor names the address that does. Without it, the command
finds a full store because the store refuses a key of the lease bucket. The command
removes that key again.

The command also checks that an account on NATS has no more rights than its role needs.
It checks the account of this connection, and with --secrets the accounts of all tenants
in a folder of "ctxledger deploy nats --out". The checks use messages that no stream
stores. On a cluster of ClickHouse servers it checks each shard, and the map from the
streams to the shards.

--bundle FILE also packs the state for a support request into a new zip file: the
findings, versions, settings with their origins, streams and consumers, leases, the last
commits, the number of quarantined messages by code, missing migrations, sizes, the
warnings of the engine of "up" as time, part and error code, and the states and metrics
of the processes that --status names and of "up". It has no passwords, no keys, no
content of events and no free text of logs. It has names of streams and tenants, hosts,
users and folders. The log of a projector is not in it.`,
		Example: `  ctxledger doctor
  ctxledger doctor --bundle support.zip --status http://127.0.0.1:9464
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger doctor --secrets node/secrets`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.bundle == "" && len(o.status) > 0 {
				return cli.UsageError("--status is for the bundle: give --bundle, too")
			}
			return doctor(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.monitor, "nats-monitor", "", "monitoring address of the NATS server, such as http://127.0.0.1:8222")
	cmd.Flags().StringVar(&o.bundle, "bundle", "", "pack the state for a support request into this new zip file")
	cmd.Flags().StringArrayVar(&o.status, "status", nil, "address of a process whose state goes into the bundle, such as http://127.0.0.1:9464; may be repeated")
	cmd.Flags().StringVar(&o.secrets, "secrets", "", "check the accounts of the tenants in this folder, too")
	return cmd
}

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	secrets string   // folder of the tenants' accounts, or ""
	monitor string   // monitoring address of NATS, or ""
	bundle  string   // file for the bundle, or ""
	status  []string // addresses of processes for the bundle
}

// A finding is one thing that doctor looked at.
type finding struct {
	what, state string
	err         error // nil when all is well
}

func doctor(ctx context.Context, a *cli.App, o doctorOptions) error {
	findings := []finding{checkData(a), checkKeys(a), checkEngine(ctx, a)}
	findings = append(findings, checkServers(ctx, a, o)...)
	var worst error
	t := ui.Table{Columns: []ui.Column{{}, {}, {Least: 20, Wrap: true}}}
	for _, f := range findings {
		mark := "ok  "
		if f.err != nil {
			mark = "FAIL"
			f.state = f.err.Error()
			if worst == nil || cli.ExitCode(f.err) == cli.ExitUnreachable {
				worst = f.err
			}
		}
		t.Rows = append(t.Rows, []string{mark, f.what, f.state})
	}
	if err := t.Write(a.Out, a.TableWidth(), ""); err != nil {
		return err
	}
	if o.bundle != "" {
		if err := writeBundle(ctx, a, o, findings); err != nil {
			return err
		}
	}
	if worst != nil {
		return cli.WithCode(cli.ExitCode(worst), errors.New("something is wrong: see above"))
	}
	return nil
}

func checkData(a *cli.App) finding {
	f := finding{what: "data", state: a.Flags.Data}
	if _, err := os.Stat(a.Flags.Data); errors.Is(err, os.ErrNotExist) {
		f.state += " (not there yet; the first `ctxledger up` or `import` makes it)"
		return f
	}
	probe, err := os.CreateTemp(a.Flags.Data, ".doctor-*")
	if err != nil {
		f.err = fmt.Errorf("cannot write to %s: choose another folder with --data, or mend its permissions", a.Flags.Data)
		return f
	}
	probe.Close()
	os.Remove(probe.Name())
	return f
}

func checkKeys(a *cli.App) finding {
	rings, err := keyfile.List(a.Flags.Data)
	return finding{"keys", fmt.Sprintf("%d tenants with keys", len(rings)), err}
}

// checkEngine finds the engine that a start of ClickHouse would use. The check downloads
// nothing.
func checkEngine(ctx context.Context, a *cli.App) finding {
	f := findEngine(ctx, a)
	switch reason := embedded.Confined(); {
	case f.err != nil || a.Flags.ClickHouse != "":
	case reason == nil:
		f.state += "; SQL reads only files of the engine (Landlock)"
	default:
		f.state += fmt.Sprintf("; SQL can read every file of this user (%v)", reason)
	}
	return f
}

func findEngine(ctx context.Context, a *cli.App) finding {
	f := finding{what: "engine"}
	named := os.Getenv("CTXLEDGER_CLICKHOUSE")
	library := os.Getenv("CTXLEDGER_LIBCHDB")
	program, err := exec.LookPath(cmp.Or(named, "clickhouse"))
	switch {
	case a.Flags.ClickHouse != "":
		f.state = "not needed: a server is named"
	case library != "":
		f.state = "the library " + library + ", which CTXLEDGER_LIBCHDB names"
		if _, err := os.Stat(library); err != nil {
			f.err = fmt.Errorf("CTXLEDGER_LIBCHDB names %s, which is not there: name a library that is, or unset it", library)
		}
	case named != "" && named != "off" && err != nil:
		f.err = fmt.Errorf("CTXLEDGER_CLICKHOUSE names %s, which is not there: name a program that is, or unset it", named)
	case named != "off" && err == nil:
		f.state = "the program " + program + ", if it is 26.6 or newer"
	default:
		return checkLibrary(ctx, a)
	}
	return f
}

// checkLibrary asks for the cached library with an ended context: the result is the outcome of
// a fetch without its download.
func checkLibrary(ctx context.Context, a *cli.App) finding {
	f := finding{what: "engine"}
	ended, end := context.WithCancel(ctx)
	end()
	library, err := embedded.Fetch(ended, nil)
	switch {
	case err == nil:
		f.state = library
	case errors.Is(err, context.Canceled):
		f.state = "not fetched yet: the first `ctxledger up` or `demo` does it through npm, once"
	default:
		f.err = err
	}
	return f
}

func checkServers(ctx context.Context, a *cli.App, o doctorOptions) []finding {
	if _, err := a.Addresses(); errors.Is(err, embedded.ErrNotRunning) {
		return []finding{{what: "servers", state: "none run on this data folder: start them with `ctxledger up`"}}
	}
	findings := checkDataRoom(a)
	js, err := a.ConnectNATS()
	if err == nil {
		findings = append(findings, finding{what: "nats", state: js.Conn().ConnectedUrlRedacted() + ", version " + js.Conn().ConnectedServerVersion()}, checkStream(ctx, js))
		findings = append(findings, checkReplicas(ctx, js)...)
		findings = append(findings, checkStreamRoom(ctx, js, o.monitor)...)
		findings = append(findings, checkAccounts(ctx, a, js, o.secrets)...)
	} else {
		findings = append(findings, finding{what: "nats", err: err})
	}
	l, shards, err := cli.OpenWriters(ctx, a)
	switch {
	case err != nil:
		return append(findings, finding{what: "clickhouse", err: err})
	case shards != nil:
		return append(findings, checkShards(ctx, js, shards)...)
	}
	list, well := checkLedger(ctx, l, "clickhouse", "ctxledger migrate")
	findings = append(findings, list...)
	if js == nil || !well {
		return findings
	}
	findings = append(findings, checkRetention(ctx, js, shardmap.Plain(l))...)
	return append(findings, checkProjector(ctx, js, l))
}

// checkLedger looks at one server of ClickHouse, whose tables the command migrates. It reports whether
// the tables are well.
func checkLedger(ctx context.Context, l *ledger.Ledger, name, migrate string) ([]finding, bool) {
	version, err := l.Version()
	tables := checkTables(ctx, l, migrate)
	findings := []finding{{name, "version " + version, err}, tables}
	if tables.err == nil {
		findings = append(findings, checkTableRoom(ctx, l)...)
	}
	return findings, tables.err == nil
}

// checkShards looks at each shard of a cluster, at the map from the streams to the shards, and whether
// all shards follow their streams. js is nil without a connection.
func checkShards(ctx context.Context, js jetstream.JetStream, shards *cluster.Ledgers) (findings []finding) {
	allWell := true
	for i, l := range shards.All() {
		name := fmt.Sprint("shard ", shards.Shards[i].Number)
		list, well := checkLedger(ctx, l, name, "ctxledger migrate --cluster "+shards.Cluster)
		list[0].state = fmt.Sprintf("%s, %s", shards.Shards[i], list[0].state)
		for n := range list[1:] {
			list[n+1].what += " of " + name
		}
		if ledger.Replicated(l) {
			list = append(list, finding{"replicas of " + name, "all answer", ledger.PingReplicas(ctx, l)})
		}
		findings, allWell = append(findings, list...), allWell && well
	}
	if js == nil || !allWell {
		return findings
	}
	placed := finding{what: "shard map"}
	m, err := shardmap.Read(ctx, js)
	if publish.PublishOnly(err) {
		placed.state = "not this account's to check"
		return append(findings, placed)
	}
	if err == nil {
		err = m.Check(ctx, js, shards)
	}
	placed.state, placed.err = fmt.Sprintf("%d partitions on %d shards of %s", len(m.Shards), len(shards.Shards), shards.Cluster), err
	if m.Move != nil {
		placed.state += fmt.Sprintf("; partition %d moves to shard %d (%s)", m.Move.Partition, m.Move.To, m.Move.Step)
	}
	if findings = append(findings, placed); err != nil {
		return findings
	}
	findings = append(findings, checkRetention(ctx, js, m.Tables(shards))...)
	f := finding{what: "projector", state: "all shards are level with their streams"}
	last, err := streamio.ReadLastSequences(ctx, js)
	if err != nil {
		f.err = err
		return append(findings, f)
	}
	level, err := m.AwaitCommit(ctx, js, shards, last, projectorPatience)
	if at := slices.Index(level, false); err == nil && at >= 0 {
		why := errors.New("events wait in its streams and nothing projects them: run `ctxledger project`")
		if m.Move != nil && m.Move.Step == shardmap.Switching {
			why = fmt.Errorf("partition %d is at the last step of a move, and nothing projects it: if the move was interrupted, run `ctxledger shards move --partition %[1]d --to %[2]d`", m.Move.Partition, m.Move.To)
		}
		err = shards.Shards[at].Failed(why)
	}
	f.err = err
	return append(findings, f)
}

// projectorPatience is the wait for progress of the tables.
const projectorPatience = 2 * time.Second

func checkTables(ctx context.Context, l *ledger.Ledger, migrate string) finding {
	pending, err := shadow.Of(l).Pending(ctx)
	switch {
	case ledger.AccessDenied(err):
		return finding{what: "tables", state: "not this user's to check: it reads a tenant's rows"}
	case err == nil:
		err = shadow.Of(l).Restoring(ctx) // nothing else is of use before its end
	}
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%d migrations are missing: run `%s`", len(pending), migrate)
	}
	return finding{"tables", "up to date", err}
}

func checkStream(ctx context.Context, js jetstream.JetStream) finding {
	heads, err := streamio.ReadLastSequences(ctx, js)
	if publish.PublishOnly(err) {
		return finding{what: "stream", state: "this account publishes and may not look into it; whether there is one, the first event shows"}
	}
	name := schema.EventStream
	if len(heads) > 1 {
		names := slices.Sorted(maps.Keys(heads))
		name = fmt.Sprintf("%s and %d more", names[0], len(names)-1)
	}
	return finding{"stream", fmt.Sprintf("%s, %d events so far", name, heads.Total()), err}
}

// checkReplicas looks at the replicas of all streams in a cluster. A server that is alone has no
// finding.
func checkReplicas(ctx context.Context, js jetstream.JetStream) []finding {
	list, err := streamio.ReadReplicas(ctx, js)
	if publish.PublishOnly(err) || errors.Is(err, streamio.ErrNoStream) {
		return nil
	}
	f := finding{what: "replicas", err: err}
	least, alone := 0, ""
	for _, r := range list {
		switch {
		case r.Cluster == "":
			return nil
		case !r.Healthy() && f.err == nil:
			f.err = fmt.Errorf("%s; see CtxledgerReplicasBehind in the runbook", r)
		case r.Alone():
			alone = r.Stream
		}
		if least == 0 || r.Want < least {
			least = r.Want
		}
	}
	if alone != "" && f.err == nil {
		f.err = fmt.Errorf("%s is on one server of the cluster and is lost with it: run `ctxledger migrate --replicas 3`", alone)
	}
	f.state = fmt.Sprintf("%d of each stream, all with all messages", least)
	return []finding{f}
}

// checkProjector looks whether the tables follow the stream.
func checkProjector(ctx context.Context, js jetstream.JetStream, l *ledger.Ledger) finding {
	f := finding{what: "projector"}
	last, err := streamio.ReadLastSequences(ctx, js)
	if publish.PublishOnly(err) {
		f.state = "not this account's to check"
		return f
	}
	if err != nil {
		f.err = err
		return f
	}
	level, err := streamio.AwaitCommit(ctx, js, l, last, projectorPatience, nil)
	switch {
	case err != nil:
		f.err = err
	case !level:
		f.err = errors.New("events wait in the stream and nothing projects them: run `ctxledger project` or `ctxledger up`")
	default:
		f.state = "level with the stream"
	}
	return f
}
