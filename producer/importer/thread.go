package importer

import (
	"net/url"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// threadKey names a thread of a session: the main one by the session's id, a
// sub-agent's by the agent's.
type threadKey struct{ session, thread string }

func (k threadKey) main() bool { return k.session == k.thread }

// threadFinder tells which thread a record belongs to. Both passes use one of
// their own and feed it every record in file order.
type threadFinder struct {
	session    string             // of the last record that named one
	sidechains map[callKey]string // (session, record) → thread, where no agent id says so
	headless   map[threadKey]bool // whether the thread's first record follows one that the log lacks
}

func newThreadFinder() *threadFinder {
	return &threadFinder{sidechains: make(map[callKey]string), headless: make(map[threadKey]bool)}
}

// find returns the record's thread, and false when neither the record nor one
// before it names a session. A sidechain without an agent id is named by the
// record that its chain of parents starts with.
func (f *threadFinder) find(r *claudeRecord) (threadKey, bool) {
	if r.SessionID != "" {
		f.session = r.SessionID
	}
	key := threadKey{f.session, f.session}
	switch {
	case f.session == "":
		return key, false
	case !r.IsSidechain:
	case r.AgentID != "":
		key.thread = r.AgentID
	case r.UUID != "":
		root, known := f.sidechains[callKey{f.session, r.ParentUUID}]
		if !known {
			root = r.UUID
		}
		f.sidechains[callKey{f.session, r.UUID}] = root
		key.thread = root
	}
	if _, begun := f.headless[key]; !begun && r.UUID != "" {
		f.headless[key] = r.ParentUUID != ""
	}
	return key, true
}

// id is the record's uuid, or a name made of its line for a record without.
func (r *claudeRecord) id(key threadKey, line int) string {
	if r.UUID != "" {
		return r.UUID
	}
	return key.thread + ":line:" + strconv.Itoa(line)
}

// callID is the id of the model call that the record is a part of.
func (r *claudeRecord) callID(key threadKey, line int) string {
	if r.Message != nil && r.Message.ID != "" {
		return r.Message.ID
	}
	return r.id(key, line)
}

// thread is the state of one thread while its facts are made.
type thread struct {
	key      threadKey
	session  *session
	source   string
	sequence int64 // of the last event
	opened   bool
	seen     map[string]bool // record ids
	calls    map[string]bool
	turn     string // the prompt that began the turn
	model    string // of the last answer
	log      itemLog
	covered  *stretch // what the last compaction replaced, for the summary that follows it

	// The last model call of the prompt cache's lineage.
	lastCallTime time.Time // of its last record
	lastLayers   map[string]layerSize
	estimator    string // that counted last
}

// session is what the threads of one session share.
type session struct {
	tools   map[string]string // tool call → name of the function
	answers map[string]bool   // tool calls with a result
	last    time.Time
	facts   int
}

func newThread(key threadKey, s *session) *thread {
	source := "urn:ctxledger:import:claude-code:" + url.PathEscape(key.session)
	if !key.main() {
		source += ":" + url.PathEscape(key.thread)
	}
	return &thread{
		key: key, session: s, source: source, log: newItemLog(),
		seen: make(map[string]bool), calls: make(map[string]bool),
	}
}

// ids is the correlation of a fact of the thread.
func (t *thread) ids(tenant, toolCall string) schema.Correlation {
	c := schema.Correlation{
		Tenant: tenant, Agent: "claude-code", RuntimeID: "claude-code",
		SessionID: t.key.session, ThreadID: t.key.thread, TurnID: t.turn,
		RunID: t.key.thread, RootRunID: t.key.session, ToolCallID: toolCall,
	}
	if !t.key.main() {
		c.ParentRunID = t.key.session
	}
	return c
}
