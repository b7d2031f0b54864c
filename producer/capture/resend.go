package capture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/schema"
)

// pending is the content of a file: a state, and the facts that led to it.
type pending struct {
	Session  *observe.Session `json:"session"`
	Messages []schema.Message `json:"messages,omitempty"`
}

// keep writes the next state of a session with the facts that lead to it.
func (s *sessions) keep(session *observe.Session, messages []schema.Message) error {
	if s.folder == "" {
		return nil
	}
	text, err := json.Marshal(pending{Session: session, Messages: slices.Concat(s.unsure[session.ID], messages)})
	if err != nil {
		return err
	}
	return s.write(s.file(session.ID)+".new", text)
}

// write makes a file durable: it has the whole text, or what it had before.
func (s *sessions) write(path string, text []byte) error {
	file, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".part", path); err != nil {
		return err
	}
	folder, err := os.Open(s.folder)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// wait notes that facts of a session may not be stored yet.
func (s *sessions) wait(session *observe.Session, messages []schema.Message) {
	s.unsure[session.ID] = append(s.unsure[session.ID], messages...)
}

// confirm makes the next state the state: its facts are stored. A confirmation that a power
// failure undoes sends the same facts again.
func (s *sessions) confirm(session *observe.Session) error {
	delete(s.unsure, session.ID)
	if s.folder == "" {
		return nil
	}
	err := os.Rename(s.file(session.ID)+".new", s.file(session.ID)+".json")
	if errors.Is(err, os.ErrNotExist) {
		return nil // it could not be written, which was said
	}
	return err
}

// unsent returns the files whose facts may not be stored.
func (s *sessions) unsent() []string {
	if s.folder == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(s.folder, "*.new"))
	return files
}

// forget removes the files of a damaged state.
func (s *sessions) forget(path string) {
	_ = os.Remove(path)
	_ = os.Remove(strings.TrimSuffix(path, ".new") + ".json")
}

func readPending(path string) (pending, error) {
	var p pending
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, err
	}
	if p.Session == nil || p.Session.ID == "" {
		return p, errors.New("the file has no session")
	}
	return p, nil
}

func newer(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && one.ModTime().After(other.ModTime())
}

// resend sends the facts that wait in the folder.
func (r *Recorder) resend(ctx context.Context) error {
	for _, path := range r.sessions.unsent() {
		p, err := readPending(path)
		if err != nil {
			r.config.Log.Warn("the state of a session is damaged; its next facts have new ids", "file", path)
			r.sessions.forget(path)
			continue
		}
		if err := r.config.Transport.Send(ctx, p.Messages...); err != nil {
			return err
		}
		if _, err := r.config.Transport.Store(ctx); err != nil {
			return err
		}
		if err := r.sessions.confirm(p.Session); err != nil {
			return err
		}
	}
	return nil
}
