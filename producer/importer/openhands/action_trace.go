package openhands

// ohTraced is the number of newest actions that an observation can name as its cause, unless the
// observation repeats the tool call.
const ohTraced = 4096

// ohActionTrace maps the newest actions to their tool calls. The zero value is ready for use.
type ohActionTrace struct {
	calls map[uint64]string // hash of the action's record → its tool call, "" for an action that no model chose
	order []uint64          // actions; a ring once it is full
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

// of returns the tool call of an action, and whether the action is in the trace.
func (t *ohActionTrace) of(action uint64) (call string, known bool) {
	call, known = t.calls[action]
	return call, known
}
