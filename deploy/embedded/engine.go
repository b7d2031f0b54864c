package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// orphanWait is the longest wait for the engine of a killed parent. This engine ends within
// about 5 s.
const orphanWait = 15 * time.Second

// engine supervises the ClickHouse child. Between a successful start and stop, a child runs or is
// being restarted, always on the same ports.
type engine struct {
	config    Config
	dir       string // Dir/clickhouse
	creds     credentials
	program   program
	log       *slog.Logger
	tcp, http int

	restarts atomic.Int64
	stopping chan struct{}               // closed by stop
	done     chan error                  // error of the last child, sent once by supervise
	child    atomic.Pointer[engineChild] // the latest child
}

func (e *engine) dataDir() string { return filepath.Join(e.dir, "data") }

// engineFolder is the engine's folder in the data folder.
const engineFolder = "clickhouse"

func newEngine(c Config, creds credentials, p program) *engine {
	return &engine{
		config:   c,
		dir:      filepath.Join(c.Dir, engineFolder),
		creds:    creds,
		program:  p,
		log:      c.log().With("server", "clickhouse"),
		stopping: make(chan struct{}),
		done:     make(chan error, 1),
	}
}

func startEngine(ctx context.Context, c Config, creds credentials, p *ports) (*engine, error) {
	e := newEngine(c, creds, program{})
	if err := e.waitForOrphan(ctx); err != nil {
		return nil, err
	}
	// A port that is in use is reported before the engine is fetched.
	if err := e.choosePorts(p); err != nil {
		return nil, err
	}
	var err error
	if e.program, err = findProgram(ctx, c); err != nil {
		return nil, err
	}
	child, err := e.launchOnPorts(ctx, p)
	if err != nil {
		return nil, err
	}
	e.child.Store(child)
	go e.supervise(child)
	return e, nil
}

// launchOnPorts launches on the chosen ports. If another program takes one of them first, it chooses
// again.
func (e *engine) launchOnPorts(ctx context.Context, p *ports) (*engineChild, error) {
	for {
		child, err := e.launchAfterOrphan(ctx)
		if err == nil || !p.lose(err) {
			return child, err
		}
		if err := e.choosePorts(p); err != nil {
			return nil, err
		}
	}
}

func (e *engine) choosePorts(p *ports) (err error) {
	if e.tcp, err = p.choose(listenerClickHouse); err == nil {
		e.http, err = p.choose(listenerClickHouseHTTP, e.tcp)
	}
	return err
}

// mostLaunches is how often a start launches an engine that a signal ends before it is ready.
const mostLaunches = 4

// launchAfterOrphan is launch, and waits once more for the engine of a killed parent. An engine
// that was still starting when its parent was killed locks the folder late. An engine that a signal
// ends, such as SIGKILL of a machine without memory, is launched again.
func (e *engine) launchAfterOrphan(ctx context.Context) (child *engineChild, err error) {
	for orphan, launches := false, 1; ; launches++ {
		child, err = e.launch(ctx)
		switch {
		case errors.Is(err, errFolderInUse) && !orphan:
			orphan = true
			if err := e.waitForOrphan(ctx); err != nil {
				return nil, err
			}
		case errors.Is(err, errEngineKilled) && launches < mostLaunches:
			e.log.Warn("ClickHouse was killed while it started, and is started again", "error", err)
		default:
			return child, err
		}
	}
}

// launch starts a child and waits until the child is ready. On an error no child is left.
func (e *engine) launch(ctx context.Context) (*engineChild, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.config.StartTimeout, fail(errEngineStart, nil,
		"ClickHouse was not ready after %s: read %s for the reason, and check the load of this machine", e.config.StartTimeout, filepath.Join(e.dir, "clickhouse.log")))
	defer cancel()
	listens := e.listens()
	child, err := e.startChild()
	if err != nil {
		return nil, err
	}
	p := newProbe(e.tcp, e.http, e.creds)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-child.exited:
			child.release()
			return nil, e.exitError(child)
		case <-e.stopping:
			child.stop(e.config.StopTimeout)
			return nil, fail(errEngineStart, nil, "ClickHouse was stopped while it started")
		case <-ctx.Done():
			child.kill()
			return nil, fmt.Errorf("start ClickHouse: %w", context.Cause(ctx))
		case <-tick.C:
		}
		if listens() && p.ready(ctx) == nil {
			return child, nil
		}
		if strings.Contains(child.lastWords(), addressInUse) {
			child.kill() // the child waits at its prompt without one of its ports
			return nil, e.exitError(child)
		}
	}
}

// Output of the engine when it ends too early.
const (
	addressInUse = "Address already in use"
	folderInUse  = "Another server instance in same directory"
)

// exitError returns the reason why a child ended before it was ready. The exit status does not
// help: it is 0 if the folder is in use.
func (e *engine) exitError(c *engineChild) error {
	words := c.lastWords()
	switch {
	case strings.Contains(words, addressInUse):
		if strings.Contains(words, address(e.http)) {
			return portInUse(listenerClickHouseHTTP, e.http, nil)
		}
		return portInUse(listenerClickHouse, e.tcp, nil)
	case strings.Contains(words, folderInUse):
		return e.folderInUse()
	case c.signaled():
		return fail(errEngineKilled, c.err, "ClickHouse was ended by a signal before it was ready (%s): look for a lack of memory in the log of the machine", c.cmd.ProcessState)
	case words == "":
		words = "without output, with status " + c.cmd.ProcessState.String()
	}
	return fail(errEngineStart, c.err, "ClickHouse ended before it was ready (%s): read %s for the reason", words, filepath.Join(e.dir, "clickhouse.log"))
}

func (e *engine) folderInUse() error {
	return fail(errFolderInUse, nil, "another ClickHouse uses %s: stop that ClickHouse, or use another data folder", e.dataDir())
}

// waitForOrphan waits until no engine locks the folder.
func (e *engine) waitForOrphan(ctx context.Context) error {
	deadline := time.Now().Add(orphanWait)
	for said := false; statusHeld(filepath.Join(e.dataDir(), "status")); {
		if !said {
			e.log.Info("waiting for the engine of an earlier start to end")
			said = true
		}
		if time.Now().After(deadline) {
			return e.folderInUse()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the earlier engine: %w", context.Cause(ctx))
		case <-e.stopping:
			return fail(errEngineStart, nil, "ClickHouse was stopped while it started")
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// statusHeld reports whether a running engine locks its status file. The pid in the file is less
// reliable, because another process can have the same pid later.
func statusHeld(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// stop ends the engine in order, within StopTimeout. stop must be called only once.
func (e *engine) stop() error {
	close(e.stopping)
	return <-e.done
}
