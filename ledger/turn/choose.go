package turn

import (
	"cmp"
	"slices"
)

// callRow is a usage record of a model call. They come with the most output first.
type callRow struct {
	Tenant      string `ch:"tenant"`
	Turn        string `ch:"turn_id"`
	Thread      string `ch:"thread_id"`
	Call        string `ch:"call_id"`
	Place       int64  `ch:"place"` // in the thread
	Lineage     string `ch:"lineage_id"`
	First       *int64 `ch:"window_first"`
	Next        *int64 `ch:"window_next"`
	Model       string `ch:"model"`
	WindowSize  *int64 `ch:"window_tokens"`
	CacheRead   *int64 `ch:"cache_read"`
	Output      *int64 `ch:"output"`
	IsSynthetic bool   `ch:"synthetic"`
}

type assemblyRow struct {
	Tenant   string `ch:"tenant"`
	Turn     string `ch:"turn_id"`
	Thread   string `ch:"thread_id"`
	Call     string `ch:"call_id"`
	Place    int64  `ch:"place"`
	Target   string `ch:"target"`
	Assembly string `ch:"assembly_id"`
}

// call is a model call, or an assembly that names none, with what its window is made
// of: assemblies, the last for each target, or a stretch of the item log.
type call struct {
	place                               int64
	tenant, turn, thread, call, lineage string
	first, next                         *int64
	made                                []assemblyRow
	assemblies                          []string
}

// choose returns the call that is asked for, the turn's last if none is named, and
// the one before it of its lineage. Its place is 0 where there is none.
func choose(usage []callRow, made []assemblyRow, turn, id string) (c, before call) {
	type key struct{ tenant, call, assembly string }
	calls := make(map[key]*call)
	of := func(k key, turn, thread string, place int64) *call {
		c := calls[k]
		if c == nil {
			c = &call{place: place, tenant: k.tenant, turn: turn, thread: thread, call: k.call}
			calls[k] = c
		}
		c.place = max(c.place, place)
		return c
	}
	for _, a := range made {
		k := key{a.Tenant, a.Call, ""}
		if a.Call == "" {
			k.assembly = a.Assembly
		}
		c := of(k, a.Turn, a.Thread, a.Place)
		c.made = append(c.made, a)
	}
	seen := make(map[key]bool)
	for _, u := range usage {
		k := key{u.Tenant, u.Call, ""}
		if u.IsSynthetic || seen[k] {
			continue
		}
		seen[k] = true
		c := of(k, u.Turn, u.Thread, u.Place)
		c.lineage, c.first, c.next = u.Lineage, u.First, u.Next
	}
	var list []*call
	for _, c := range calls {
		c.lineage = cmp.Or(c.lineage, c.thread)
		for _, a := range c.made {
			if !slices.ContainsFunc(c.made, func(b assemblyRow) bool { return b.Target == a.Target && b.Place > a.Place }) {
				c.assemblies = append(c.assemblies, a.Assembly)
			}
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *call) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.turn, b.turn), cmp.Compare(a.thread, b.thread), cmp.Compare(a.call, b.call))
	})
	for _, one := range slices.Backward(list) {
		if one.turn == turn && (id == "" || one.call == id) {
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
