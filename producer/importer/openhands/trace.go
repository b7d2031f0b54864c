package openhands

// ohTraced is how many actions back an observation may name its cause, where it
// does not repeat the tool call itself.
const ohTraced = 4096

// ohActionTrace remembers which tool calls the newest actions are. The zero
// value is ready for use.
type ohActionTrace struct {
	calls map[uint64]string // action, by hash of its record → the tool call, "" for an action that no model chose
	order []uint64          // actions, as a ring once it is full
	next  int
}

func (t *ohActionTrace) Add(action uint64, call string) {
	if t.calls == nil {
		t.calls = make(map[uint64]string)
	}
	if len(t.order) < ohTraced {
		t.order = append(t.order, action)
	} else {
		delete(t.calls, t.order[t.next])
		t.order[t.next] = action
		t.next = (t.next + 1) % ohTraced
	}
	t.calls[action] = call
}

// of is the tool call of an action, and whether the action is remembered.
func (t *ohActionTrace) of(action uint64) (call string, known bool) {
	call, known = t.calls[action]
	return call, known
}
