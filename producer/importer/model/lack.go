package model

import (
	"maps"
	"slices"
)

// Lack is a difference between the tokens that a client counted for a session and the tokens of
// the calls that the logs record. The logs lack at least one call, such as the summary of a
// compaction.
type Lack struct {
	Session string
	Tokens  TokenTotals // CacheWrite holds all cache writes
}

// Stated notes the client's own count of all calls of a session so far. The last count of a
// session is its largest.
func (r *Report) Stated(session string, total TokenTotals) {
	if r.counted.stated == nil {
		r.counted.stated = make(map[string]TokenTotals)
	}
	if have, known := r.counted.stated[session]; !known || have.all() <= total.all() {
		r.counted.stated[session] = total
	}
}

func (total TokenTotals) all() (sum int64) {
	for _, n := range total.Buckets() {
		sum += *n
	}
	return sum
}

// spend adds the tokens of a call to its session.
func (r *Report) spend(session uint64, usage TokenTotals, sign int64) {
	if session == 0 {
		return
	}
	if r.counted.spent == nil {
		r.counted.spent = make(map[uint64]TokenTotals)
	}
	total := r.counted.spent[session]
	total.Add(usage, sign)
	r.counted.spent[session] = total
}

// FindLacks sets Lacks. It is called after the last file is merged, since calls of sub-agents can
// be in files of their own. Clients count the tokens of reasoning as output.
func (r *Report) FindLacks() {
	r.Lacks = nil
	for _, session := range slices.Sorted(maps.Keys(r.counted.stated)) {
		stated, spent := r.counted.stated[session], r.counted.spent[countedID(session)]
		lack := Lack{Session: session, Tokens: TokenTotals{
			UncachedInput: max(stated.UncachedInput-spent.UncachedInput, 0),
			CacheRead:     max(stated.CacheRead-spent.CacheRead, 0),
			CacheWrite:    max(stated.CacheWrite-spent.CacheWrite-spent.CacheWrite5m-spent.CacheWrite1h, 0),
			Output:        max(stated.Output-spent.Output-spent.Reasoning, 0),
		}}
		if lack.Tokens != (TokenTotals{}) {
			r.Lacks = append(r.Lacks, lack)
		}
	}
}

// maxUnknown is the most types of unknown records that a report lists.
const maxUnknown = 100

// NoteUnknown counts a record of an unknown type. kind is safe to print.
func (r *Report) NoteUnknown(kind string) {
	if r.Unknown == nil {
		r.Unknown = make(map[string]int)
	}
	if _, known := r.Unknown[kind]; !known && len(r.Unknown) >= maxUnknown {
		kind = "other types"
	}
	r.Unknown[kind]++
}
