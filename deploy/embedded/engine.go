package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
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

func (e *engine) choosePorts(p *ports) (err error) {
	if e.tcp, err = p.choose(listenerClickHouse); err == nil {
		e.http, err = p.choose(listenerClickHouseHTTP, e.tcp)
	}
	return err
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
