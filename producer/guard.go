package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/internal/facts"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrWithheld is what every [*WithheldError] wraps.
var ErrWithheld = errors.New("withheld value where none can be masked")

// WithheldError says that a value which is withheld stands where it cannot be
// masked: in an id, since two ids would become one, or where the contract wants
// a number or one of its own words. The fact is not recorded: send it with
// another. The error does not hold the value.
type WithheldError struct {
	Field     string // the attribute or the field of the data, or what the id names
	PolicyRef string // of the policy that withholds the value
}

// Error names the field and the policy.
func (e *WithheldError) Error() string {
	return fmt.Sprintf("%v: %s holds one that %s withholds; use another", ErrWithheld, e.Field, e.PolicyRef)
}

// Unwrap returns [ErrWithheld].
func (e *WithheldError) Unwrap() error { return ErrWithheld }

// hide masks withheld values in the event's data and refuses them in its ids.
// It takes what violates the contract in the event as it was, and returns what
// does in the event as it is.
func (w *withheld) hide(ctx context.Context, e *schema.Event, violations schema.Violations) ([]redact.Hit, schema.Violations, error) {
	masked, hits, err := w.mask(e)
	if err != nil {
		return nil, nil, err
	}
	more, err := w.detect(ctx, e, masked)
	if more {
		masked, hits, err = w.mask(e)
	}
	if err != nil || len(hits) == 0 {
		return nil, violations, err
	}
	e.Data = masked
	_, now := schema.Validate(e)
	if len(violations) == 0 && len(now) > 0 && now[0].Code != schema.CodeTooLarge {
		return nil, nil, &WithheldError{Field: fieldOf(now[0].Pointer, hits), PolicyRef: hits[0].PolicyRef}
	}
	return hits, now, nil
}

// mask returns the event's data without withheld values, which its attributes
// and the ids of its data must not hold.
func (w *withheld) mask(e *schema.Event) ([]byte, []redact.Hit, error) {
	guard := w.guard()
	if guard.Len() == 0 {
		return e.Data, nil, nil
	}
	if err := checkIDs(guard, e); err != nil {
		return nil, nil, err
	}
	data, hits, err := guard.MaskEncoded(e.Data)
	if err != nil {
		return nil, nil, fmt.Errorf("mask withheld values: %w", err)
	}
	for _, hit := range hits {
		if field := strings.TrimPrefix(hit.Path, "/"); strings.HasSuffix(field, "_id") && !strings.Contains(field, "/") {
			return nil, nil, &WithheldError{Field: field, PolicyRef: hit.PolicyRef}
		}
	}
	return data, hits, nil
}

// fieldOf is the top-level field of the data that a violation points at, if
// something was masked there, and otherwise the first in which something was.
func fieldOf(pointer string, hits []redact.Hit) string {
	field, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/data/"), "/")
	for _, hit := range hits {
		if hit.Path == "/"+field || strings.HasPrefix(hit.Path, "/"+field+"/") {
			return field
		}
	}
	field, _, _ = strings.Cut(strings.TrimPrefix(hits[0].Path, "/"), "/")
	return field
}

