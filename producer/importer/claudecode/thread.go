package claudecode

import (
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"strconv"
)

// threadFinder finds the thread of a record. Each pass has its own finder and gives it every
// record in file order.
type threadFinder struct {
	session    string                     // session of the last record that names one
	sidechains map[callKey]string         // (session, record) → thread, for records without an agent id
	headless   map[model.ThreadKey]string // the thread's first record if it follows a record that the log lacks, else ""
}

func newThreadFinder() *threadFinder {
	return &threadFinder{sidechains: make(map[callKey]string), headless: make(map[model.ThreadKey]string)}
}

// find returns the record's thread. find returns false if no record so far names a session. A
// sidechain without an agent id gets the name of the first record in its chain of parents.
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
		f.headless[key] = ""
		if r.ParentUUID != "" {
			f.headless[key] = r.UUID
		}
	}
	return key, true
}

// id returns the record's uuid. For a record without a uuid it returns a name made from the line
// number.
func (r *claudeRecord) id(key model.ThreadKey, line int) string {
	if r.UUID != "" {
		return r.UUID
	}
	return key.Thread + ":line:" + strconv.Itoa(line)
}

// callID returns the id of the record's model call.
func (r *claudeRecord) callID(key model.ThreadKey, line int) string {
	if r.Message != nil && r.Message.ID != "" {
		return r.Message.ID
	}
	return r.id(key, line)
}
