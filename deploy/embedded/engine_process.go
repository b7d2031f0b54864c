package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded/internal/confine"
)

// blockingQuery opens the ports. Then it reads the inherited pipe until the other end is closed,
// by Close or by the end of the parent.
const blockingQuery = "SYSTEM START LISTEN TCP; SYSTEM START LISTEN HTTP; SELECT count() FROM file('/dev/fd/3', 'LineAsString', 'line String')"

// engineChild is one run of the engine.
type engineChild struct {
	cmd      *exec.Cmd
	pipe     *os.File // closing it stops the engine
	terminal *os.File // nil if not available; closed with the pipe
	output   string   // path of the output
	started  time.Time
	exited   chan struct{} // closed when the process has ended
	err      error         // result of the process; valid after exited
}

// startChild runs the engine in a separate session. The child inherits only the two descriptors
// in the picture of the package comment.
func (e *engine) startChild() (*engineChild, error) {
	config, err := writeSettings(e.dir, e.config)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--config-file=" + config,
		"--path=" + e.dataDir(),
		fmt.Sprintf("--tcp_port=%d", e.tcp),
		fmt.Sprintf("--http_port=%d", e.http),
		"--listen_host=" + loopback,
		"--log-level=information",
		"--progress=off",
		"--query=" + blockingQuery,
	}
	c := &engineChild{output: filepath.Join(e.dir, "output.txt"), exited: make(chan struct{})}
	output, err := os.OpenFile(c.output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start ClickHouse: %w", err)
	}
	defer output.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start ClickHouse: %w", err)
	}
	defer read.Close()
	c.pipe = write
	master, slave, err := openTerminal()
	if err == nil {
		defer slave.Close()
		c.terminal = master
		args = append(args, "--interactive", "--disable_suggestion", "--history_file="+filepath.Join(e.dir, "history"))
	} else {
		e.log.Debug("no pseudo-terminal: a malformed byte on a port will restart ClickHouse", "error", err)
	}

	cmd := exec.Command(e.program.path)
	cmd.Args = append(append([]string{e.program.name}, e.program.prefix...), args...)
	cmd.Dir = e.dir
	cmd.Env = append(inherited(), "HOME="+e.dir, "TZ=UTC", "TERM=dumb")
	cmd.Env = append(cmd.Env, e.creds.environment()...)
	if e.program.library != "" {
		cmd.Env = append(cmd.Env, childLibrary+"="+e.program.library)
		if e.config.RemoveDir {
			cmd.Env = append(cmd.Env, childRemoveDir+"="+e.config.Dir)
		}
	}
	if slave != nil {
		cmd.Stdin = slave
	}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{read} // descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.cmd, c.started = cmd, time.Now()
	start := func() error { return confine.Start(cmd, e.mayOpen()) }
	if err := confine.Available(); err != nil {
		e.log.Warn("SQL can read every file that this user can read: the ClickHouse process is not confined", "error", err)
		start = cmd.Start
	}
	if err := start(); err != nil {
		c.release()
		return nil, fail(errEngineStart, err, "the ClickHouse process cannot be started: %v", err)
	}
	go func() {
		c.err = cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

// Confined returns nil if this system confines the ClickHouse process to the files that it
// needs, or the reason why not.
func Confined() error { return confine.Available() }

// inherited returns the variables of this process that the engine needs: the language, where
// libraries are, and the hashes of passwords that files in users.d may name. SQL can read
// the environment of the engine's process.
func inherited() (list []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		hash := strings.HasPrefix(name, "CTXLEDGER_") && strings.HasSuffix(name, "_SHA256")
		if hash || name == "LD_LIBRARY_PATH" || name == "LANG" || name == "LC_ALL" {
			list = append(list, variable)
		}
	}
	return list
}

func (c *engineChild) release() {
	c.pipe.Close()
	if c.terminal != nil {
		c.terminal.Close()
	}
}

// stop ends the engine in order, or kills it after the limit.
func (c *engineChild) stop(limit time.Duration) error {
	c.release()
	select {
	case <-c.exited:
		return nil
	case <-time.After(limit):
	}
	c.kill()
	return fmt.Errorf("stop ClickHouse: it did not end within %s and was killed", limit)
}

// signaled reports whether a signal ended the engine. Call it after the end.
func (c *engineChild) signaled() bool {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

func (c *engineChild) kill() {
	// The process group is the child's session, so the signal reaches no other process.
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.cmd.Process.Kill()
	}
	<-c.exited
	c.release()
}

// lastWords returns the most useful line of the engine's output: the last exception, or else the
// last line.
func (c *engineChild) lastWords() string {
	data, err := os.ReadFile(c.output)
	if err != nil {
		return ""
	}
	var last, exception string
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "Logging ") {
			continue
		}
		last = text
		if strings.Contains(text, "Exception") || strings.Contains(text, "<Fatal>") {
			exception = text
		}
	}
	if exception != "" {
		return exception
	}
	return last
}

// listenPatience is how long an engine may listen without a line in its log. A later version
// may log other words.
const listenPatience = 5 * time.Second

// listens returns a function that reports whether the engine that starts now has opened both
// of its ports. Until then another program may hold a port, and a probe would send it the
// writer's password.
func (e *engine) listens() func() bool {
	path, begun := filepath.Join(e.dir, "clickhouse.log"), time.Now()
	var from int64
	if info, err := os.Stat(path); err == nil {
		from = info.Size()
	}
	return func() bool {
		if time.Since(begun) > listenPatience {
			return true
		}
		log, err := readFrom(path, from)
		if err != nil {
			return false
		}
		open := make(map[string]bool)
		for line := range strings.Lines(string(log)) {
			for _, port := range []int{e.tcp, e.http} {
				if strings.Contains(line, "Listening for") && strings.HasSuffix(line, address(port)+"\n") {
					open[address(port)] = true
				}
			}
		}
		return len(open) == 2
	}
}

// readFrom reads what was appended to a file, all of it if the file has begun anew.
func readFrom(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < from {
		from = 0
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
