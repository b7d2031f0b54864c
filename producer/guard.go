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

// ErrWithheld is wrapped by every [*WithheldError].
var ErrWithheld = errors.New("withheld value where none can be masked")

// WithheldError means that a place without masking holds a withheld value. An id is not
// masked, because two ids would become equal. A field is not masked if the contract
// requires a number or a listed word. The fact is not recorded: send it with another value.
// The error does not hold the value.
type WithheldError struct {
	Field     string // attribute, field of the data, or the id's name
	PolicyRef string // policy that withholds the value
}

// Error names the field and the policy.
func (e *WithheldError) Error() string {
	return fmt.Sprintf("%v: %s holds a value that %s withholds; use another value", ErrWithheld, e.Field, e.PolicyRef)
}

// Unwrap returns [ErrWithheld].
func (e *WithheldError) Unwrap() error { return ErrWithheld }

// hide masks withheld values in the event's data and refuses them in its ids. The argument
// lists the violations of the original event. The result lists the violations of the masked
// event.
func (w *withheld) hide(ctx context.Context, e *schema.Event, violations schema.Violations) ([]redact.Hit, schema.Violations, error) {
	guard := w.guard()
	masked, hits, err := mask(guard, e)
	if err != nil {
		return nil, nil, err
	}
	found, err := w.detect(ctx, e, masked)
	if err != nil {
		return nil, nil, err
	}
	if larger := w.add(guard, found); larger != guard {
		masked, hits, err = mask(larger, e)
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

// mask returns the event's data with the values of the guard masked. mask refuses an event with
// such a value in its attributes or in the ids of its data.
func mask(guard *redact.Guard, e *schema.Event) ([]byte, []redact.Hit, error) {
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

// fieldOf returns the top-level field of a violation, if something in it was masked.
// Otherwise it returns the first field with a masked value.
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

// redactions returns the facts of the guard's maskings in another fact, one for each
// policy, with the masked top-level fields. A redaction fact needs no redaction, because it
// already names its policy.
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

// refTo returns a reference to the record of a fact. A reference without a kind is to an
// item.
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

// typedRef returns a reference with the kind of its record.
func typedRef(kind, id string) schema.Ref {
	text, err := json.Marshal(id)
	if err != nil {
		return schema.Ref(id) // the contract refuses it
	}
	return schema.Ref(`{"kind":"` + kind + `","id":` + string(text) + `}`)
}

// byPolicy groups the hits by policy. The order of policies and of hits is kept.
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

// maxFingerprints is the largest number of fingerprints in one redaction fact. A
// fingerprint takes about 160 bytes.
const maxFingerprints = 200

// redaction returns the facts of the maskings in target under one policy. The hits give the
// fingerprints of the masked values. The argument what is part of the id. For very many
// values, the redaction has several parts.
func redaction(source, what string, target schema.Ref, hits []redact.Hit, fields []string) []*schema.RedactionApplied {
	hit := hits[0]
	var found []schema.Fingerprint
	for _, h := range hits {
		for _, fp := range h.Fingerprints {
			if !slices.Contains(found, fp) {
				found = append(found, fp)
			}
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

// checkIDs first checks all attributes that a caller chooses in one text. checkIDs checks
// them one by one only after a hit.
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
	return nil // the hit crosses the separator
}

// hideError masks errors that quote withheld values. These errors are replaced; any other
// error is returned unchanged.
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

// Detector finds secrets that are not configured, for example by package secrets. A
// Detector receives the text of each fact: one line "name: text" for each different string,
// without the values that the guard already knows. A found value is withheld from this fact
// on. The value is masked and recorded as a redaction under its policy. From then on the
// guard finds the value itself, in any disguise.
//
// A Detector is safe for concurrent use, keeps no text and is pure, so it neither waits nor
// fails. If it panics or takes longer than [WorkTime], the fact is refused with a
// [*WorkError].
type Detector interface {
	Detect(ctx context.Context, text string) []redact.Value
}

// maxDetected is the largest number of detected values that a client keeps. Values beyond it drop
// all but the last half. The detector finds the dropped values again if they occur again.
const maxDetected = 256

// withheld holds the withheld values of a client: the values of Config.Guard and the
// detector's findings. withheld is safe for concurrent use.
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

// guard returns the guard of all values that are known now.
func (w *withheld) guard() *redact.Guard { return w.known.Load() }

// detect passes the fact of e to the detector and returns the secrets that it found. Redactions are
// skipped, because they hold only ids, policies and fingerprints.
func (w *withheld) detect(ctx context.Context, e *schema.Event, masked []byte) ([]redact.Value, error) {
	if w.detector == nil || e.EventType() == schema.TypeRedactionApplied {
		return nil, nil
	}
	return w.detectIn(ctx, texts(masked))
}

// detectIn returns the secrets that the detector finds in a text.
func (w *withheld) detectIn(ctx context.Context, text string) ([]redact.Value, error) {
	if w.detector == nil {
		return nil, nil
	}
	return work(ctx, func(ctx context.Context) ([]redact.Value, error) { return w.detector.Detect(ctx, text), nil })
}

// add withholds the values that were found in a fact, from now on. It returns the guard for this
// fact: the given guard with all found values, also those that the client drops at once.
func (w *withheld) add(guard *redact.Guard, found []redact.Value) *redact.Guard {
	if len(found) == 0 {
		return guard
	}
	larger, fresh := with(guard, found)
	if larger.Len() == guard.Len() {
		return guard
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := larger
	switch w.detected = append(w.detected, fresh...); {
	case len(w.detected) > maxDetected:
		w.detected = slices.Clone(w.detected[len(w.detected)-maxDetected/2:])
		known, _ = with(w.configured, w.detected)
	case w.known.Load() != guard: // another fact had values meanwhile
		known, _ = with(w.known.Load(), fresh)
	}
	w.known.Store(known)
	return larger
}

// with returns the guard with further values, and these values. with skips a value that is part of
// its policy's name, because the name is not secret.
func with(guard *redact.Guard, values []redact.Value) (*redact.Guard, []redact.Value) {
	if larger, err := guard.With(values...); err == nil {
		return larger, values
	}
	var fit []redact.Value
	for _, v := range values {
		if larger, err := guard.With(v); err == nil {
			guard, fit = larger, append(fit, v)
		}
	}
	return guard, fit
}

// texts returns the strings of a JSON document, each on a line after its name. Ids and
// digests are left out, because they look like secrets but are not.
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
