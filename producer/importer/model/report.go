package model

import (
	"bytes"
	"encoding/gob"
	"maps"
	"math"

	"github.com/ctxledger/ctxledger/schema"
)

// Report holds the results of an import. The zero value is an empty report. Content that occurs
// in several files counts once, also after [Report.Merge].
type Report struct {
	Files    int
	Sessions int // with at least one fact
	Lines    int // of logs that are read line by line
	Facts    int // emitted facts; the ledger recognises the facts that it already has
	Calls    int // model calls, by id
	Tokens   TokenTotals

	ToolUses           int // distinct ids
	ToolResults        int // distinct ids
	UnansweredToolUses int
	Compactions        int
	Elisions           int // passes, such as a microcompaction
	Summaries          int

	// Ignored counts the records without context facts, by type.
	Ignored map[string]int
	// Unknown counts the records of types that the importer does not know, by type. They have no
	// facts. At most 100 types are listed; the others count under "other types".
	Unknown map[string]int
	// Lacks lists the sessions of which the client counted more tokens than the calls of the logs
	// have, by [Report.FindLacks].
	Lacks []Lack
	// Problems lists at most [MaxProblems] problems per file.
	Problems []Problem
	// MoreProblems counts the problems that are not listed.
	MoreProblems int

	counted counted
}

// counted holds hashes of the ids that the totals include, so each id counts once. The hashes are
// the same in every process, see [Report.Kept].
type counted struct {
	sessions   map[uint64]bool
	calls      map[uint64]smallTotals
	large      map[uint64]TokenTotals // totals of calls that smallTotals cannot hold
	tools      map[uint64]toolTrace
	boundaries map[uint64]boundaryKind
	stated     map[string]TokenTotals // session → the client's own count of all calls
	spent      map[uint64]TokenTotals // session → counted calls; only of stated sessions and of reports of one session
}

type toolTrace uint8

const (
	toolUsed toolTrace = 1 << iota
	toolAnswered
)

type boundaryKind uint8

const (
	boundaryCompaction boundaryKind = iota
	boundaryElision
	boundarySummary
)

// MaxProblems is the most problems of one file that a report lists. More problems are only
// counted: a file of another format has one in each line.
const MaxProblems = 200

// TokenTotals is the sum of billed tokens, by disjoint buckets. A count that is absent from the
// log adds nothing.
type TokenTotals struct {
	UncachedInput int64
	CacheRead     int64
	CacheWrite5m  int64
	CacheWrite1h  int64
	CacheWrite    int64 // of an unknown lifetime
	Output        int64
	Reasoning     int64
}

// totals returns the counts of a call.
func totals(u schema.ProviderUsage) TokenTotals {
	return TokenTotals{
		UncachedInput: ValueOf(u.UncachedInput), CacheRead: ValueOf(u.CacheRead), CacheWrite5m: ValueOf(u.CacheWrite5m),
		CacheWrite1h: ValueOf(u.CacheWrite1h), CacheWrite: ValueOf(u.CacheWrite), Output: ValueOf(u.Output), Reasoning: ValueOf(u.Reasoning),
	}
}

func (total *TokenTotals) Add(u TokenTotals, sign int64) {
	total.UncachedInput += sign * u.UncachedInput
	total.CacheRead += sign * u.CacheRead
	total.CacheWrite5m += sign * u.CacheWrite5m
	total.CacheWrite1h += sign * u.CacheWrite1h
	total.CacheWrite += sign * u.CacheWrite
	total.Output += sign * u.Output
	total.Reasoning += sign * u.Reasoning
}

// smallTotals are [TokenTotals] below 2³², the usual range of one call. A log may have hundreds
// of thousands of calls.
type smallTotals [7]uint32

func (total *TokenTotals) Buckets() [7]*int64 {
	return [7]*int64{&total.UncachedInput, &total.CacheRead, &total.CacheWrite5m, &total.CacheWrite1h, &total.CacheWrite, &total.Output, &total.Reasoning}
}

// small returns the totals, and false when they do not fit.
func (total TokenTotals) small() (s smallTotals, ok bool) {
	for i, n := range total.Buckets() {
		if *n < 0 || *n > math.MaxUint32 {
			return smallTotals{}, false
		}
		s[i] = uint32(*n)
	}
	return s, true
}

// Usage returns the totals of a counted call.
func (c *counted) Usage(call uint64) (total TokenTotals) {
	if large, ok := c.large[call]; ok {
		return large
	}
	small := c.calls[call]
	for i, n := range total.Buckets() {
		*n = int64(small[i])
	}
	return total
}

