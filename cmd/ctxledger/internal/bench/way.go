package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/bench/mix"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/rebuild"
)

// The ways through the stream: a raw copy, the projector, and a rebuild of the projector's
// tables.
const (
	rawWay      = "raw"
	unloggedWay = "unlogged" // a drain without the transparency log
	drainWay    = "drain"
	rebuildWay  = "rebuild"
)

// WayConfig configures one way.
type WayConfig struct {
	Way        string // one of the ways above
	NATS       string // the address
	ClickHouse string // the address, with a database that has the tables
	Events     int    // number of events in the stream
	Profile    string // file for a CPU profile; empty writes no profile
}

// WayCommand is the command line of `ctxledger` that calls FollowWay; the
// addresses are in the environment.
var WayCommand = []string{"bench", "way"}

// wayEnded is the result of a way.
type wayEnded struct {
	Inserts int              `json:"inserts"` // of the raw copy
	Status  projector.Status `json:"status"`  // of the drain
	Rebuilt RebuildSteps     `json:"rebuilt"` // of the rebuild
}

// FollowWay runs one way in this process, which runs nothing else. FollowWay writes a line when
// it is ready and waits for a line of in. Then it runs the way and writes a line of JSON.
// FollowWay returns when in ends, so the parent can read the process's CPU time and memory first.
func FollowWay(ctx context.Context, c WayConfig, in io.Reader, out io.Writer) (err error) {
	nc, err := nats.Connect(c.NATS, nats.Name("ctxledger bench"))
	if err != nil {
		return errors.New("connect to NATS: the server does not answer") // the client's error may contain the password
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	begin, closeWay, err := c.prepare(ctx, js)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeWay()) }()
	orders := bufio.NewScanner(in)
	if _, err := fmt.Fprintln(out, "ready"); err != nil || !orders.Scan() {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		orders.Scan() // ends when the parent ends
		cancel()
	}()
	var found wayEnded
	err = profiled(c.Profile, func() (err error) {
		found, err = begin(ctx)
		return err
	})
	if err = errors.Join(err, ctx.Err()); err != nil { // an interrupted projector returns no error
		return err
	}
	text, err := json.Marshal(found, jsontext.Multiline(false))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s\n", text); err != nil {
		return err
	}
	<-gone
	return nil
}

// prepare connects a way to ClickHouse. prepare returns the functions that run and close the way.
func (c WayConfig) prepare(ctx context.Context, js jetstream.JetStream) (begin func(context.Context) (wayEnded, error), closeWay func() error, err error) {
	switch c.Way {
	case rawWay:
		conn, err := connect(c.ClickHouse)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (found wayEnded, err error) {
			found.Inserts, err = rawCopy(ctx, js, conn, projector.DefaultConfig(nil, nil), c.Events)
			return found, err
		}, conn.Close, nil
	case drainWay, unloggedWay:
		l, err := ledger.Open(ctx, c.ClickHouse)
		if err != nil {
			return nil, nil, err
		}
		pc := projector.DefaultConfig(js, l)
		pc.UntilCaughtUp, pc.Keys = true, mix.Keys
		if c.Way == drainWay {
			pc.Ring = mix.Ring
		}
		p, err := projector.New(pc)
		if err != nil {
			return nil, nil, errors.Join(err, l.Close())
		}
		return func(ctx context.Context) (wayEnded, error) {
			err := p.Run(ctx)
			return wayEnded{Status: p.Status()}, err
		}, l.Close, nil
	case rebuildWay:
		l, err := ledger.Open(ctx, c.ClickHouse)
		if err != nil {
			return nil, nil, err
		}
		r := rebuild.Rebuild{Projector: projector.ForRebuild, JetStream: js, Ledger: l, Keys: mix.Keys, Ring: mix.Ring}
		return func(ctx context.Context) (wayEnded, error) {
			done, err := r.Run(ctx)
			return wayEnded{Rebuilt: stepsOf(done)}, err
		}, l.Close, nil
	}
	return nil, nil, fmt.Errorf("%q is not a way: use %s, %s, %s or %s", c.Way, rawWay, unloggedWay, drainWay, rebuildWay)
}

// profiled runs the function what and writes a CPU profile to a file, unless the file's name is empty.
func profiled(name string, what func() error) (err error) {
	if name == "" {
		return what()
	}
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer pprof.StopCPUProfile()
	return what()
}

// startWay starts FollowWay in a separate process and returns when it is ready.
func (s *servers) startWay(ctx context.Context, c WayConfig) (*child, error) {
	args := append(WayCommand, "--way", c.Way, "--events", strconv.Itoa(c.Events), "--profile", c.Profile)
	child, err := startChild(c.Way, []string{"CTXLEDGER_NATS_URL=" + c.NATS, "CTXLEDGER_CLICKHOUSE_DSN=" + c.ClickHouse}, args...)
	if err != nil {
		return nil, err
	}
	_, err = child.line(ctx)
	return child, err
}

// goWay starts the way, waits for its end and returns the result.
func (c *child) goWay(ctx context.Context) (found wayEnded, err error) {
	if _, err := fmt.Fprintln(c.stdin, "go"); err != nil {
		return found, fmt.Errorf("start %s: %w", c.what, err)
	}
	line, err := c.line(ctx)
	if err != nil {
		return found, err
	}
	return found, json.Unmarshal([]byte(line), &found)
}
