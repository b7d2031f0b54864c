package leak

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// masked looks for withheld values in all parts of a message. If there is one, it returns true
// and the masked event, whose bytes, names and reason do not hold the value.
func masked(e decode.Event, w Set) (decode.Event, bool) {
	k := masker{set: w}
	kept := streamio.Message{Subject: k.word("/subject", e.Subject), Data: k.payload(e.Data), Header: k.header(e.Header), Position: e.Position, Rules: e.Rules}
	if k.violation == nil {
		return e, false
	}
	kept.Data = digests.ReplaceAll(kept.Data, []byte(digestMask))
	refused := decode.Event{
		Message: &kept, Tenant: e.Tenant, Violations: schema.Violations{k.violation}, Reintroduced: true, Redaction: w.Mask(k.redaction),
	}
	if e.Envelope != nil {
		refused.Envelope = &schema.Event{Source: k.word("/source", e.Envelope.Source), ID: k.word("/id", e.Envelope.ID)}
	}
	return refused, true
}

// digests finds text that looks like a bare digest. A digest of the unmasked content would let
// a reader test guesses of the value.
var digests = regexp.MustCompile(`(?i)(?:md5|sha-?[0-9]+)["':=\s-]{1,5}[a-z0-9+/_=-]{16,}|\b[0-9a-f]{40,}\b`)

const digestMask = "[digest]"

// A masker masks the parts of a message, and records the first value that it found.
type masker struct {
	set       Set
	violation *schema.Violation
	redaction string // that withholds the value
}

// Mask returns a word with the values of w masked.
func (w Set) Mask(word string) string {
	k := masker{set: w}
	return k.word("", word)
}

func (k *masker) payload(data []byte) []byte {
	found := k.set.InPayload(data)
	if len(found) == 0 {
		return data
	}
	masked := k.mask("/data", data, found)
	if len(k.set.InPayload(masked)) > 0 { // the text around a mask forms another value
		return []byte(bareMask)
	}
	return masked
}

func (k *masker) word(pointer, word string) string {
	found := k.set.InWord([]byte(word))
	if len(found) == 0 {
		return word
	}
	masked := string(k.mask(pointer, []byte(word), found))
	if len(k.set.InWord([]byte(masked))) > 0 {
		return bareMask
	}
	return masked
}

// header masks names and values. All masked names become one. The message id is left out,
// because it is a digest of two attributes.
func (k *masker) header(header map[string][]string) map[string][]string {
	kept := make(map[string][]string, len(header))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if strings.EqualFold(name, schema.MsgIDHeader) {
			continue
		}
		// An unknown header becomes an attribute in lower case.
		keptName := name
		if lower := strings.ToLower(name); k.word("/header", name) != name || k.word("/header", lower) != lower {
			keptName = maskedName
		}
		pointer := "/" + strings.TrimPrefix(strings.ToLower(keptName), "ce-")
		for _, value := range header[name] {
			value = digests.ReplaceAllString(k.word(pointer, value), digestMask)
			kept[keptName] = append(kept[keptName], value)
		}
	}
	return kept
}

// The masks without a policy name. A header name has no room for one, and a policy's name may
// hold the value.
const (
	maskedName = "redacted"
	bareMask   = "[redacted]"
)

// mask replaces every value by the name of its policy. Values that touch or overlap count as
// one.
func (k *masker) mask(pointer string, b []byte, found []span) []byte {
	var out []byte
	end := 0
	for _, s := range found {
		if s.start >= end {
			out = append(append(out, b[end:s.start]...), k.placeholder(s)...)
		}
		end = max(end, s.end)
	}
	if k.violation == nil {
		k.redaction = found[0].Value.RedactionID
		k.violation = &schema.Violation{
			Code: schema.CodeReintroduced, Pointer: pointer,
			Found: "a value that an earlier redaction withholds: " + k.placeholder(found[0]),
			Fix:   "send the event under a new id and without the value",
		}
	}
	return append(out, b[end:]...)
}

// placeholder returns the mask that the guard of the SDK writes. The policy is escaped as in
// JSON, so that documents and headers stay valid.
func (k *masker) placeholder(s span) string {
	policy := s.Value.PolicyRef
	quoted, err := jsontext.AppendQuote(nil, policy)
	if err != nil || len(k.set.InWord([]byte(policy))) > 0 {
		return bareMask
	}
	return fmt.Sprintf("[redacted:%s]", quoted[1:len(quoted)-1])
}
