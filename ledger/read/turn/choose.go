package turn

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// callRow is a usage record of a model call.
type callRow struct {
	sequenced
	Tenant     string    `ch:"tenant"`
	Turn       string    `ch:"turn_id"`
	Thread     string    `ch:"thread_id"`
	Attempt    string    `ch:"attempt_id"`
	Call       string    `ch:"call_id"`
	Recorded   time.Time `ch:"recorded_at"`
	Lineage    string    `ch:"lineage_id"`
	First      *int64    `ch:"window_first"`
	Next       *int64    `ch:"window_next"`
	Model      string    `ch:"model"`
	WindowSize *int64    `ch:"window_tokens"`
	CacheRead  *int64    `ch:"cache_read"`
	Output     *int64    `ch:"output"`
	Metadata   string    `ch:"metadata"`
	knownAs
	rank int // of the telling, the best first
}

// based is the base of an assembly, and the number of its first blocks that the assembly keeps.
type based struct {
	Base string `ch:"base_assembly_id"`
	Keep *int64 `ch:"keep"`
}

type assemblyRow struct {
	sequenced
	based
	told
	Turn     string `ch:"turn_id"`
	Thread   string `ch:"thread_id"`
	Attempt  string `ch:"attempt_id"`
	Call     string `ch:"call_id"`
	Target   string `ch:"target"`
	Tool     string `ch:"tool_call_id"`
	Assembly string `ch:"assembly_id"`
}

// compare orders the records of one call. The one that counts comes first: it is known best, and has
// the most output of those known as well.
func (u callRow) compare(o callRow) int {
	return cmp.Or(cmp.Compare(u.rank, o.rank), -compareKnown(u.Output, o.Output), u.Recorded.Compare(o.Recorded), cmp.Compare(u.StreamSeq, o.StreamSeq))
}

// call is a model call, or an assembly without one, with the sources of its window. These are
// assemblies, the last for each target and tool call, or a stretch of the item log.
type call struct {
	place                                        int64
	tenant, turn, thread, attempt, call, lineage string
	first, next                                  *int64
	made                                         []assemblyRow
	assemblies                                   []string
	knownAs                                      // of its usage record
}

// choose returns the call that is asked for, the turn's last if none is named, and the one
// before it of its lineage. The place is 0 if there is none. Of a call id that several attempts
// have, the last counts if no attempt is named.
func choose(usage []callRow, made []assemblyRow, turn, id, attempt string) (c, before call) {
	type key struct{ tenant, attempt, call, assembly string }
	calls := make(map[key]*call)
	of := func(k key, turn, thread string, place int64) *call {
		c := calls[k]
		if c == nil {
			c = &call{place: place, tenant: k.tenant, turn: turn, thread: thread, attempt: k.attempt, call: k.call}
			calls[k] = c
		}
		c.place = max(c.place, place)
		return c
	}
	for _, a := range made {
		k := key{schema.TenantOf(a.Tenant), a.Attempt, a.Call, ""}
		if a.Call == "" {
			k.assembly = a.Assembly
		}
		c := of(k, a.Turn, a.Thread, a.place())
		c.made = append(c.made, a)
	}
	latest := make(map[key]callRow)
	for _, u := range usage {
		k := key{schema.TenantOf(u.Tenant), u.Attempt, u.Call, ""}
		if old, ok := latest[k]; !readMetadata(u.Metadata).Synthetic && (!ok || u.compare(old) < 0) {
			latest[k] = u
		}
	}
	for k, u := range latest {
		c := of(k, u.Turn, u.Thread, u.place())
		c.lineage, c.first, c.next, c.knownAs = u.Lineage, u.First, u.Next, u.knownAs
	}
	var list []*call
	for _, c := range calls {
		c.lineage = cmp.Or(c.lineage, c.thread)
		for _, a := range c.made {
			if !slices.ContainsFunc(c.made, func(b assemblyRow) bool { return b.Target == a.Target && b.Tool == a.Tool && b.place() > a.place() }) {
				c.assemblies = append(c.assemblies, a.Assembly)
			}
		}
		slices.Sort(c.assemblies) // a row may be stored twice
		c.assemblies = slices.Compact(c.assemblies)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.turn, b.turn), cmp.Compare(a.thread, b.thread),
			cmp.Compare(a.call, b.call), cmp.Compare(a.attempt, b.attempt))
	})
	for _, one := range slices.Backward(list) {
		if one.turn == turn && (id == "" || one.call == id) && (attempt == "" || one.attempt == attempt) {
			c = *one
			break
		}
	}
	for _, one := range slices.Backward(list) {
		if one.place < c.place && one.tenant == c.tenant && one.thread == c.thread && one.lineage == c.lineage {
			return c, *one
		}
	}
	return c, before
}