// redactions are the facts that the guard masked something in another fact, one
// a policy, with the top-level fields in which it did. A redaction fact needs no
// other: it names its policy already.
func redactions(source string, fact schema.Fact, hits []redact.Hit) []*schema.RedactionApplied {
	if _, itself := fact.(*schema.RedactionApplied); itself {
		return nil
	}
	var list []*schema.RedactionApplied
	for _, hits := range byPolicy(hits) {
		var fields []string
		for _, hit := range hits {
			if field, _, _ := strings.Cut(strings.TrimPrefix(hit.Path, "/"), "/"); !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
		list = append(list, redaction(source, string(fact.EventType())+":"+fact.RecordID(), refTo(fact), hits, fields)...)
	}
	return list
}

// refTo refers to the record of a fact. A reference that says no kind is to an item.
func refTo(fact schema.Fact) schema.Ref {
	kind, _ := fact.EventType().ObjectVerb()
	switch kind {
	case "item":
		return schema.Ref(fact.RecordID())
	case "scope":
		kind = "run"
	case "context":
		kind = "pack"
	case "facts":
		kind = "drop"
	}
	return typedRef(kind, fact.RecordID())
}

// typedRef is a reference that says the kind of its record.
func typedRef(kind, id string) schema.Ref {
	text, err := json.Marshal(id)
	if err != nil {
		return schema.Ref(id) // the contract refuses it
	}
	return schema.Ref(`{"kind":"` + kind + `","id":` + string(text) + `}`)
}

// byPolicy gathers the hits of each policy, both in order.
func byPolicy(hits []redact.Hit) [][]redact.Hit {
	var list [][]redact.Hit
	index := make(map[string]int)
	for _, hit := range hits {
		i, ok := index[hit.PolicyRef]
		if !ok {
			i = len(list)
			index[hit.PolicyRef], list = i, append(list, nil)
		}
		list[i] = append(list[i], hit)
	}
	return list
}

// maxFingerprints is how many one redaction fact carries, about 160 bytes each.
const maxFingerprints = 200

// redaction says that the guard masked something of target: the hits, which are
// of one policy, whose values it lists by fingerprint. The id is made of what.
// There is one fact, or several parts of one for very many values.
func redaction(source, what string, target schema.Ref, hits []redact.Hit, fields []string) []*schema.RedactionApplied {
	hit := hits[0]
	var found []schema.Fingerprint
	for _, h := range hits {
		if h.Fingerprint != nil && !slices.Contains(found, *h.Fingerprint) {
			found = append(found, *h.Fingerprint)
		}
	}
	chunks := facts.Chunk(found, maxFingerprints, func(schema.Fingerprint) int { return 1 })
	list := make([]*schema.RedactionApplied, len(chunks))
	for i, fingerprints := range chunks {
		list[i] = &schema.RedactionApplied{
			Common:      schema.Common{PolicyRefs: schema.Refs(hit.PolicyRef), Metadata: facts.PartOf(i, len(chunks))},
			RedactionID: "redaction:" + what + ":" + hit.PolicyRef, TargetRef: target,
			RedactionState: schema.RedactionMasked, Method: "mask", RedactedFields: fields, Reason: hit.Reason,
			ActorRef: schema.Ref(source), Fingerprints: fingerprints,
		}
	}
	return list
}

// checkIDs looks at all attributes that a caller chooses at once, and one by
// one only when there is something.
func checkIDs(guard *redact.Guard, e *schema.Event) error {
	var all strings.Builder
	all.WriteString(e.Subject)
	for _, f := range schema.CorrelationFields {
		if id := *f.Of(&e.Correlation); id != "" && id != e.Subject {
			all.WriteByte('\n')
			all.WriteString(id)
		}
	}
	if len(guard.Check(all.String())) == 0 {
		return nil
	}
	if hits := guard.Check(e.Subject); len(hits) > 0 {
		return &WithheldError{Field: "the record's id", PolicyRef: hits[0].PolicyRef}
	}
	for _, f := range schema.CorrelationFields {
		if hits := guard.Check(*f.Of(&e.Correlation)); len(hits) > 0 {
			return &WithheldError{Field: f.Column, PolicyRef: hits[0].PolicyRef}
		}
	}
	return nil // only the separator made it a value
}

// hideError keeps withheld values out of the text of an error that quotes its
// input. Such an error is replaced; any other is returned as it is.
func (w *withheld) hideError(err error) error {
	text, hits := w.guard().Mask(err.Error())
	if len(hits) == 0 {
		return err
	}
	var wrong *InvalidError
	if errors.As(err, &wrong) {
		field, _ := w.guard().Mask(wrong.Field)
		return &InvalidError{Field: field, Problem: wrong.Problem, also: wrong.also}
	}
	var refused *grant.Error
	if !errors.As(err, &refused) {
		return errors.New(text)
	}
	input, _ := w.guard().Mask(refused.Input)
	detail, _ := w.guard().Mask(refused.Detail)
	return &grant.Error{Input: input, Detail: detail}
}

// Detector finds secrets that nobody named, such as package secrets does. It is
// asked for the text of each fact, one line "name: text" for each string and once
// for equal ones, less what the guard knows already. What it finds is withheld
// from that fact on: it is masked, a redaction says so under the value's policy,
// and the guard finds it by itself the next time, in any disguise.
//
// A Detector is safe for concurrent use, keeps no text and is pure, so that it
// neither waits nor fails. Where it panics or takes longer than [WorkTime], the
// fact is refused with a [*WorkError].
type Detector interface {
	Detect(ctx context.Context, text string) []redact.Value
}

// maxDetected is how many detected values a client keeps. One more drops the
// older half: they are found by the detector, should they come again.
const maxDetected = 256

// withheld is what a client withholds: the values of Config.Guard, and what the
// detector found. It is safe for concurrent use.
type withheld struct {
	configured *redact.Guard
	detector   Detector // nil for none

	mu       sync.Mutex // guards detected, and writes of known
	detected []redact.Value
	known    atomic.Pointer[redact.Guard]
}

func newWithheld(configured *redact.Guard, detector Detector) *withheld {
	w := &withheld{configured: configured, detector: detector}
	w.known.Store(configured)
	return w
}

// guard is the guard of all values known by now.
func (w *withheld) guard() *redact.Guard { return w.known.Load() }

// detect asks the detector about the fact of e, and reports whether it found
// something. Redactions are made of ids, policies and fingerprints, and are not
// looked at.
func (w *withheld) detect(ctx context.Context, e *schema.Event, masked []byte) (bool, error) {
	if w.detector == nil || e.EventType() == schema.TypeRedactionApplied {
		return false, nil
	}
	found, err := work(ctx, func(ctx context.Context) ([]redact.Value, error) {
		return w.detector.Detect(ctx, texts(masked)), nil
	})
	if err != nil || len(found) == 0 {
		return false, err
	}
	return w.add(found), nil
}

// add withholds what was detected, and reports whether there was something new.
// A value that its own policy names is left out: it is no secret.
func (w *withheld) add(found []redact.Value) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.known.Load()
	guard := before
	if len(w.detected)+len(found) > maxDetected {
		w.detected = append([]redact.Value(nil), w.detected[len(w.detected)/2:]...)
		guard, _ = w.configured.With(w.detected...) // all were taken before
	}
	for _, v := range found[:min(len(found), maxDetected/2)] {
		if larger, err := guard.With(v); err == nil && larger.Len() > guard.Len() {
			guard, w.detected = larger, append(w.detected, v)
		}
	}
	w.known.Store(guard)
	return guard != before
}

// texts are the strings of a JSON document, one a line behind its name. What is
// made by machines and for machines, ids and digests, looks like a secret and is
// none; it is left out.
func texts(data []byte) string {
	var out strings.Builder
	name, seen := "", make(map[string]bool)
	for dec := jsontext.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.ReadToken()
		if err != nil {
			return out.String()
		}
		if token.Kind() != '"' {
			continue
		}
		if parent, n := dec.StackIndex(dec.StackDepth()); parent == '{' && n%2 == 1 {
			name = token.String()
		} else if line := name + ": " + token.String() + "\n"; !machineMade(name) && !seen[line] {
			seen[line] = true
			out.WriteString(line)
		}
	}
}

func machineMade(name string) bool {
	return strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "digest")
}