func ValueOf(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// Merge adds the results of other to r.
func (r *Report) Merge(other Report) {
	r.Files += other.Files
	r.Lines += other.Lines
	r.Facts += other.Facts
	only := uint64(0)
	for session := range other.counted.sessions {
		r.addSession(session)
		only = session
	}
	if len(other.counted.sessions) != 1 {
		only = 0
	}
	for call := range other.counted.calls {
		r.addCall(only, call, other.counted.Usage(call))
	}
	if only == 0 {
		for session, spent := range other.counted.spent {
			r.spend(session, spent, 1)
		}
	}
	for session, total := range other.counted.stated {
		r.Stated(session, total)
	}
	for tool, trace := range other.counted.tools {
		r.addTool(tool, trace)
	}
	for id, kind := range other.counted.boundaries {
		r.addBoundary(id, kind)
	}
	r.Ignored, r.Unknown = merged(r.Ignored, other.Ignored), merged(r.Unknown, other.Unknown)
	r.Problems = append(r.Problems[:len(r.Problems):len(r.Problems)], other.Problems...)
	r.MoreProblems += other.MoreProblems
}

func merged(one, other map[string]int) map[string]int {
	sum := maps.Clone(one)
	for kind, n := range other {
		if sum == nil {
			sum = make(map[string]int)
		}
		sum[kind] += n
	}
	return sum
}

func (r *Report) session(id string) { r.addSession(countedID(id)) }

// countedID returns the hash of an id that a report counts.
func countedID(id string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a; package hash/fnv copies the id
	sum := uint64(offset)
	for i := range len(id) {
		sum = (sum ^ uint64(id[i])) * prime
	}
	return Folded(sum)
}

func (r *Report) addSession(id uint64) {
	if r.counted.sessions == nil {
		r.counted.sessions = make(map[uint64]bool)
	}
	r.counted.sessions[id] = true
	r.Sessions = len(r.counted.sessions)
}

func (r *Report) Call(session, call string, usage schema.ProviderUsage) {
	r.addCall(countedID(session), countedID(session+"\x00"+call), totals(usage))
}

// addCall counts a call. If a call has two versions, the version with the most output counts.
func (r *Report) addCall(session, id uint64, usage TokenTotals) {
	if r.counted.calls == nil {
		r.counted.calls = make(map[uint64]smallTotals)
	}
	if _, known := r.counted.calls[id]; known {
		have := r.counted.Usage(id)
		if have.Output >= usage.Output {
			return
		}
		r.Tokens.Add(have, -1)
		r.spend(session, have, -1)
		delete(r.counted.large, id)
	}
	small, ok := usage.small()
	r.counted.calls[id] = small
	if !ok {
		if r.counted.large == nil {
			r.counted.large = make(map[uint64]TokenTotals)
		}
		r.counted.large[id] = usage
	}
	r.Tokens.Add(usage, 1)
	r.spend(session, usage, 1)
	r.Calls = len(r.counted.calls)
}

func (r *Report) tool(session, toolCall string, trace toolTrace) {
	r.addTool(countedID(session+"\x00"+toolCall), trace)
}

func (r *Report) addTool(id uint64, trace toolTrace) {
	if r.counted.tools == nil {
		r.counted.tools = make(map[uint64]toolTrace)
	}
	have := r.counted.tools[id]
	now := have | trace
	if now == have {
		return
	}
	r.counted.tools[id] = now
	add := func(n *int, holds func(toolTrace) bool) {
		if holds(have) {
			*n--
		}
		if holds(now) {
			*n++
		}
	}
	add(&r.ToolUses, func(t toolTrace) bool { return t&toolUsed != 0 })
	add(&r.ToolResults, func(t toolTrace) bool { return t&toolAnswered != 0 })
	add(&r.UnansweredToolUses, func(t toolTrace) bool { return t == toolUsed })
}

func (r *Report) boundary(session, id string, kind boundaryKind) {
	r.addBoundary(countedID(session+"\x00"+id)+uint64(kind), kind)
}

func (r *Report) addBoundary(id uint64, kind boundaryKind) {
	if r.counted.boundaries == nil {
		r.counted.boundaries = make(map[uint64]boundaryKind)
	}
	if _, known := r.counted.boundaries[id]; known {
		return
	}
	r.counted.boundaries[id] = kind
	switch kind {
	case boundaryCompaction:
		r.Compactions++
	case boundaryElision:
		r.Elisions++
	case boundarySummary:
		r.Summaries++
	}
}

func (r *Report) Add(p Problem) {
	if len(r.Problems) >= MaxProblems {
		r.MoreProblems++
		return
	}
	r.Problems = append(r.Problems, p)
}

func (r *Report) Ignore(kind string) {
	if r.Ignored == nil {
		r.Ignored = make(map[string]int)
	}
	r.Ignored[kind]++
}

// keptReport is the kept form of a [Report].
type keptReport struct {
	Report     Report
	Sessions   map[uint64]bool
	Calls      map[uint64]smallTotals
	Large      map[uint64]TokenTotals
	Tools      map[uint64]toolTrace
	Boundaries map[uint64]boundaryKind
	Stated     map[string]TokenTotals
	Spent      map[uint64]TokenTotals
}

// Kept returns the report in a form that [Restored] reads, also in another process. It counts
// each id once after [Report.Merge], as the report itself does.
func (r Report) Kept() ([]byte, error) {
	var b bytes.Buffer
	c := r.counted
	err := gob.NewEncoder(&b).Encode(keptReport{r, c.sessions, c.calls, c.large, c.tools, c.boundaries, c.stated, c.spent})
	return b.Bytes(), err
}

// Restored returns the report that Kept returned.
func Restored(kept []byte) (Report, error) {
	var k keptReport
	if err := gob.NewDecoder(bytes.NewReader(kept)).Decode(&k); err != nil {
		return Report{}, err
	}
	r := k.Report
	r.counted = counted{sessions: k.Sessions, calls: k.Calls, large: k.Large, tools: k.Tools, boundaries: k.Boundaries, stated: k.Stated, spent: k.Spent}
	return r, nil
}
