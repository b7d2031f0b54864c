package observe

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/ctxledger/ctxledger/producer/capture/dialect"
	"github.com/ctxledger/ctxledger/producer/title"
	"github.com/ctxledger/ctxledger/schema"
)

// Call is what is known about an exchange besides its content.
type Call struct {
	At        time.Time       // when the request was sent
	Agent     string          // the client, such as claude-code
	RequestID string          // the provider's id of the request
	Fidelity  schema.Fidelity // how the exchange is known
	Altered   bool            // the client behaves in another way because of the capture
	Partial   []string        // reasons why the exchange is known only partly
	StoreText bool            // store readable text inline
	LargeText bool            // with StoreText, name texts that do not fit by [schema.TextRef]
	Titles    *title.Maker    // makes the titles of tool calls, results and prompts; nil for the tools' names
	// Telling ends the id of the call, so that several records of one call have ids of their own.
	// "" is for the records of a capture.
	Telling string
}

// Fact is a fact of a session with its identity.
type Fact struct {
	schema.Fact
	IDs  schema.Correlation
	Name []string // distinguishes the fact from others of its type and session
	At   time.Time
	// Reduced is the fact without its inline text, for a fact that one event cannot hold. It is
	// nil for a fact without text.
	Reduced schema.Fact
	// Large is the text that the fact names by [schema.TextRef], if it does not hold it. It is nil
	// unless [Call].LargeText is set.
	Large []byte
}

// Unnamed returns the fact of a large text without the text's name, for a text that is not stored.
func (f *Fact) Unnamed() *schema.ItemAdded {
	item := *cmp.Or(f.Reduced, f.Fact).(*schema.ItemAdded)
	item.ContentRef = ownRef(item.ItemID)
	return &item
}

// ownRef refers to content that is not stored.
func ownRef(item string) schema.Ref { return schema.Ref("urn:ctxledger:capture:" + item) }

// observation is one exchange on its way into facts.
type observation struct {
	s      *Session
	r      *Reader
	x      *dialect.Exchange
	c      Call
	t      *thread
	now    []seen // the window
	change change
	call   string // id of the call
	ids    schema.Correlation
	facts  []Fact
}

// Observe returns the facts of the session's next exchange, and continues the session.
func (s *Session) Observe(r *Reader, x *dialect.Exchange, c Call) []Fact {
	if s.Items == nil {
		s.Items = make(sums)
	}
	o := &observation{s: s, r: r, x: x, c: c}
	o.settle()
	o.now = s.read(r, x.Request.Model, x.Request.Blocks)
	complete := o.expand()
	if x.Operation == dialect.CountTokens {
		o.countOnly()
		return o.facts
	}
	answered := s.read(r, x.Request.Model, x.Answer.Blocks)
	o.choose()
	o.identify()
	o.change = compare(o.t, o.now, s.Items)
	o.scope()
	o.items(o.now)
	o.assembly(complete)
	o.injections()
	o.changes()
	o.usage(complete)
	o.items(answered)
	o.child()
	o.commit(answered)
	return o.facts
}

// settle corrects the layers of a request that continues a conversation: its system messages are
// injected.
func (o *observation) settle() {
	earlier := o.s.Chains[o.x.Request.Previous]
	if earlier == nil || !slices.ContainsFunc(earlier.Blocks, func(b block) bool { return b.InTurn }) {
		return
	}
	for i := range o.x.Request.Blocks {
		if b := &o.x.Request.Blocks[i]; b.Message >= 0 && b.Layer == dialect.LayerSystem {
			b.Layer, b.Kind = dialect.LayerInjected, "injected_message"
		}
	}
}

// expand puts the messages of the response that the request continues before its own. expand
// returns false if nobody observed that response.
func (o *observation) expand() bool {
	if o.x.Request.Previous == "" {
		return true
	}
	earlier := o.s.Chains[o.x.Request.Previous]
	if earlier == nil {
		return false
	}
	first := slices.IndexFunc(o.now, func(b seen) bool { return b.from.Message >= 0 || b.Kind == dialect.KindRequestMember })
	if first < 0 {
		first = len(o.now)
	}
	before := make([]seen, len(earlier.Blocks))
	for i := range before {
		before[i].block = earlier.Blocks[i]
	}
	o.now = slices.Insert(o.now, first, before...)
	return true
}

