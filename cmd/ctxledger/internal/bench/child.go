package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// A child is this program in a separate process, which separates its CPU time and memory. The
// child ends when its standard input is closed, so it cannot outlive this process.
type child struct {
	what    string
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	stderr  strings.Builder
}

// startChild starts `ctxledger args…` with additional environment variables. Passwords go into
// variables, never into arguments.
func startChild(what string, variables []string, args ...string) (*child, error) {
	self := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
	}
	c := &child{what: what, command: exec.Command(self, args...)}
	c.command.Args[0] = "ctxledger"
	c.command.Env = append(os.Environ(), variables...)
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // only the parent handles Ctrl-C and ends the child
	c.command.Stderr = &c.stderr
	stdin, err := c.command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	c.stdin, c.stdout = stdin, bufio.NewReader(stdout)
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", what, err)
	}
	return c, nil
}

// line waits for the next line of the child. If the child has ended, the error contains the
// reason.
func (c *child) line(ctx context.Context) (string, error) {
	giveUp := context.AfterFunc(ctx, func() { c.stdin.Close() })
	defer giveUp()
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		_ = c.stop()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %s", c.what, strings.TrimSpace(c.stderr.String()))
	}
	return strings.TrimSpace(line), nil
}

func (c *child) pid() int { return c.command.Process.Pid }

// stop ends the child and waits for it.
func (c *child) stop() error {
	c.stdin.Close()
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("stop %s: %w", c.what, err)
	}
	return nil
}
