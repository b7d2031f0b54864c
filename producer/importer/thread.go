package importer

import (
	"hash/maphash"
	"net/url"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// threadKey names a thread of a session: the main one by the session's id, a
// sub-agent's by the agent's.
type threadKey struct{ session, thread string }

func (k threadKey) main() bool { return k.session == k.thread }

// thread is the state of one thread while its facts are made.
type thread struct {
	key       threadKey
	session   *session
	source    string
	parentRun string // the run that started this one, "" at the root
	rootRun   string // the first run of the tree, "" when it is unknown
	task      string // that the thread works on, "" when it is not told
	untimed   bool   // the log has no times, see the package comment
	sequence  int64  // of the last event
	opened    bool
	seen      idSet   // records, by hash of their id
	calls     hashSet // model calls, by hash of their id
	turn      string  // the prompt that began the turn
	model     string  // of the last answer
	log       itemLog
	covered   *stretch // what the last compaction replaced, for the summary that follows it

	// The last model call of the prompt cache's lineage.
	lastCallTime time.Time // of its last record
	lastLayers   *layerSizes
	estimator    string // that counted last
}

// session is what the threads of one session share.
type session struct {
	tools map[string]string // tool call without a result → name of the function
	last  time.Time
}

func newThread(tool string, key threadKey, s *session) *thread {
	t := &thread{
		key: key, session: s, source: "urn:ctxledger:import:" + tool + ":" + url.PathEscape(key.session),
		rootRun: key.session,
	}
	if !key.main() {
		t.source += ":" + url.PathEscape(key.thread)
		t.parentRun = key.session
	}
	return t
}

// first reports whether the record, by its hash, is one that the thread has not
// seen.
func (t *thread) first(record uint64) bool { return t.seen.add(record) }

// end gives back what the thread remembers, once all of its facts are made.
func (t *thread) end() {
	t.seen, t.calls, t.log, t.covered, t.lastLayers, t.session.tools = idSet{}, hashSet{}, itemLog{}, nil, nil, nil
}

// ids is the correlation of a fact of the thread.
func (t *thread) ids(tool, tenant, toolCall string) schema.Correlation {
	return schema.Correlation{
		Tenant: tenant, Agent: tool, RuntimeID: tool,
		SessionID: t.key.session, ThreadID: t.key.thread, TurnID: t.turn, TaskID: t.task,
		RunID: t.key.thread, RootRunID: t.rootRun, ParentRunID: t.parentRun, ToolCallID: toolCall,
	}
}

// hashOf stands for an id or a text in what an import remembers: a million of
// them collide with a probability of 5e-8. It is another one in each process
// and never leaves it.
func hashOf(s string) uint64 { return folded(maphash.String(hashSeed, s)) }

// folded makes 63 bits of a hash that are not 0: 0 stands for what is absent,
// and the first bit for what is a number, see [idSet].
func folded(hash uint64) uint64 { return max(hash>>1, 1) }

// hashOfID is hashOf for an id that may be absent, which is 0.
func hashOfID(id string) uint64 {
	if id == "" {
		return 0
	}
	return hashOf(id)
}

var hashSeed = maphash.MakeSeed()
