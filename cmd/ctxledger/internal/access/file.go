package access

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// lookAgain is the longest time until a change of a file counts.
const lookAgain = time.Second

// File is a tokens file that is in use. Safe for concurrent use.
type File struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex // guards the fields below
	known  []Identity
	looked time.Time
	state  state
}

// state shows whether a file has changed.
type state struct {
	modified time.Time
	size     int64
	present  bool
}

func stateOf(path string) state {
	info, err := os.Stat(path)
	if err != nil {
		return state{}
	}
	return state{info.ModTime(), info.Size(), true}
}

// Open reads a tokens file. A file with an error or without a token is refused.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log, state: stateOf(path), looked: time.Now()}
	known, err := load(path)
	if err == nil && len(known) == 0 {
		err = fmt.Errorf("tokens file %s has no token: add one with `ctxledger token create`", path)
	}
	f.known = known
	return f, err
}

// load reads a file that only its owner can change.
func load(path string) ([]Identity, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tokens file %s does not exist: make it with `ctxledger token create`", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("tokens file %s can be changed by other users: run chmod go-w on it", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	known, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("tokens file %s, %w", path, err)
	}
	return known, nil
}

// Find returns the identity of a token.
func (f *File) Find(token string) (Identity, bool) { return find(f.current(), token) }

// Has reports whether a token is still valid for the same tenant and roles.
func (f *File) Has(i Identity) bool {
	return slices.ContainsFunc(f.current(), func(known Identity) bool {
		return known.digest == i.digest && known.Tenant == i.Tenant && slices.Equal(known.Roles, i.Roles)
	})
}

// current returns the valid identities. It looks for a change of the file at most once a second.
func (f *File) current() []Identity {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookAgain {
		return f.known
	}
	f.looked = time.Now()
	now := stateOf(f.path)
	if now == f.state {
		return f.known
	}
	f.state = now
	if !now.present {
		f.known = nil
		f.log.Error("the tokens file is gone: no token is valid", "event", "tokens_gone", "file", f.path)
		return nil
	}
	known, err := load(f.path)
	if err != nil {
		f.log.Error("the tokens file has an error: the tokens of the last good file stay valid", "event", "tokens_malformed", "error", err)
		return f.known
	}
	f.known = known
	f.log.Info("the tokens file was read again", "event", "tokens_read", "tokens", len(known))
	return known
}

// Create adds a token to a file, which is made if it does not exist, and returns the token. Only
// its digest is stored: the token cannot be shown again. The line is durable on return.
func Create(path string, i Identity) (token string, err error) {
	if err := i.Validate(); err != nil {
		return "", err
	}
	token = newToken()
	i.digest = sum(token)
	return token, change(path, true, func(text string, known []Identity) (string, error) {
		if slices.ContainsFunc(known, func(other Identity) bool { return other.Name == i.Name }) {
			return "", fmt.Errorf("%w: a token %s exists; choose another name, or revoke the token first", ErrFormat, i.Name)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + i.line(), nil
	})
}

// ErrUnknown means that a file has no token of a name.
var ErrUnknown = errors.New("unknown token")

// Revoke removes the token of a name from a file.
func Revoke(path, name string) error {
	return change(path, false, func(text string, known []Identity) (string, error) {
		if !slices.ContainsFunc(known, func(other Identity) bool { return other.Name == name }) {
			return "", fmt.Errorf("%w: %s has no token %q; `ctxledger token list` shows the names", ErrUnknown, path, name)
		}
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) == 0 || fields[0] != name {
				kept.WriteString(line)
			}
		}
		return kept.String(), nil
	})
}

// List returns the identities of a file, in its order.
func List(path string) ([]Identity, error) { return load(path) }

// change edits a file under a lock and replaces it atomically.
func change(path string, create bool, edit func(text string, known []Identity) (string, error)) error {
	lock := flock.New(path + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the tokens file: %w", err)
	}
	defer lock.Unlock()
	var text []byte
	known, err := load(path)
	if create && !stateOf(path).present {
		err = nil
	} else if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return err
	}
	edited, err := edit(string(text), known)
	if err != nil {
		return err
	}
	return replace(path, edited)
}

func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".tokens-*") // 0600
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	return nil
}
