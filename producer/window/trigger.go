package window

import "time"

// History is what an elision policy looks at. The caller supplies what only a
// clock or a counter knows.
type History struct {
	// Items are the window, in order.
	Items []Item
	// Turn is the number of the current user turn, from 1.
	Turn int
	// Idle is how long nothing happened before this turn.
	Idle time.Duration
	// Head is what is injected. A pass that elides something removes what is
	// attached to an older user message, and what is current of it comes back at
	// the newest one. The zero value has nothing.
	Head Head
	// Rates are the provider's prices for cached tokens. The zero value means
	// DefaultCacheRates.
	Rates CacheRates
}

// ElisionPolicy says when a pass runs and which items it elides. The caller's
// own policy is a Name and a Select.
type ElisionPolicy struct {
	// Name is what the facts call it.
	Name string
	// Select returns the indexes of the items to elide and what triggered the
	// pass; no index where it does not fire. It must answer equally for an equal
	// History and change nothing in it.
	Select func(History) (indexes []int, trigger string)
}

// BeforeLastUser elides every tool output that stands before the last user
// message: the post's simplest policy, for agents that use outputs at once.
func BeforeLastUser() ElisionPolicy {
	return ElisionPolicy{Name: "before_last_user", Select: func(h History) ([]int, string) {
		out := outputsBefore(h.Items, lastUser(h.Items))
		return out, fired(out, "user_message")
	}}
}

// EveryTurns runs a pass at every n-th user turn and elides the tool outputs
// before the newest keepTurns user messages. It bounds how often the cache is
// lost, for a larger bill when it is. It never fires where n or keepTurns is
// less than 1.
func EveryTurns(n, keepTurns int) ElisionPolicy {
	return ElisionPolicy{Name: "every_turns", Select: func(h History) ([]int, string) {
		if n < 1 || keepTurns < 1 || h.Turn < 1 || h.Turn%n != 0 {
			return nil, ""
		}
		out := outputsBefore(h.Items, nthUser(h.Items, keepTurns))
		return out, fired(out, "turn")
	}}
}

// LatestReads elides all but the latest read of each file. It looks thrifty, and
// loses the cache from the oldest read on, once for every re-read: ask the Pass
// what it costs.
func LatestReads() ElisionPolicy {
	return ElisionPolicy{Name: "latest_reads", Select: func(h History) ([]int, string) {
		latest := map[string]int{}
		for i, it := range h.Items {
			if it.Reads != "" && it.Kind == KindToolResult {
				latest[it.Reads] = i
			}
		}
		var out []int
		for i, it := range h.Items {
			if it.Reads != "" && it.Kind == KindToolResult && latest[it.Reads] != i {
				out = append(out, i)
			}
		}
		return out, fired(out, "reread")
	}}
}

// AfterIdle elides the tool outputs before the last user message once nothing
// has happened for d: the cache has lapsed by then, or soon will. It never fires
// where d is not positive.
func AfterIdle(d time.Duration) ElisionPolicy {
	return ElisionPolicy{Name: "after_idle", Select: func(h History) ([]int, string) {
		if d <= 0 || h.Idle < d {
			return nil, ""
		}
		out := outputsBefore(h.Items, lastUser(h.Items))
		return out, fired(out, "idle")
	}}
}

// OnMarker elides the tool outputs before the newest item that carries the
// marker, such as a commit.
func OnMarker(marker string) ElisionPolicy {
	return ElisionPolicy{Name: "on_marker", Select: func(h History) ([]int, string) {
		at := -1
		for i, it := range h.Items {
			if marker != "" && it.Marker == marker {
				at = i
			}
		}
		out := outputsBefore(h.Items, at)
		return out, fired(out, marker)
	}}
}

func fired(indexes []int, trigger string) string {
	if len(indexes) == 0 {
		return ""
	}
	return trigger
}

// outputsBefore returns the tool calls and results in front of index end.
func outputsBefore(items []Item, end int) []int {
	var out []int
	for i := range max(0, end) {
		if items[i].Kind == KindToolResult || items[i].Kind == KindToolCall {
			out = append(out, i)
		}
	}
	return out
}

// nthUser returns the index of the n-th newest user message, or -1.
func nthUser(items []Item, n int) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].userMessage() {
			if n--; n == 0 {
				return i
			}
		}
	}
	return -1
}
