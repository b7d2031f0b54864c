package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// maxSessions is the number of sessions in memory. The least recently used is read from its file
// when it continues.
const maxSessions = 64

// sessions are the states of the recorder's sessions. sessions is for one goroutine at a time.
type sessions struct {
	folder string           // "" keeps states in memory only
	marks  map[string]int64 // session → last sequence in the outbox
	loaded []*observe.Session
	made   map[string]bool             // sessions that no client named
	unsure map[string][]schema.Message // session → facts that may not be stored
}

// pending is the content of a file: a state, and the facts that led to it.
type pending struct {
	Session  *observe.Session `json:"session"`
	Messages []schema.Message `json:"messages,omitempty"`
}

func openSessions(folder, source string, marks map[string]int64) (*sessions, error) {
	s := &sessions{folder: folder, marks: make(map[string]int64), made: make(map[string]bool), unsure: make(map[string][]schema.Message)}
	prefix := publish.SequenceMark + " " + source + " "
	for name, value := range marks {
		if session, ok := strings.CutPrefix(name, prefix); ok {
			s.marks[session] = value
		}
	}
	if folder == "" {
		return s, nil
	}
	return s, os.MkdirAll(folder, 0o700)
}

// reload reads the newest sessions that no client named: their next request does not either. The
// states must be confirmed before.
func (s *sessions) reload() {
	if s.folder == "" {
		return
	}
	const most = 16
	files, _ := filepath.Glob(filepath.Join(s.folder, "*.made"))
	sort.Slice(files, func(i, j int) bool { return newer(files[i], files[j]) })
	for _, path := range files[:min(len(files), most)] {
		if id, err := os.ReadFile(path); err == nil {
			if _, err := s.get(string(id)); err == nil {
				s.made[string(id)] = true
			}
		}
	}
}

// file returns the path of a session's file without its suffix.
func (s *sessions) file(session string) string {
	sum := sha256.Sum256([]byte(session))
	return filepath.Join(s.folder, hex.EncodeToString(sum[:12]))
}

// of returns the session of an exchange: the one that the client names in its header or its
// body, else the one whose window it continues, else a new one.
func (s *sessions) of(named string, x *dialect.Exchange) (*observe.Session, error) {
	if named = clean(named); named == "" {
		named = clean(x.Request.Session)
	}
	if named != "" {
		return s.get(named)
	}
	print := observe.Read(x)
	best, most := (*observe.Session)(nil), 0
	for _, session := range s.loaded {
		if !s.made[session.ID] {
			continue
		}
		if n := session.Continues(print); n > most {
			best, most = session, n
		}
	}
	if best != nil {
		return best, nil
	}
	id := "session_" + uuid.NewString()
	s.made[id] = true
	if s.folder != "" {
		if err := s.write(s.file(id)+".made", []byte(id)); err != nil {
			return nil, err
		}
	}
	return s.get(id)
}

// get returns the state of a session.
func (s *sessions) get(id string) (*observe.Session, error) {
	for i, session := range s.loaded {
		if session.ID == id {
			s.loaded = append(append(s.loaded[:i:i], s.loaded[i+1:]...), session)
			return session, nil
		}
	}
	session := &observe.Session{ID: id}
	if s.folder != "" {
		p, err := readPending(s.file(id) + ".json")
		switch {
		case err == nil:
			session = p.Session
		case s.marks[markName(id)] > 0:
			session.Sequence = s.marks[markName(id)]
			session.Epoch = "after " + strconv.FormatInt(session.Sequence, 10)
		}
	}
	s.use(session)
	return session, nil
}

// markName returns a session in the form of the names of marks, which are headers.
func markName(session string) string {
	e := schema.Event{Correlation: schema.Correlation{SessionID: session}}
	if values := e.Binary().Header["ce-sessionid"]; len(values) > 0 {
		return values[0]
	}
	return session
}

// use makes a state the newest of its session.
func (s *sessions) use(session *observe.Session) {
	s.drop(session.ID)
	s.loaded = append(s.loaded, session)
	if len(s.loaded) > maxSessions {
		if s.folder == "" && !s.made[s.loaded[0].ID] {
			s.loaded[0].Forget()
			return
		}
		s.loaded = s.loaded[1:]
	}
}

// drop removes a state from memory.
func (s *sessions) drop(id string) {
	for i, session := range s.loaded {
		if session.ID == id {
			s.loaded = append(s.loaded[:i:i], s.loaded[i+1:]...)
			return
		}
	}
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
