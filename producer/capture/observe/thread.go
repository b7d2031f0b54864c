package observe

import (
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
)

// thread is a sequence of windows.
type thread struct {
	ID      string   `json:"id"`
	Parent  string   `json:"parent,omitempty"`
	Opened  bool     `json:"opened,omitempty"`   // the scope was recorded
	OpenFor []string `json:"open_for,omitempty"` // "thread\x00tool call" that were open at the start
	window
	Calls   int       `json:"calls"`             // number of exchanges
	Chain   int       `json:"chain"`             // assemblies since the last whole one
	Last    string    `json:"last,omitempty"`    // assembly id of the last window
	At      time.Time `json:"at,omitzero"`       // time of the last exchange
	Answers []answer  `json:"answers,omitempty"` // the last answers, newest last
	Open    []string  `json:"open,omitempty"`    // tool calls of the last answer
}

// choose finds the thread that the window continues, or begins one.
func (o *observation) choose() {
	best := 0
	for _, t := range o.s.Threads {
		n := messagesShared(t.Blocks, o.now)
		if n > best && (n == t.messages() || t.sameSetting(o.now)) {
			o.t, best = t, n
		}
	}
	if o.t != nil {
		return
	}
	for _, t := range o.s.Threads {
		if _, found := t.summaryIn(o.now); found && t.sameSetting(o.now) {
			o.t = t
			return
		}
	}
	if earlier := o.s.Chains[o.x.Request.Previous]; earlier != nil {
		for _, t := range o.s.Threads {
			if t.ID == earlier.Thread {
				o.t = t
				return
			}
		}
	}
	begin := "empty"
	if o.x.Request.WarmUp {
		begin = "response " + o.x.Answer.MessageID
	}
	if i := slices.IndexFunc(o.now, func(b seen) bool { return b.spoken() }); i >= 0 {
		begin = o.now[i].Item
	}
	id := name("thread_", o.s.ID, begin, setting(o.now))
	for _, t := range o.s.Threads {
		if t.ID == id {
			o.t = t
			return
		}
	}
	o.t = &thread{ID: id, Opened: o.s.Items[hashOf("thread\x00"+id)] != 0, OpenFor: o.openCalls()}
}

// messages returns the number of spoken blocks.
func (t *thread) messages() (n int) {
	for i := range t.Blocks {
		if t.Blocks[i].spoken() {
			n++
		}
	}
	return n
}

// sameSetting reports whether the windows both have tools, or both have none. A program that
// makes titles has the first message of a thread, but none of its tools.
func (t *thread) sameSetting(now []seen) bool {
	had := slices.ContainsFunc(t.Blocks, func(b block) bool { return b.Layer == dialect.LayerTools })
	has := slices.ContainsFunc(now, func(b seen) bool { return b.Layer == dialect.LayerTools })
	return had == has
}

// setting distinguishes threads that begin with the same message.
func setting(now []seen) string {
	return strconv.FormatBool(slices.ContainsFunc(now, func(b seen) bool { return b.Layer == dialect.LayerTools }))
}
