package model

import (
	"hash/maphash"
	"net/url"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/schema"
)

// ThreadKey names a thread of a session: the main one by the session's id, a
// sub-agent's by the agent's.
type ThreadKey struct{ Session, Thread string }

func (k ThreadKey) Main() bool { return k.Session == k.Thread }

// Thread is the state of one thread while its facts are made.
type Thread struct {
	Key     ThreadKey
	Session *session
	source  string
	place
	Untimed  bool  // the log has no times, see the package comment
	sequence int64 // of the last event
	Opened   bool
	met
	Model   string // of the last answer
	Log     ItemLog
	covered *stretch // what the last compaction replaced, for the summary that follows it
	lineage
}

// place is where a thread stands: the runs above it, its task and its turn.
type place struct {
	ParentRun string // the run that started this one, "" at the root
	RootRun   string // the first run of the tree, "" when it is unknown
	Task      string // that the thread works on, "" when it is not told
	Turn      string // the prompt that began the turn
}

// met is what a thread has met of its log.
type met struct {
	seen  hashset.IDSet   // records, by hash of their id
	Calls hashset.HashSet // model calls, by hash of their id
}

// lineage is the last model call that shares the thread's prompt cache.
type lineage struct {
	lastCallTime time.Time // of its last record
	lastLayers   *layerSizes
	estimator    string // that counted last
}

// session is what the threads of one session share.
type session struct {
	Tools map[string]string // tool call without a result → name of the function
	Last  time.Time
}

func newThread(tool string, key ThreadKey, s *session) *Thread {
	t := &Thread{
		Key: key, Session: s, source: "urn:ctxledger:import:" + tool + ":" + url.PathEscape(key.Session),
		place: place{RootRun: key.Session},
	}
	if !key.Main() {
		t.source += ":" + url.PathEscape(key.Thread)
		t.ParentRun = key.Session
	}
	return t
}

// First reports whether the record, by its hash, is one that the thread has not
// seen.
func (t *Thread) First(record uint64) bool { return t.seen.Add(record) }

// End gives back what the thread remembers, once all of its facts are made.
func (t *Thread) End() {
	t.seen, t.Calls, t.Log, t.covered, t.lastLayers, t.Session.Tools = hashset.IDSet{}, hashset.HashSet{}, ItemLog{}, nil, nil, nil
}

// ids is the correlation of a fact of the thread.
func (t *Thread) ids(tool, tenant, toolCall string) schema.Correlation {
	return schema.Correlation{
		Tenant: tenant, Agent: tool, RuntimeID: tool,
		SessionID: t.Key.Session, ThreadID: t.Key.Thread, TurnID: t.Turn, TaskID: t.Task,
		RunID: t.Key.Thread, RootRunID: t.RootRun, ParentRunID: t.ParentRun, ToolCallID: toolCall,
	}
}

// HashOf stands for an id or a text in what an import remembers: a million of
// them collide with a probability of 5e-8. It is another one in each process
// and never leaves it.
func HashOf(s string) uint64 { return Folded(maphash.String(HashSeed, s)) }

// Folded makes 63 bits of a hash that are not 0: 0 stands for what is absent,
// and the first bit for what is a number, see [hashset.IDSet].
func Folded(hash uint64) uint64 { return max(hash>>1, 1) }

// HashOfID is hashOf for an id that may be absent, which is 0.
func HashOfID(id string) uint64 {
	if id == "" {
		return 0
	}
	return HashOf(id)
}

var HashSeed = maphash.MakeSeed()
