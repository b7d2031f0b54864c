package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// sweTrial is what pass 1 learns about one trial and pass 2 needs ahead of
// time: its name, the windows of its steps and its totals.
type sweTrial struct {
	environment string
	config      sweConfig
	configText  string
	info        sweInfo
	place       string
	history     bool   // the log holds messages; else they are taken from the steps
	observation span   // of the last step
	room        []byte // for a text

	told bool // it has elements, of whatever form

	steps   list[sweWindow]
	answers list[uint64] // texts of the history's answers, in order
	shown   []uint64     // texts, by place in the window: as the model was shown them last
	main    string       // the agent that the first message is of
	texts   list[uint64] // of the main agent's messages, in order

	identity hash.Hash // over the trial's beginning, nil once it has its key
	absorbed int       // answers in it
	key      string

	nextStep int // the first one behind the steps that the answers so far came from
	answered int // step of the newest answer, -1 where it is of none
}

// sweWindow is what a step's model call was shown.
type sweWindow struct {
	answer  uint64 // hash of what the model answered
	shown   int    // messages, -1 when the log does not hold them
	changed []sweChange
}

// sweChange is a message that the model was shown otherwise than before.
type sweChange struct {
	place  int // in the window
	text   uint64
	tokens *int64
	digest string
}

func newSWETrial() *sweTrial { return &sweTrial{identity: sha256.New()} }

// identifyingAnswers is how many of the model's answers are a part of a trial's
// name. A trial that is tried again begins alike and answers differently.
const identifyingAnswers = 3

// read reads an object that describes a trial: the whole document, or one of
// its attempts. each is called for the trial's elements, attempt for attempts.
func (t *sweTrial) read(d *document, step, message func(n int, value jsontext.Value) error, attempts func() error) error {
	seen := make(map[string]bool)
	_, err := d.members(func(name string) error {
		again := seen[name]
		seen[name] = true
		switch {
		case again:
			return d.dec.SkipValue()
		case name == "trajectory" && !seen["attempts"]:
			return d.elements(step)
		case (name == "history" || name == "messages") && !seen["attempts"]:
			return d.elements(message)
		case name == "attempts" && attempts != nil:
			return attempts()
		case name == "environment":
			var value span
			err := d.value(&value)
			t.environment = shortText(idText(value), maxNativeID)
			return err
		case name == "info":
			return d.value(&t.info)
		case name == "replay_config":
			return t.readConfig(d)
		}
		return d.dec.SkipValue()
	})
	return err
}

func (t *sweTrial) readConfig(d *document) error {
	value, err := d.dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == '"' {
		value = jsontext.Value(textOf(span(value)))
	}
	t.configText = string(value)
	if value.Kind() == '{' {
		_ = json.Unmarshal(value, &t.config, streamed) // what is of another form stays empty
	}
	return nil
}

// step learns from a step.
func (t *sweTrial) step(value jsontext.Value, opts Options) {
	var s sweStep
	t.told = true
	if !decode(value, s.read) {
		return
	}
	if t.steps.len() == 0 {
		t.place = s.place()
	}
	t.observation = append(t.observation[:0], s.Observation...)
	response := s.Response.textIn(&t.room)
	if t.absorbed < identifyingAnswers {
		t.absorb("step", response)
		t.absorbed++
	}
	w := sweWindow{answer: hashOf(response), shown: -1}
	if shown := s.shown(); shown != nil {
		w.shown = len(shown)
		for place := range shown {
			text := shown[place].text()
			h := hashOf(text)
			if place < len(t.shown) && t.shown[place] == h {
				continue
			}
			change := sweChange{place: place, text: h, digest: opts.digest(text)}
			if place < len(t.shown) { // a new place is counted with its message
				change.tokens, _ = opts.count(t.config.Agent.Model.Name, text)
				t.shown[place] = h
			} else {
				t.shown = append(t.shown, h)
			}
			w.changed = append(w.changed, change)
		}
	}
	t.steps.add(w)
}

// message learns from a message of the history.
func (t *sweTrial) message(value jsontext.Value) {
	var m sweMessage
	t.told = true
	if !decode(value, m.read) {
		return
	}
	if !t.history {
		t.history, t.main = true, m.Agent
		t.identity.Reset() // messages say more than steps
		t.absorbed = 0
	}
	text := m.textIn(&t.room)
	if t.absorbed < identifyingAnswers {
		t.absorb(m.Role, text)
	}
	if m.Role == "assistant" && !m.IsDemo {
		t.absorbed++
		t.answers.add(hashOf(text))
	}
	if m.Agent == t.main {
		t.texts.add(hashOf(text))
	}
}

func (t *sweTrial) absorb(kind, text string) {
	t.identity.Write([]byte(kind + "\x00" + text + "\x00"))
}

// link names the trial.
func (t *sweTrial) link() {
	t.identity.Write([]byte(t.environment + "\x00" + t.configText))
	t.key = hex.EncodeToString(t.identity.Sum(nil)[:6])
	t.identity, t.shown, t.room, t.answered = nil, nil, nil, -1
	if !t.history {
		for _, s := range t.steps.all() {
			t.answers.add(s.answer)
		}
	}
}

// stepsOf finds the steps of the answer n, after those of the answers before:
// the last one answered with its text, and what those from first on answered
// could not be used, so that they gave nothing to the history. last is -1 for an
// answer of no step.
func (t *sweTrial) stepsOf(n int) (first, last int) {
	first, t.answered = t.nextStep, -1
	if n >= t.answers.len() { // the file is another one than in pass 1
		return first, -1
	}
	at, answer := first, *t.answers.at(n)
	for at < t.steps.len() && t.steps.at(at).answer != answer {
		at++
	}
	if at == t.steps.len() {
		if at = first; t.steps.len()-first < t.answers.len()-n || at == t.steps.len() {
			return first, -1
		}
	}
	t.nextStep, t.answered = at+1, at
	return first, at
}

// name is the trial's name for people, with what tells it from others.
func (t *sweTrial) name() string {
	label := t.config.Problem.ID
	if label == "" {
		label = t.place
	}
	if label == "" {
		label = "swe-agent"
	}
	label = strings.Map(func(r rune) rune {
		if r <= ' ' || r == '"' || r == '\\' || r == '{' || r == 0x7f {
			return '-'
		}
		return r
	}, shortText(label, 96))
	if !validID(label) {
		label = "swe-agent"
	}
	return label + "." + t.key
}

// reported are totals of the trial, by neutral names.
func (s *sweStats) reported() map[string]any {
	totals := make(map[string]any)
	for name, n := range map[string]*int64{"input_tokens": s.Sent, "output_tokens": s.Received, "calls": s.Calls} {
		if n != nil && *n >= 0 {
			totals[name] = *n
		}
	}
	if s.Cost != nil && *s.Cost >= 0 {
		totals["cost"] = *s.Cost
	} else if s.Total != nil && *s.Total >= 0 {
		totals["cost"] = *s.Total
	}
	return totals
}
