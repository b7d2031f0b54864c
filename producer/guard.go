package producer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/grant"
	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrWithheld is what every [*WithheldError] wraps.
var ErrWithheld = errors.New("withheld value in an id")

// WithheldError says that an id holds a value that the guard withholds. The
// fact is not recorded: choose another id. It does not hold the value.
type WithheldError struct {
	Field     string // the attribute, or what the id names
	PolicyRef string // of the policy that withholds the value
}

// Error names the field and the policy.
func (e *WithheldError) Error() string {
	return fmt.Sprintf("%v: %s holds a value that %s withholds; use an id without it", ErrWithheld, e.Field, e.PolicyRef)
}

// Unwrap returns [ErrWithheld].
func (e *WithheldError) Unwrap() error { return ErrWithheld }

// hide masks withheld values in the event's data and refuses them in its
// attributes.
func (c *Client) hide(e *schema.Event) ([]redact.Hit, error) {
	guard := c.config.Guard
	if guard.Len() == 0 {
		return nil, nil
	}
	if err := c.checkIDs(e); err != nil {
		return nil, err
	}
	data, hits, err := guard.MaskJSON(e.Data)
	if err != nil {
		return nil, fmt.Errorf("mask withheld values: %w", err)
	}
	e.Data = data
	return hits, nil
}

// redactions are the facts that the guard masked something in another fact, one
// a policy, with the top-level fields in which it did. A redaction fact needs no
// other: it names its policy already.
func (c *Client) redactions(fact schema.Fact, hits []redact.Hit) []*schema.RedactionApplied {
	if _, itself := fact.(*schema.RedactionApplied); itself {
		return nil
	}
	var policies []redact.Hit // the first hit of each
	fields := make(map[string][]string)
	for _, hit := range hits {
		if fields[hit.PolicyRef] == nil {
			policies = append(policies, hit)
		}
		field, _, _ := strings.Cut(strings.TrimPrefix(hit.Path, "/"), "/")
		if !slices.Contains(fields[hit.PolicyRef], field) {
			fields[hit.PolicyRef] = append(fields[hit.PolicyRef], field)
		}
	}
	var list []*schema.RedactionApplied
	for _, hit := range policies {
		list = append(list, c.redaction(string(fact.EventType())+":"+fact.RecordID(), fact.RecordID(), hit, fields[hit.PolicyRef])...)
	}
	return list
}

// maxFingerprints is how many one redaction fact carries, about 160 bytes each.
const maxFingerprints = 200

// redaction says that the guard masked something of target under the policy of
// hit. The id is made of what. There is one fact, or several parts of one for
// a policy with very many values.
func (c *Client) redaction(what, target string, hit redact.Hit, fields []string) []*schema.RedactionApplied {
	var known []schema.Fingerprint
	for _, f := range c.fingerprints {
		if f.PolicyRef == hit.PolicyRef {
			known = append(known, schema.Fingerprint(f.Fingerprint))
		}
	}
	chunks := chunk(known, maxFingerprints, func(schema.Fingerprint) int { return 1 })
	list := make([]*schema.RedactionApplied, len(chunks))
	for i, fingerprints := range chunks {
		list[i] = &schema.RedactionApplied{
			Common:      schema.Common{PolicyRefs: schema.Refs(hit.PolicyRef), Metadata: partOf(i, len(chunks))},
			RedactionID: "redaction:" + what + ":" + hit.PolicyRef, TargetRef: schema.Ref(target),
			RedactionState: schema.RedactionMasked, Method: "mask", RedactedFields: fields, Reason: hit.Reason,
			ActorRef: schema.Ref(c.Source()), Fingerprints: fingerprints,
		}
	}
	return list
}

// checkIDs looks at all attributes that a caller chooses at once, and one by
// one only when there is something.
func (c *Client) checkIDs(e *schema.Event) error {
	var all strings.Builder
	all.WriteString(e.Subject)
	for _, f := range schema.CorrelationFields {
		if id := *f.Of(&e.Correlation); id != "" && id != e.Subject {
			all.WriteByte('\n')
			all.WriteString(id)
		}
	}
	guard := c.config.Guard
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
func (c *Client) hideError(err error) error {
	text, hits := c.config.Guard.Mask(err.Error())
	if len(hits) == 0 {
		return err
	}
	var refused *grant.Error
	if !errors.As(err, &refused) {
		return errors.New(text)
	}
	input, _ := c.config.Guard.Mask(refused.Input)
	detail, _ := c.config.Guard.Mask(refused.Detail)
	return &grant.Error{Input: input, Detail: detail}
}
