package evidence

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// pseudonyms replaces ids by pseudonyms under a random key that is never stored. Within a pack,
// each id has one pseudonym. No pseudonym leads to the id, or to its pseudonym in another pack.
type pseudonyms struct{ key [32]byte }

func newPseudonyms() (*pseudonyms, error) {
	p := &pseudonyms{}
	if _, err := rand.Read(p.key[:]); err != nil {
		return nil, fmt.Errorf("make a key for pseudonyms: %w", err)
	}
	return p, nil
}

var pseudonymText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// of returns the pseudonym of an id. The empty id stays empty.
func (p *pseudonyms) of(id string) string {
	if id == "" {
		return ""
	}
	mac := hmac.New(sha256.New, p.key[:])
	mac.Write([]byte(id))
	return "id-" + pseudonymText.EncodeToString(mac.Sum(nil)[:15])
}

// source returns the pseudonym of a source.
func (p *pseudonyms) source(source string) string { return "urn:" + p.of(source) }

// event returns a copy of an event with pseudonyms for all ids and without free text. The copy is
// not a recorded event. Only documents are made from the copy.
func (p *pseudonyms) event(e *schema.Event) (*schema.Event, error) {
	var data any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return nil, fmt.Errorf("read the data of an event: %w", err)
	}
	text, err := json.Marshal(p.value("", data), json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write the data of an event: %w", err)
	}
	other := &schema.Event{
		ID: p.of(e.ID), Source: p.source(e.Source), Type: e.Type, Subject: p.of(e.Subject), Time: e.Time, DataContentType: e.DataContentType,
		DataSchema: e.DataSchema, Correlation: e.Correlation, Sequence: e.Sequence, PartitionKey: p.of(e.PartitionKey), CorrelationID: p.of(e.CorrelationID),
		CausationID: p.of(e.CausationID), DataClassification: e.DataClassification, Data: text,
	}
	for _, f := range schema.CorrelationFields {
		id := f.Of(&other.Correlation)
		*id = p.of(*id)
	}
	return other, nil
}

// words are the members with text from a vocabulary. Text from a vocabulary identifies nobody.
var words = map[string]bool{
	"schema_version": true, "event_type": true, "context_kind": true, "content_mode": true, "source_kind": true, "surface_kind": true, "scope": true,
	"scope_kind": true, "layer": true, "role": true, "reason": true, "status": true, "severity": true, "redaction_state": true, "lifecycle": true,
	"method": true, "trigger": true, "level": true, "outcome": true, "item_type": true, "target": true, "injection_point": true, "injection_kind": true,
	"overflow_strategy": true, "visibility": true, "mime_type": true, "language": true, "estimator": true, "model": true, "placement": true,
	"replacement_policy": true, "summary_kind": true, "resource_kind": true, "declared_mode": true, "effective_mode": true, "operation": true,
	"currency": true, "stop_reason": true, "trust_level": true, "sensitivity": true, "freshness": true, "strategy": true, "kind": true, "name": true,
	"step": true, "leaf": true,
}

// value replaces the value of the member name, or of an element of a list under that name.
func (p *pseudonyms) value(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			switch {
			case name == "metadata" || key == "metadata" || strings.HasSuffix(key, "_metadata") || key == "content" || key == "fingerprints" || key == "candidate_sources":
				continue
			case name == "signals" || name == "ranking_signals":
				out[key] = inner // numbers by name of a signal
			default:
				out[key] = p.value(key, inner)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = p.value(name, inner)
		}
		return out
	case string:
		if words[name] && isWord(v) || isTime(name) {
			return v
		}
		if name == "source" {
			return p.source(v)
		}
		return p.of(v)
	}
	return value
}

// isWord reports whether a text has the form of a vocabulary word instead of a sentence.
func isWord(text string) bool {
	return len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:/+", r))
	})
}

// isTime reports whether the member holds a time.
func isTime(name string) bool { return strings.HasSuffix(name, "_at") }
