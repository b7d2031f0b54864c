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

// sweTrial holds the values that pass 1 collects about a trial and pass 2 needs in advance. These
// are the trial's name, the windows of its steps and its totals.
type sweTrial struct {
	environment string
	config      sweConfig
	configText  string
	info        sweInfo
	place       string
	history     bool          // the log holds messages; otherwise the steps give the messages
	observation jsonscan.Span // observation of the last step
	room        []byte        // buffer for a text

	told bool // the trial has elements, of any form

	steps     hashset.List[sweWindow]
	answers   hashset.List[uint64] // hashes of the history's answers, in order
	shown     []uint64             // hashes of the texts in the last window, by position
	following *sweWindow           // input of the next step, nil when unknown
	main      string               // agent of the first message
	texts     hashset.List[uint64] // hashes of the main agent's messages, in order

	identity hash.Hash // hash of the trial's beginning, nil once key is set
	absorbed int       // number of answers in the hash
	key      string

	nextStep int // first step after the steps of the answers so far
	answered int // step of the newest answer, -1 for no step
}

// sweWindow is the input of a step's model call.
type sweWindow struct {
	answer  uint64 // hash of the model's answer
	shown   int    // number of messages, -1 when the log does not hold them
	changed []sweChange
}

// sweChange is a message that differs from the same message in the previous window.
type sweChange struct {
	place  int // position in the window
	text   uint64
	tokens *int64
	digest string
}

func newSWETrial() *sweTrial { return &sweTrial{identity: sha256.New()} }

// identifyingAnswers is the number of the model's answers that are part of a trial's name. A
// second try of a trial has the same beginning but other answers.
const identifyingAnswers = 3

// Read reads an object that describes a trial: the whole document, or one of its attempts. The
// functions step and message are called for the trial's elements, attempts for its attempts.
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
		_ = json.Unmarshal(value, &t.config, jsonscan.Streamed) // a value of another form leaves the member empty
	}
	return nil
}

// step adds a step to the index.
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
	w := sweWindow{shown: -1}
	if t.following != nil {
		w, t.following = *t.following, nil
	}
	w.answer = model.HashOf(response)
	switch {
	case s.Query != nil:
		w.shown, w.changed = t.input(s.Query, opts)
	case s.Messages != nil: // revision 2: revision 1 took them for the input of this step
		t.following = new(sweWindow)
		t.following.shown, t.following.changed = t.input(s.Messages, opts)
	}
	t.steps.Add(w)
}

// input returns the size of an input and its differences from the previous input.
func (t *sweTrial) input(shown []sweMessage, opts model.Options) (n int, changed []sweChange) {
	for place := range shown {
		text := shown[place].Text()
		h := model.HashOf(text)
		if place < len(t.shown) && t.shown[place] == h {
			continue
		}
		change := sweChange{place: place, text: h, digest: opts.Digest(text)}
		if place < len(t.shown) { // a new position is counted with its message
			change.tokens, _ = opts.CountTokens(t.config.Agent.Model.Name, text)
			t.shown[place] = h
		} else {
			t.shown = append(t.shown, h)
		}
		changed = append(changed, change)
	}
	return len(shown), changed
}

// message adds a message of the history to the index.
func (t *sweTrial) message(value jsontext.Value) {
	var m sweMessage
	t.told = true
	if !jsonscan.Decode(value, m.Read) {
		return
	}
	if !t.history {
		t.history, t.main = true, m.Agent
		t.identity.Reset() // messages hold more than steps
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

// link sets the name of the trial.
func (t *sweTrial) link() {
	t.identity.Write([]byte(t.environment + "\x00" + t.configText))
	t.key = hex.EncodeToString(t.identity.Sum(nil)[:6])
	t.identity, t.shown, t.following, t.room, t.answered = nil, nil, nil, nil, -1
	if !t.history {
		for _, s := range t.steps.All() {
			t.answers.Add(s.answer)
		}
	}
}

// stepsOf returns the steps of the answer n, after the steps of the earlier answers. Step last
// gave the answer's text. The steps from first up to last gave unusable answers, which are not in
// the history. last is -1 for an answer without a step.
func (t *sweTrial) stepsOf(n int) (first, last int) {
	first, t.answered = t.nextStep, -1
	if n >= t.answers.Len() { // the file has changed since pass 1
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

// name returns a readable name of the trial, with a unique part.
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

// reported returns the totals of the trial under neutral names.
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
