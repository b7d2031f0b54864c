package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"strconv"
)

// threadFinder tells which thread a record belongs to. Both passes use one of
// their own and feed it every record in file order.
type threadFinder struct {
	session    string                   // of the last record that named one
	sidechains map[callKey]string       // (session, record) → thread, where no agent id says so
	headless   map[model.ThreadKey]bool // whether the thread's first record follows one that the log lacks
}

func newThreadFinder() *threadFinder {
	return &threadFinder{sidechains: make(map[callKey]string), headless: make(map[model.ThreadKey]bool)}
}

// find returns the record's thread, and false when neither the record nor one
// before it names a session. A sidechain without an agent id is named by the
// record that its chain of parents starts with.
func (f *threadFinder) find(r *claudeRecord) (model.ThreadKey, bool) {
	if r.SessionID != "" {
		f.session = r.SessionID
	}
	key := model.ThreadKey{Session: f.session, Thread: f.session}
	switch {
	case f.session == "":
		return key, false
	case !r.IsSidechain:
	case r.AgentID != "":
		key.Thread = r.AgentID
	case r.UUID != "":
		root, known := f.sidechains[callKey{f.session, r.ParentUUID}]
		if !known {
			root = r.UUID
		}
		f.sidechains[callKey{f.session, r.UUID}] = root
		key.Thread = root
	}
	if _, begun := f.headless[key]; !begun && r.UUID != "" {
		f.headless[key] = r.ParentUUID != ""
	}
	return key, true
}

// id is the record's uuid, or a name made of its line for a record without.
func (r *claudeRecord) id(key model.ThreadKey, line int) string {
	if r.UUID != "" {
		return r.UUID
	}
	return key.Thread + ":line:" + strconv.Itoa(line)
}

// callID is the id of the model call that the record is a part of.
func (r *claudeRecord) callID(key model.ThreadKey, line int) string {
	if r.Message != nil && r.Message.ID != "" {
		return r.Message.ID
	}
	return r.id(key, line)
}
