package importer

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ohRun is what pass 1 learns about a run and pass 2 needs ahead of time: its
// name and its counts may stand behind its events.
type ohRun struct {
	instance string
	first    string // timestamp of its first event that has one
	head     ohHead
	metrics  ohMetrics
	answers  []ohAnswer
	total    *ohTokens // accumulated, as the last event before says
	events   int
	seen     map[string]bool // responses
	loose    bool            // the document is an event; the log has one a line
	calls    map[int]*ohCall // by the ordinal of an answer's first event, nil before link
	rest     []*ohTokens     // of calls after the last answer
}

// ohHead is the metadata of a run.
type ohHead struct {
	AgentClass string `json:"agent_class"`
	Model      *struct {
		Model string `json:"model"`
	} `json:"llm_config"`
	MaxIterations *int64 `json:"max_iterations"`
	Commit        string `json:"git_commit"`
	Dataset       string `json:"dataset"`
	Condenser     *struct {
		Type string `json:"type"`
	} `json:"condenser_config"`
}

// ohAnswer is one answer of the model.
type ohAnswer struct {
	event     int    // ordinal of its first event
	response  string // "" where the event does not say
	tokens    *ohTokens
	condenser bool // a summary was written, by whatever means
}

// ohCall is one model call.
type ohCall struct {
	response  string // "" when nothing tells it
	tokens    *ohTokens
	before    []*ohTokens // calls without an event, since the answer before
	last      bool        // of the run
	condenser bool
}

// index reads a document in pass 1.
func (run *ohRun) index(d *document) error {
	run.seen = make(map[string]bool)
	return run.read(d, func(_ int, value jsontext.Value) error {
		eachEvent(value, run.event)
		return nil
	})
}

// join adds what another event's document holds.
func (run *ohRun) join(other *ohRun) {
	for _, a := range other.answers {
		if a.response == "" || !run.seen[a.response] {
			run.seen[a.response] = true
			a.event += run.events
			run.answers = append(run.answers, a)
		}
	}
	run.events += other.events
	run.total = other.total
	if run.first == "" {
		run.first = other.first
	}
}

// read reads a document of any of the forms: a run, an array of events, or an
// event.
func (run *ohRun) read(d *document, each func(n int, value jsontext.Value) error) error {
	if d.dec.PeekKind() == '[' {
		return d.elements(each)
	}
	single := make(map[string]jsontext.Value)
	history := false
	_, err := d.members(func(name string) error {
		switch name {
		case "history":
			if history {
				return d.dec.SkipValue()
			}
			history = true
			return d.elements(each)
		case "instance_id":
			var id span
			err := d.value(&id)
			run.instance = idText(id)
			return err
		case "metadata":
			return d.value(&run.head)
		case "metrics":
			return d.value(&run.metrics)
		case "instance", "test_result", "instruction", "error":
			return d.dec.SkipValue()
		}
		value, err := d.dec.ReadValue()
		if err == nil && !history {
			single[name] = value.Clone()
		}
		return err
	})
	if err != nil || history || single["action"] == nil && single["observation"] == nil {
		return err
	}
	run.loose = true
	value, err := json.Marshal(single, lenient)
	if err != nil {
		return nil // a value that was read is one that can be written
	}
	return each(0, value)
}

// eachEvent calls each for the event that value holds, or for both of an
// action and its observation, which older versions write as a pair.
func eachEvent(value jsontext.Value, each func(e *ohEvent)) bool {
	if value.Kind() == '[' {
		var pair []jsontext.Value
		if json.Unmarshal(value, &pair, streamed) != nil {
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
	if value.Kind() != '{' || json.Unmarshal(value, e, streamed) != nil {
		return false
	}
	each(e)
	return true
}

func (run *ohRun) event(e *ohEvent) {
	ordinal := run.events
	run.events++
	if run.first == "" {
		if _, ok := parseTime(e.Timestamp); ok {
			run.first = e.Timestamp
		}
	}
	if e.Action == "condensation" && e.args().Summary != nil {
		run.answers = append(run.answers, ohAnswer{event: ordinal, condenser: true})
	}
	if !e.byAgent() {
		return
	}
	if e.Metrics != nil && e.Metrics.Total != nil {
		defer func() { run.total = e.Metrics.Total }()
	}
	response := e.response()
	if response != "" {
		if run.seen[response] {
			return
		}
		run.seen[response] = true
	}
	answer := ohAnswer{event: ordinal, response: response}
	if e.Tool != nil {
		answer.tokens = e.Tool.Response.usage()
	}
	if answer.tokens == nil && e.Metrics != nil {
		answer.tokens = e.Metrics.Total.since(run.total)
	}
	run.answers = append(run.answers, answer)
}

// link finds what each answer used. The counts stand in the order of the calls
// and name their answers; between two that are found, as many counts as
// answers without a name are theirs, and any others are of calls without an
// event. A condensation may be the work of a model, whose count stands there too.
func (run *ohRun) link() {
	if run.calls != nil {
		return
	}
	run.calls = make(map[int]*ohCall)
	counts := run.metrics.Tokens
	for i := range counts {
		if len(run.metrics.Costs) == len(counts) {
			counts[i].cost = run.metrics.Costs[i].Cost
		}
	}
	place := make(map[string]int, len(counts))
	for i := range counts {
		if id := counts[i].ResponseID; id != "" {
			if _, known := place[id]; !known {
				place[id] = i
			}
		}
	}
	next := 0 // count
	var nameless []*ohCall
	settle := func(end int) (before []*ohTokens) {
		if agents := slices.DeleteFunc(slices.Clone(nameless), func(c *ohCall) bool { return c.condenser }); end-next == len(agents) {
			nameless = agents
		}
		if end-next == len(nameless) {
			for i, call := range nameless {
				call.tokens = &counts[next+i]
				if call.response == "" {
					call.response = counts[next+i].ResponseID
				}
			}
		} else {
			for i := next; i < end; i++ { // answers that tell their own use may be these
				if len(nameless) == 0 || counts[i].ResponseID != "" {
					before = append(before, &counts[i])
				}
			}
		}
		nameless = nil
		return before
	}
	for _, a := range run.answers {
		call := &ohCall{response: a.response, tokens: a.tokens, condenser: a.condenser}
		run.calls[a.event] = call
		at, known := place[a.response]
		switch {
		case !known:
			nameless = append(nameless, call)
		case at >= next:
			call.before = settle(at)
			call.tokens = &counts[at]
			next = at + 1
		}
	}
	run.rest = settle(len(counts))
	if n := len(run.answers); n > 0 {
		run.calls[run.answers[n-1].event].last = true
	}
}

// session is the id of the run's session: the instance's, and when the run
// began, since an instance is run more than once. "" for a run without events.
func (run *ohRun) session() string {
	at, ok := parseTime(run.first)
	if !ok {
		return ""
	}
	name := run.instance
	if name == "" || !validID(name) {
		name = "openhands"
	}
	return shortText(name, maxNativeID-24) + "." + at.Format("20060102T150405.000000")
}

func (run *ohRun) time() time.Time {
	at, _ := parseTime(run.first)
	return at
}
