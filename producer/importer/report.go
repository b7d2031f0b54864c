package importer

import "maps"

// Report says what an import found. The zero value is the report of nothing.
type Report struct {
	Files    int
	Sessions int // with at least one fact
	Lines    int
	Facts    int
	Calls    int // one per message id
	Tokens   TokenTotals

	ToolUses           int // distinct ids
	ToolResults        int // distinct ids
	UnansweredToolUses int
	Compactions        int
	Microcompactions   int
	Summaries          int

	// Ignored counts the records that carry no context facts, by type.
	Ignored map[string]int
	// Problems lists what went wrong, at most [MaxProblems] for a file.
	Problems []Problem
	// MoreProblems counts what is not listed.
	MoreProblems int
}

// MaxProblems is how many problems of one file a report lists. The others are
// counted: a file of another format has one in each line.
const MaxProblems = 200

// TokenTotals is the sum of what the provider billed, in tokens, by disjoint
// buckets. A count that the log does not have adds nothing.
type TokenTotals struct {
	UncachedInput int64
	CacheRead     int64
	CacheWrite5m  int64
	CacheWrite1h  int64
	CacheWrite    int64 // of a lifetime that was not reported
	Output        int64
}

// Merge adds what other found to r.
func (r *Report) Merge(other Report) {
	r.Files += other.Files
	r.Sessions += other.Sessions
	r.Lines += other.Lines
	r.Facts += other.Facts
	r.Calls += other.Calls
	r.Tokens.UncachedInput += other.Tokens.UncachedInput
	r.Tokens.CacheRead += other.Tokens.CacheRead
	r.Tokens.CacheWrite5m += other.Tokens.CacheWrite5m
	r.Tokens.CacheWrite1h += other.Tokens.CacheWrite1h
	r.Tokens.CacheWrite += other.Tokens.CacheWrite
	r.Tokens.Output += other.Tokens.Output
	r.ToolUses += other.ToolUses
	r.ToolResults += other.ToolResults
	r.UnansweredToolUses += other.UnansweredToolUses
	r.Compactions += other.Compactions
	r.Microcompactions += other.Microcompactions
	r.Summaries += other.Summaries
	ignored := maps.Clone(r.Ignored)
	for kind, n := range other.Ignored {
		if ignored == nil {
			ignored = make(map[string]int)
		}
		ignored[kind] += n
	}
	r.Ignored = ignored
	r.Problems = append(r.Problems[:len(r.Problems):len(r.Problems)], other.Problems...)
	r.MoreProblems += other.MoreProblems
}

func (r *Report) add(p Problem) {
	if len(r.Problems) >= MaxProblems {
		r.MoreProblems++
		return
	}
	r.Problems = append(r.Problems, p)
}

func (r *Report) ignore(kind string) {
	if r.Ignored == nil {
		r.Ignored = make(map[string]int)
	}
	r.Ignored[kind]++
}
