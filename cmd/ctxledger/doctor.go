package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/projector"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up and say what to do",
		Long: `Check the data folder, the keys, the servers, the streams, the tables and the
projector, and say for each problem what to do. Exit code 0 when nothing is
wrong, 5 when a server that should answer does not, 1 otherwise.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// A finding is one thing that doctor looked at.
type finding struct {
	what, state string
	err         error // nil when all is well
}

func (a *app) doctor(ctx context.Context) error {
	findings := []finding{a.checkData(), a.checkKeys(), a.checkEngine()}
	findings = append(findings, a.checkServers(ctx)...)
	var worst error
	for _, f := range findings {
		mark := "ok  "
		if f.err != nil {
			mark = "FAIL"
			f.state = f.err.Error()
			if worst == nil || exitCode(f.err) == exitUnreachable {
				worst = f.err
			}
		}
		fmt.Fprintf(a.out, "%s  %-10s  %s\n", mark, f.what, f.state)
	}
	if worst != nil {
		return &exitError{exitCode(worst), errors.New("something is wrong: see above")}
	}
	return nil
}

func (a *app) checkData() finding {
	f := finding{what: "data", state: a.flags.data}
	if _, err := os.Stat(a.flags.data); errors.Is(err, os.ErrNotExist) {
		f.state += " (not there yet; the first `ctxledger up` or `import` makes it)"
		return f
	}
	probe, err := os.CreateTemp(a.flags.data, ".doctor-*")
	if err != nil {
		f.err = fmt.Errorf("cannot write to %s: choose another folder with --data, or mend its permissions", a.flags.data)
		return f
	}
	probe.Close()
	os.Remove(probe.Name())
	return f
}

func (a *app) checkKeys() finding {
	rings, err := keyfile.List(a.flags.data)
	return finding{"keys", fmt.Sprintf("%d tenants with keys", len(rings)), err}
}

// checkEngine says where a ClickHouse would come from if one had to start.
func (a *app) checkEngine() finding {
	f := finding{what: "engine"}
	if path := os.Getenv("CTXLEDGER_LIBCHDB"); path != "" {
		f.state = "the library " + path
		if _, err := os.Stat(path); err != nil {
			f.err = fmt.Errorf("CTXLEDGER_LIBCHDB names %s, which is not there", path)
		}
		return f
	}
	var have []string
	for _, program := range []string{"clickhouse", "npm"} {
		if path, err := exec.LookPath(program); err == nil {
			have = append(have, filepath.Base(path))
		}
	}
	f.state = "found " + strings.Join(have, " and ") + " to get the embedded ClickHouse from"
	if len(have) == 0 && a.flags.clickhouse == "" {
		f.err = errors.New("neither npm nor clickhouse is installed: install npm, or name a server with --clickhouse")
	}
	return f
}

func (a *app) checkServers(ctx context.Context) []finding {
	if _, _, _, err := a.addresses(); errors.Is(err, embedded.ErrNotRunning) {
		return []finding{{what: "servers", state: "none run on this data folder: start them with `ctxledger up`"}}
	}
	nc, js, err := a.connectNATS()
	if err != nil {
		return []finding{{what: "nats", err: err}}
	}
	defer nc.Close()
	findings := []finding{{what: "nats", state: nc.ConnectedUrlRedacted() + ", version " + nc.ConnectedServerVersion()}}
	l, err := a.openLedger(ctx)
	if err != nil {
		return append(findings, finding{what: "clickhouse", err: err})
	}
	defer l.Close()
	version, err := l.Version()
	findings = append(findings, finding{"clickhouse", "version " + version, err})
	pending, err := l.Pending(ctx)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%d migrations are missing: run `ctxledger migrate`", len(pending))
	}
	findings = append(findings, finding{"tables", "up to date", err})
	if err != nil {
		return findings
	}
	level, err := projector.ReadLevel(ctx, js, l)
	return append(findings, finding{"projector", fmt.Sprintf("%d events in the stream, %d behind", level.Last, level.Behind()), err})
}
