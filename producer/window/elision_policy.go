package window

import "time"

// History is the input of an elision policy. The caller supplies the values of clocks and
// counters.
type History struct {
	// Items are the items of the window, in order.
	Items []Item
	// Turn is the number of the current user turn, from 1.
	Turn int
	// Idle is the time without activity before this turn.
	Idle time.Duration
	// Head holds the injected content. A pass that elides items removes the injections on
	// older user messages, and current injections return at the newest one. The zero value
	// has no injections.
	Head Head
	// Rates are the provider's prices for cached tokens. The zero value means
	// DefaultCacheRates.
	Rates CacheRates
}

// ElisionPolicy decides when a pass runs and which items it elides. The caller's own policy
// is a Name and a Select.
type ElisionPolicy struct {
	// Name is the policy's name in facts.
	Name string
	// Select returns the indexes of the items to elide and the trigger of the pass. No
	// index means that the policy does not fire. Select must give an equal answer for an
	// equal History and must not change the History.
	Select func(History) (indexes []int, trigger string)
}

// BeforeLastUser elides every tool output before the last user message. This is the
// simplest policy of seed 004, for agents that use outputs immediately.
func BeforeLastUser() ElisionPolicy {
	return ElisionPolicy{Name: "before_last_user", Select: func(h History) ([]int, string) {
		out := outputsBefore(h.Items, lastUser(h.Items))
		return out, fired(out, "user_message")
	}}
}

// EveryTurns runs a pass at every n-th user turn and elides the tool outputs before the
// newest keepTurns user messages. The cache is lost less often, and each loss costs more.
// EveryTurns never fires if n or keepTurns is less than 1.
func EveryTurns(n, keepTurns int) ElisionPolicy {
	return ElisionPolicy{Name: "every_turns", Select: func(h History) ([]int, string) {
		if n < 1 || keepTurns < 1 || h.Turn < 1 || h.Turn%n != 0 {
			return nil, ""
		}
		out := outputsBefore(h.Items, nthUser(h.Items, keepTurns))
		return out, fired(out, "turn")
	}}
}

// LatestReads elides all reads of each file except the latest. Each repeated read cuts the
// cache from the oldest read on, so the policy can cost more than it saves. The Pass holds
// its cost.
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

// AfterIdle elides the tool outputs before the last user message after a time d without
// activity. After this time the cache has expired, or will soon expire. AfterIdle never
// fires if d is not positive.
func AfterIdle(d time.Duration) ElisionPolicy {
	return ElisionPolicy{Name: "after_idle", Select: func(h History) ([]int, string) {
		if d <= 0 || h.Idle < d {
			return nil, ""
		}
		out := outputsBefore(h.Items, lastUser(h.Items))
		return out, fired(out, "idle")
	}}
}

// OnMarker elides the tool outputs before the newest item with the marker, such as a
// commit.
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

// outputsBefore returns the tool calls and results before index end.
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
