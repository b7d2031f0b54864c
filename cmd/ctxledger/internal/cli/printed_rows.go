package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// mostDrawn is how many rows of a table are remembered.
const mostDrawn = 10_000

// forgetDrawn is the age at which the rows of another terminal are removed.
const forgetDrawn = 7 * 24 * time.Hour

// remember keeps the ids of a table's rows for this terminal: #3 then names row 3. The ids
// are in a file (0600) of the user's cache folder. Without a terminal, or if the file
// cannot be written, nothing is kept.
func remember(a *App, rows ui.Drawn) {
	path, err := drawnFile(a)
	if err != nil || len(rows) == 0 {
		return
	}
	text, err := json.Marshal(rows[:min(len(rows), mostDrawn)])
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	if old, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json")); err == nil {
		for _, file := range old {
			if info, err := os.Stat(file); err == nil && time.Since(info.ModTime()) > forgetDrawn {
				_ = os.Remove(file)
			}
		}
	}
	temporary := path + ".new"
	if os.WriteFile(temporary, text, 0o600) == nil {
		_ = os.Rename(temporary, path)
	}
}

// drawnRow returns the ids of the row that #n names.
func drawnRow(a *App, name string) (map[string]string, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, "#"))
	if err != nil || n < 1 {
		return nil, UsageError("%q: a row is # and a number from 1, such as #3", name)
	}
	path, err := drawnFile(a)
	if err != nil {
		return nil, UsageError("%s: %w; give the id", name, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, UsageError("%s: no table with ids was drawn in this terminal; draw one first, for example with `ctxledger query sessions`", name)
	}
	var rows ui.Drawn
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, UsageError("%s: %s is damaged; draw the table again", name, path)
	}
	if n > len(rows) {
		return nil, UsageError("%s: the last table of this terminal has %s; give a number from 1 to %d", name, ui.Plural(len(rows), "row"), len(rows))
	}
	return rows[n-1], nil
}

// drawnFile returns the file for the rows of this terminal. The name has the device and
// the process session, since a new terminal may get the device of an old one.
func drawnFile(a *App) (string, error) {
	for _, stream := range []any{a.Out, a.Err, a.In} {
		if !IsTerminal(stream) {
			continue
		}
		info, err := ui.File(stream).Stat()
		if err != nil {
			return "", err
		}
		device, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			break
		}
		session, err := unix.Getsid(0)
		if err != nil {
			return "", err
		}
		folder, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(folder, "ctxledger", "drawn", fmt.Sprintf("%x-%d.json", device.Rdev, session)), nil
	}
	return "", errors.New("rows are remembered for terminals only, and this is a pipe")
}
