package embedded

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

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
