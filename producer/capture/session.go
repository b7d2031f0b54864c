package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

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
