// Package treehead exports signed heads of the transparency log to files and to commands.
package treehead

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/projector/signing"
)

// Sinks returns the sinks for a folder and a command. An empty argument makes no sink.
func Sinks(folder, command string) []signing.Sink {
	var sinks []signing.Sink
	if folder != "" {
		sinks = append(sinks, signing.Sink{Name: "file", Put: func(_ context.Context, stream string, note []byte) error {
			return Write(filepath.Join(folder, stream+".checkpoint"), note)
		}})
	}
	if command != "" {
		sinks = append(sinks, signing.Sink{Name: "command", Put: func(ctx context.Context, stream string, note []byte) error {
			return run(ctx, command, stream, note)
		}})
	}
	return sinks
}

// Write replaces a file atomically: a reader sees the old head or the new one.
func Write(file string, note []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(note)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	return nil
}

// letGo is the time in which a timed-out command must close its output. The command's child
// processes may keep the output open, and run does not wait for them.
const letGo = time.Second

// run sends a head to the standard input of a shell command. The error holds the end of the
// command's output.
func run(ctx context.Context, command, stream string, note []byte) error {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.WaitDelay = letGo
	cmd.Stdin = bytes.NewReader(note)
	cmd.Env = append(os.Environ(), "CTXLEDGER_STREAM="+stream)
	said, err := cmd.CombinedOutput()
	if err != nil {
		const most = 200
		text := strings.TrimSpace(string(said))
		return fmt.Errorf("checkpoint command: %w: %s", err, text[max(0, len(text)-most):])
	}
	return nil
}
