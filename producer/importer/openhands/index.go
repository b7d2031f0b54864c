package openhands

import (
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer/internal/completion"
	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ohRun holds the values that pass 1 collects about a run and pass 2 needs in advance. The name
// and the counts of a run may come after its events.
type ohRun struct {
	instance string
	first    string // first timestamp of an event
	head     ohHead
	cost     *float64           // accumulated
	total    *completion.Tokens // accumulated
	ohAnswers
	events int
	begin  ohBegin
	loose  bool   // each document is an event; the log has one per line
	state  bool   // the conversation's state holds the usage, see [ohRun.stats]
	id     string // id of the conversation
}

// ohBegin is the first event of a conversation of the SDK that a model sees.
type ohBegin struct {
	kind   ohWord
	id, at string
}

// slice returns the record and the time with which a later slice of a conversation begins. A
// conversation begins with the system prompt. Without an id of the conversation, the run is a session
// of its own.
func (run *ohRun) slice() (record string, at time.Time, ok bool) {
	b := run.begin
	at, timed := model.ParseTime(b.at)
	if !timed || b.kind == ohSystem || b.id == "" || !model.ValidID(b.id) || run.id == "" || !model.ValidID(run.id) {
		return "", at, false
	}
	return ohRecord(b.id), at, true
}

// ohAnswers holds the answers of a run and the counts of its calls. [ohRun.link] joins them.
type ohAnswers struct {
	counts  hashset.List[completion.PackedTokens]
	costs   hashset.List[float64] // NaN for none
	answers hashset.List[ohAnswer]
	seen    hashset.HashSet // responses; empty after link
	linked  bool
	rest    ohBackground // calls after the last answer
}

// ohHead is the metadata of a run.
type ohHead struct {
	AgentClass    string   `json:"agent_class"`
	Model         *ohModel `json:"llm_config"`
	MaxIterations *int64   `json:"max_iterations"`
	Commit        string   `json:"git_commit"`
	Dataset       string   `json:"dataset"`
	Condenser     *struct {
		Type string `json:"type"`
	} `json:"condenser_config"`
}

type ohModel struct {
	Model string `json:"model"`
}

// ohAnswer is one answer of the model, with the call that gave it.
type ohAnswer struct {
	event     int    // ordinal of its first event
	response  uint64 // hash of its id, 0 when unknown
	count     int    // index of the call's counts, -1 without counts
	before    ohBackground
	condenser bool // a summary was written, with or without a model
	failed    bool // the program could not parse the answer and wrote an error in its place
}

// ohBackground is a stretch of counts of calls without an event.
type ohBackground struct {
	from, to int
	named    bool // only counts that name a response
}

// index reads a document in pass 1.
func (run *ohRun) index(d *model.Document, room *[]byte) error {
	return run.Read(d, room, func(_ int, value jsontext.Value) error {
		eachEvent(value, run.event)
		return nil
	})
}

// join adds the content of another event's document.
func (run *ohRun) join(other *ohRun) {
	for _, a := range other.answers.All() {
		if a.response == 0 || run.seen.Add(a.response) {
			a.event += run.events
			run.answers.Add(*a)
		}
	}
	run.events += other.events
	if other.state {
		run.state, run.id, run.head, run.cost, run.total = true, other.id, other.head, other.cost, other.total
		run.counts, run.costs = other.counts, other.costs
	}
	if run.first == "" {
		run.first = other.first
	}
	if run.begin.kind == "" {
		run.begin = other.begin
	}
}

// Read reads a document of any form: a run, an array of events, or an event. The text of a single
// event is put together in room. Read reads only the events of a linked run.
func (run *ohRun) Read(d *model.Document, room *[]byte, each func(n int, value jsontext.Value) error) error {
	if d.Dec.PeekKind() == '[' {
		return d.Elements(each)
	}
	event := append((*room)[:0], '{')
	history, isEvent := false, false
	_, err := d.Members(func(name string) error {
		switch name {
		case "history":
			if history {
				return d.Dec.SkipValue()
			}
			history = true
			return d.Elements(each)
		case "instance_id", "metadata", "metrics":
			if !run.linked {
				return run.about(d, name)
			}
			return d.Dec.SkipValue()
		case "stats":
			run.state = true
			if !run.linked {
				return run.stats(d)
			}
			return d.Dec.SkipValue()
		case "instance", "test_result", "instruction":
			return d.Dec.SkipValue()
		}
		if history {
			return d.Dec.SkipValue()
		}
		value, err := d.Dec.ReadValue()
		if err != nil {
			return err
		}
		isEvent = isEvent || name == "action" || name == "observation" || name == "kind"
		if len(event) > 1 {
			event = append(event, ',')
		}
		if event, err = jsontext.AppendQuote(event, name); err != nil {
			return err
		}
		event = append(append(event, ':'), value...)
		return nil
	})
	if *room = event; cap(event) > 4*model.ReadBufferBytes {
		*room = nil
	}
	if err == nil && run.state && !run.linked && !history {
		run.describe(append(event, '}'))
	}
	if err != nil || history || !isEvent {
		return err
	}
	run.loose = true
	return each(0, append(event, '}'))
}

// about reads the properties of a run.
func (run *ohRun) about(d *model.Document, name string) error {
	switch name {
	case "instance_id":
		var id jsonscan.Span
		err := d.Value(&id)
		run.instance = model.IDText(id)
		return err
	case "metadata":
		return d.Value(&run.head)
	}
	return run.metrics(d)
}

// metrics reads the usage of a run.
func (run *ohRun) metrics(d *model.Document) error {
	_, err := d.Members(func(name string) error {
		switch name {
		case "accumulated_cost":
			return d.Value(&run.cost)
		case "accumulated_token_usage":
			return d.Value(&run.total)
		case "token_usages":
			return d.Elements(func(_ int, value jsontext.Value) error {
				var tokens completion.Tokens
				_ = json.Unmarshal(value, &tokens, jsonscan.Streamed) // a value of another form leaves an empty entry
				run.counts.Add(tokens.Pack(run.counts.Last()))
				return nil
			})
		case "costs":
			return d.Elements(func(_ int, value jsontext.Value) error {
				var one struct {
					Cost *float64 `json:"cost"`
				}
				_ = json.Unmarshal(value, &one, jsonscan.Streamed) // a value of another form leaves an empty entry
				run.costs.Add(completion.PackedCost(one.Cost))
				return nil
			})
		}
		return d.Dec.SkipValue()
	})
	return err
}

// eachEvent calls each for the event in value. Older versions write an action and its observation
// as a pair; eachEvent then calls each for both.
func eachEvent(value jsontext.Value, each func(e *ohEvent)) bool {
	if value.Kind() == '[' {
		var pair []jsontext.Value
		if json.Unmarshal(value, &pair, jsonscan.Streamed) != nil {
			return false
		}
		for _, v := range pair {
			if v.Kind() == '[' || !eachEvent(v, each) {
				return false
			}
		}
		return true
	}
	e := new(ohEvent)
	if !jsonscan.Decode(value, e.Read) {
		return false
	}
	if e.Kind != "" && e.Action == "" && e.Observation == "" {
		if e.sdk = new(ohSDKEvent); json.Unmarshal(value, e.sdk, jsonscan.Streamed) != nil {
			return false
		}
	}
	each(e)
	return true
}

func (run *ohRun) event(e *ohEvent) {
	ordinal := run.events
	run.events++
	if run.first == "" {
		if _, ok := model.ParseTime(e.Timestamp); ok {
			run.first = e.Timestamp
		}
	}
	if run.begin.kind == "" && e.sdk != nil && ohKinds[e.Kind] {
		run.begin = ohBegin{e.Kind, e.id(), e.Timestamp}
	}
	if e.condenses() && e.args().Summary != nil {
		run.answers.Add(ohAnswer{event: ordinal, count: -1, response: model.HashOfID(e.response()), condenser: true})
	}
	if e.unparsed() {
		run.answers.Add(ohAnswer{event: ordinal, count: -1, failed: true})
		return
	}
	if !e.byAgent() {
		return
	}
	response := model.HashOfID(e.response())
	if response != 0 && !run.seen.Add(response) {
		return
	}
	run.answers.Add(ohAnswer{event: ordinal, count: -1, response: response})
}

// link assigns the counts to the answers. The counts are in the order of the calls and may name
// their answers. Between two named answers, the unnamed counts belong to the unnamed answers if
// both have the same number. Otherwise they belong to calls without an event. A condensation may
// have a count, too, because a model may have written the summary. An error in the place of an
// answer that the program could not parse has a count; revision 1 took that for a background call.
func (run *ohRun) link() {
	if run.linked {
		return
	}
	run.linked, run.seen = true, hashset.HashSet{}
	if run.state {
		run.linkByName()
		return
	}
	place := run.places()
	next := 0 // index of the next count
	var nameless []*ohAnswer
	settle := func(end int) (before ohBackground) {
		for _, left := range [...]ohAnswer{{condenser: true}, {}, {condenser: true, failed: true}, {failed: true}} {
			rest := slices.DeleteFunc(slices.Clone(nameless), func(a *ohAnswer) bool { return a.condenser && left.condenser || a.failed && left.failed })
			if end-next == len(rest) {
				nameless = rest
				break
			}
		}
		if end-next == len(nameless) {
			for i, a := range nameless {
				a.count = next + i
			}
		} else { // the owners of the counts are unknown
			named := slices.ContainsFunc(nameless, func(a *ohAnswer) bool { return !a.failed })
			before = ohBackground{from: next, to: end, named: named}
		}
		nameless = nameless[:0]
		return before
	}
	for _, a := range run.answers.All() {
		at, known := place[a.response]
		switch {
		case !known || a.response == 0:
			nameless = append(nameless, a)
		case at >= next:
			a.before = settle(at)
			a.count = at
			run.counts.At(at).Response = "" // the count is assigned
			next = at + 1
		}
	}
	run.rest = settle(run.counts.Len())
	run.dropUncounted()
}

// dropUncounted removes the failed answers that have no count: whether a model was called is
// unknown.
func (run *ohAnswers) dropUncounted() {
	var kept hashset.List[ohAnswer]
	for _, a := range run.answers.All() {
		if !a.failed || a.count >= 0 {
			kept.Add(*a)
		}
	}
	run.answers = kept
}

// places maps the hashes of response ids to the indexes of their counts, and sets the cost of
// each count.
func (run *ohAnswers) places() map[uint64]int {
	place := make(map[uint64]int, run.counts.Len())
	for i, c := range run.counts.All() {
		if run.costs.Len() == run.counts.Len() {
			c.Cost = *run.costs.At(i)
		}
		if c.Response != "" {
			if _, known := place[model.HashOf(c.Response)]; !known {
				place[model.HashOf(c.Response)] = i
			}
		}
	}
	run.costs = hashset.List[float64]{}
	return place
}

// background lists the counts of calls without an event.
func (run *ohAnswers) background(b ohBackground) (calls []*completion.Tokens) {
	for i := b.from; i < b.to; i++ {
		if c := run.counts.At(i); !b.named || c.Response != "" {
			calls = append(calls, c.Unpack())
		}
	}
	return calls
}

// session returns the id of the run's session, "" for a run without events. The id consists of
// the instance and the start time of the run, since an instance can run more than once.
func (run *ohRun) session() string {
	at, ok := model.ParseTime(run.first)
	if !ok {
		return ""
	}
	if run.id != "" && model.ValidID(run.id) {
		return run.id
	}
	name := run.instance
	if name == "" || !model.ValidID(name) {
		name = "openhands"
	}
	return model.ShortText(name, model.MaxNativeID-24) + "." + at.Format("20060102T150405.000000")
}

func (run *ohRun) time() time.Time {
	at, _ := model.ParseTime(run.first)
	return at
}
