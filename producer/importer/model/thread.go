package model

import (
	"hash/maphash"
	"net/url"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/telling"
)

// ThreadKey names a thread of a session. The main thread has the session's id, a sub-agent's
// thread has the agent's id.
type ThreadKey struct{ Session, Thread string }

func (k ThreadKey) Main() bool { return k.Session == k.Thread }

// Thread is the state of one thread during the import.
type Thread struct {
	Key     ThreadKey
	Session *session
	sources
	place
	Untimed  bool  // the log has no times, see the package comment
	sequence int64 // sequence of the last event
	Opened   bool
	met
	Model   string // model of the last answer
	Log     ItemLog
	covered *stretch // stretch of the last compaction, for the following summary
	lineage
}

// sources are the source of the log, and that of the thread's events, which names the telling, too.
type sources struct {
	source, eventSource string
	sliced              bool
}

// place is the position of a thread in the run tree, with its task and turn.
type place struct {
	ParentRun string // the run that started this one, "" at the root
	RootRun   string // the first run of the tree, "" when it is unknown
	Task      string // task of the thread, "" when unknown
	Turn      string // the prompt that began the turn
}

// checkedPlace is a place whose ids, with those of the thread's key, are printable.
type checkedPlace struct {
	place
	printable bool
}

// met holds the ids that the thread has read so far.
type met struct {
	seen    hashset.IDSet   // hashes of record ids
	Calls   hashset.HashSet // hashes of model call ids
	checked checkedPlace
}

// lineage is the last model call that shares the thread's prompt cache.
type lineage struct {
	lastCallTime time.Time // time of the call's last record
	lastLayers   *layerSizes
	estimator    string // name of the last token counter
	told         told   // the last window that the program recorded itself
}

// session is the state that the threads of one session share.
type session struct {
	Tools  map[string]string // tool call without a result → name of its function
	titles map[string]string // tool call without a result → title, with Options.Titles
	folder string            // working directory, "" when it is unknown
	Last   time.Time
}

func newThread(tool string, key ThreadKey, s *session) *Thread {
	t := &Thread{
		Key: key, Session: s, sources: sources{source: logSource(tool, key.Session)},
		place: place{RootRun: key.Session},
	}
	if !key.Main() {
		t.source += ":" + url.PathEscape(key.Thread)
		t.ParentRun = key.Session
	}
	return t
}

// logSource returns the source of a session's log, without the telling.
func logSource(tool, session string) string {
	return telling.ImportSource + tool + ":" + url.PathEscape(session)
}

// Slice makes the thread a later slice of a session, which begins with the record. The slice has a
// source of its own, since another log can hold the earlier slices. Its positions and its sequence begin
// at a number that grows with its time. No window of an earlier slice has its items, and the facts of
// all slices are in the order of the session.
//
// A thread that has facts keeps its source, because the log begins the session twice and lacks records in
// between. Slice then returns false, and the window has a gap.
func (t *Thread) Slice(record string, begin int64) bool {
	if t.eventSource != "" {
		t.Log.Gap = true
		return false
	}
	t.source, t.sliced = telling.Slice(t.source, record), true
	begin = max(begin, 0)
	t.sequence, t.Log.Partial, t.Log.next, t.Log.begin = begin, true, begin, begin
	return true
}

// Counts returns the record in a thread of calls that the program counted and whose records the log lacks.
// The thread has a source of its own, since a later state of the log can have the records. The name differs
// for other calls.
func (o *Origin) Counts(name string) *Origin {
	counted, t := *o, *o.Thread
	counted.Place, counted.Thread = o.ref(), &t
	t.sources = sources{source: telling.Counts(t.source, o.Record+"."+name), sliced: true}
	t.Opened = false
	return &counted
}

// InProgress makes the thread a sub-agent's that the log of its session tells. The source is one of
// its own, since the sub-agent's own log tells the same records. The log lacks a part of its windows.
func (t *Thread) InProgress() {
	t.source += ":progress"
	t.Log.Partial = true
}

// First notes a record by its hash, and reports whether the record is new to the thread.
func (t *Thread) First(record uint64) bool { return t.seen.Add(record) }

// End frees the memory of the thread after its last fact.
func (t *Thread) End() {
	t.seen, t.Calls, t.Log, t.covered, t.lineage = hashset.IDSet{}, hashset.HashSet{}, ItemLog{}, nil, lineage{}
	t.Session.Tools, t.Session.titles = nil, nil
}

// ids returns the correlation of a fact of the thread.
func (t *Thread) ids(tool, tenant, toolCall string) schema.Correlation {
	return schema.Correlation{
		Tenant: tenant, Agent: tool, RuntimeID: tool,
		SessionID: t.Key.Session, ThreadID: t.Key.Thread, TurnID: t.Turn, TaskID: t.Task,
		RunID: t.Key.Thread, RootRunID: t.RootRun, ParentRunID: t.ParentRun, ToolCallID: toolCall,
	}
}

// HashOf returns the hash that represents an id or a text in memory. A million hashes collide
// with a probability of 5e-8. Hashes differ between processes and never leave the process.
func HashOf(s string) uint64 { return Folded(maphash.String(HashSeed, s)) }

// Folded reduces a hash to 63 bits that are not all 0. The value 0 means absent. The first bit
// marks a number, see [hashset.IDSet].
func Folded(hash uint64) uint64 { return max(hash>>1, 1) }

// HashOfID is HashOf for an optional id. HashOfID returns 0 for "".
func HashOfID(id string) uint64 {
	if id == "" {
		return 0
	}
	return HashOf(id)
}

var HashSeed = maphash.MakeSeed()
