package sweagent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/ctxledger/ctxledger/producer/importer/internal/hashset"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
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
	history     bool          // the log holds messages; else they are taken from the steps
	observation jsonscan.Span // of the last step
	room        []byte        // for a text

	told bool // it has elements, of whatever form

	steps   hashset.List[sweWindow]
	answers hashset.List[uint64] // texts of the history's answers, in order
	shown   []uint64             // texts, by place in the window: as the model was shown them last
	main    string               // the agent that the first message is of
	texts   hashset.List[uint64] // of the main agent's messages, in order

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

// Read reads an object that describes a trial: the whole document, or one of
// its attempts. each is called for the trial's elements, attempt for attempts.
func (t *sweTrial) Read(d *model.Document, step, message func(n int, value jsontext.Value) error, attempts func() error) error {
	seen := make(map[string]bool)
	_, err := d.Members(func(name string) error {
		again := seen[name]
		seen[name] = true
		switch {
		case again:
			return d.Dec.SkipValue()
		case name == "trajectory" && !seen["attempts"]:
			return d.Elements(step)
		case (name == "history" || name == "messages") && !seen["attempts"]:
			return d.Elements(message)
		case name == "attempts" && attempts != nil:
			return attempts()
		case name == "environment":
			var value jsonscan.Span
			err := d.Value(&value)
			t.environment = model.ShortText(model.IDText(value), model.MaxNativeID)
			return err
		case name == "info":
			return d.Value(&t.info)
		case name == "replay_config":
			return t.readConfig(d)
		}
		return d.Dec.SkipValue()
	})
	return err
}

func (t *sweTrial) readConfig(d *model.Document) error {
	value, err := d.Dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == '"' {
		value = jsontext.Value(jsonscan.TextOf(jsonscan.Span(value)))
	}
	t.configText = string(value)
	if value.Kind() == '{' {
		_ = json.Unmarshal(value, &t.config, jsonscan.Streamed) // what is of another form stays empty
	}
	return nil
}

// step learns from a step.
func (t *sweTrial) step(value jsontext.Value, opts model.Options) {
	var s sweStep
	t.told = true
	if !jsonscan.Decode(value, s.Read) {
		return
	}
	if t.steps.Len() == 0 {
		t.place = s.place()
	}
	t.observation = append(t.observation[:0], s.Observation...)
	response := s.Response.TextIn(&t.room)
	if t.absorbed < identifyingAnswers {
		t.absorb("step", response)
		t.absorbed++
	}
	w := sweWindow{answer: model.HashOf(response), shown: -1}
	if shown := s.shown(); shown != nil {
		w.shown = len(shown)
		for place := range shown {
			text := shown[place].Text()
			h := model.HashOf(text)
			if place < len(t.shown) && t.shown[place] == h {
				continue
			}
			change := sweChange{place: place, text: h, digest: opts.Digest(text)}
			if place < len(t.shown) { // a new place is counted with its message
				change.tokens, _ = opts.CountTokens(t.config.Agent.Model.Name, text)
				t.shown[place] = h
			} else {
				t.shown = append(t.shown, h)
			}
			w.changed = append(w.changed, change)
		}
	}
	t.steps.Add(w)
}

// message learns from a message of the history.
func (t *sweTrial) message(value jsontext.Value) {
	var m sweMessage
	t.told = true
	if !jsonscan.Decode(value, m.Read) {
		return
	}
	if !t.history {
		t.history, t.main = true, m.Agent
		t.identity.Reset() // messages say more than steps
		t.absorbed = 0
	}
	text := m.TextIn(&t.room)
	if t.absorbed < identifyingAnswers {
		t.absorb(m.Role, text)
	}
	if m.Role == "assistant" && !m.IsDemo {
		t.absorbed++
		t.answers.Add(model.HashOf(text))
	}
	if m.Agent == t.main {
		t.texts.Add(model.HashOf(text))
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
		for _, s := range t.steps.All() {
			t.answers.Add(s.answer)
		}
	}
}

// stepsOf finds the steps of the answer n, after those of the answers before:
// the last one answered with its text, and what those from first on answered
// could not be used, so that they gave nothing to the history. last is -1 for an
// answer of no step.
func (t *sweTrial) stepsOf(n int) (first, last int) {
	first, t.answered = t.nextStep, -1
	if n >= t.answers.Len() { // the file is another one than in pass 1
		return first, -1
	}
	at, answer := first, *t.answers.At(n)
	for at < t.steps.Len() && t.steps.At(at).answer != answer {
		at++
	}
	if at == t.steps.Len() {
		if at = first; t.steps.Len()-first < t.answers.Len()-n || at == t.steps.Len() {
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
	}, model.ShortText(label, 96))
	if !model.ValidID(label) {
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