// identify sets the ids of the call and of its facts.
func (o *observation) identify() {
	o.call = o.x.Answer.MessageID
	if !usable(o.call) {
		last := ""
		if n := len(o.now); n > 0 {
			last = o.now[n-1].Item
		}
		o.call = name("attempt_", o.s.ID, o.t.ID, last, strconv.Itoa(o.t.Calls))
	}
	o.call += o.c.Telling
	if n := o.s.take("call\x00" + o.call); n > 1 {
		o.call += ":" + strconv.FormatUint(n, 10)
	}
	o.ids = schema.Correlation{
		Agent: o.c.Agent, RuntimeID: o.c.Agent, SessionID: o.s.ID, ThreadID: o.t.ID, RunID: o.t.ID, ParentRunID: o.t.Parent,
		TurnID: o.turn(),
	}
}

// take counts the uses of a name in the session.
func (s *Session) take(name string) uint64 {
	key := hashOf(name)
	s.Items[key]++
	return s.Items[key]
}

// turn returns the id of the turn that the window is in: the last message of a user.
func (o *observation) turn() string {
	count, last := 0, -1
	for i := range o.now {
		if o.now[i].Layer == dialect.LayerUser && o.now[i].InTurn {
			count, last = count+1, i
		}
	}
	if last < 0 {
		return ""
	}
	return name("turn_", o.s.ID, o.t.ID, o.now[last].Item, strconv.Itoa(count))
}

// add appends a fact. The parts distinguish it from others of its type.
func (o *observation) add(fact schema.Fact, parts ...string) *Fact {
	o.facts = append(o.facts, Fact{Fact: fact, IDs: o.ids, Name: parts, At: o.c.At})
	return &o.facts[len(o.facts)-1]
}

// commit makes the window the last one of its thread.
func (o *observation) commit(answered []seen) {
	t := o.t
	if t.Blocks = t.Blocks[:0]; cap(t.Blocks) < len(o.now) {
		t.Blocks = make([]block, 0, len(o.now)+16)
	}
	for i := range o.now {
		t.Blocks = append(t.Blocks, o.now[i].block)
	}
	t.Calls, t.At = t.Calls+1, o.c.At
	if o.x.Answer.MessageID != "" {
		t.Open = t.Open[:0]
		for i := range answered {
			if answered[i].Layer == dialect.LayerToolCalls && answered[i].Tool != "" {
				t.Open = append(t.Open, answered[i].Tool)
			}
		}
		if a, ok := newAnswer(o.call, answered); ok {
			if t.Answers = append(t.Answers, a); len(t.Answers) > maxAnswers {
				t.Answers = slices.Delete(t.Answers, 0, 1)
			}
		}
	}
	o.s.use(t)
	o.remember(answered)
}

// maxChains is the number of responses that a later request can continue.
const maxChains = 4

// remember keeps the window of a response for requests that continue it.
func (o *observation) remember(answered []seen) {
	id := o.x.Answer.MessageID
	if o.x.Dialect != dialect.OpenAIResponses || id == "" {
		return
	}
	if o.s.Chains == nil {
		o.s.Chains = make(map[string]*chain)
	}
	w := &chain{Thread: o.t.ID}
	for i := range o.now {
		if from := o.now[i].from; from == nil || from.Message >= 0 {
			w.Blocks = append(w.Blocks, o.now[i].block)
		}
	}
	for i := range answered {
		b := answered[i].block
		b.InTurn = true
		w.Blocks = append(w.Blocks, b)
	}
	if _, again := o.s.Chains[id]; !again {
		o.s.Order = append(o.s.Order, id)
	}
	o.s.Chains[id] = w
	if len(o.s.Order) > maxChains {
		delete(o.s.Chains, o.s.Order[0])
		o.s.Order = slices.Delete(o.s.Order, 0, 1)
	}
}
