package producer

import (
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ItemType says what an entry of the item log is: one of the seed's own types,
// or an extension of the form prefix:name, such as "openrouter:web_search".
type ItemType string

// The item types of seed 003.
const (
	ItemMessage            ItemType = "message"
	ItemFunctionCall       ItemType = "function_call"
	ItemFunctionCallOutput ItemType = "function_call_output"
	ItemReasoning          ItemType = "reasoning"
)

var seedItemTypes = []ItemType{ItemMessage, ItemFunctionCall, ItemFunctionCallOutput, ItemReasoning}

// maxItemType is the longest type in bytes.
const maxItemType = 128

// ParseItemType accepts the seed's types and extensions. Prefix and name of an
// extension begin with a letter and go on with letters, digits, _, - and . of
// ASCII; the name may hold further colons. The error is an [*InvalidError].
//
// Source: seed 003 (extension items).
func ParseItemType(s string) (ItemType, error) {
	if slices.Contains(seedItemTypes, ItemType(s)) {
		return ItemType(s), nil
	}
	const field = "item type"
	prefix, name, extension := strings.Cut(s, ":")
	switch {
	case s == "":
		return "", invalid(field, "must be named")
	case !extension:
		return "", invalid(field, "must be one of the seed's or an extension of the form prefix:name")
	case len(s) > maxItemType || !typeWord(prefix, false) || !typeWord(name, true):
		return "", invalid(field, "must have a prefix and a name of letters, digits, _, - and .")
	}
	return ItemType(s), nil
}

// Extension reports whether t is not one of the seed's own.
func (t ItemType) Extension() bool { return strings.Contains(string(t), ":") }

func typeWord(s string, colons bool) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' && (c != ':' || !colons)) {
			return false
		}
	}
	return s != ""
}

// kindType is the seed's type for a kind that belongs to the conversation.
func kindType(k window.Kind) ItemType {
	switch k {
	case window.KindMessage:
		return ItemMessage
	case window.KindToolCall:
		return ItemFunctionCall
	case window.KindToolResult:
		return ItemFunctionCallOutput
	}
	return ""
}

// ItemStatus says how far an item of the log had come when it was appended. It
// is the item's, never the runtime's. Empty is unknown.
type ItemStatus string

// The item statuses of seed 003.
const (
	ItemInProgress ItemStatus = "in_progress"
	ItemCompleted  ItemStatus = "completed"
	ItemIncomplete ItemStatus = "incomplete"
	ItemFailed     ItemStatus = "failed"
)

func (s ItemStatus) check() error {
	switch s {
	case "", ItemInProgress, ItemCompleted, ItemIncomplete, ItemFailed:
		return nil
	}
	return invalid("item status", "must be in_progress, completed, incomplete or failed")
}

// checkMarkers refuses markers that an entry of the type cannot have.
func checkMarkers(markers []schema.LogMarker, t ItemType) error {
	for i, marker := range markers {
		switch {
		case t == "":
			return invalid("marker", "is of content that the item log does not have; give it an item type")
		case !typeWord(string(marker), false) || len(marker) > maxItemType:
			return invalid("marker", "must be a word of letters, digits, _, - and .")
		case slices.Contains(markers[:i], marker):
			return invalid("marker", "is given twice")
		case t.Extension():
		case marker == schema.MarkRefusal && t != ItemMessage:
			return invalid("marker", "is a refusal, and the entry is no message")
		case (marker == schema.MarkReasoningSummary || marker == schema.MarkEncryptedContent) && t != ItemReasoning:
			return invalid("marker", "is of reasoning, and the entry is none")
		}
	}
	return nil
}

// Part is one part of content: an image, a file, a text. What a part holds stays in the
// process or at its reference.
//
// Source: seed 003 (content parts).
type Part struct {
	Kind     schema.PartKind // required
	Name     string          // such as the name of a file; shown, so nothing secret
	MimeType string
	Ref      schema.Ref // where the content is: a URI or an id; a text alone may have none
	Detail   string     // how closely the model looks at an image
	Text     string     // of a text: counted, digested and masked as that of the item
	// Bytes, Digest and Tokens are those of other parts; absent is unknown. A part of
	// unknown size leaves that of its item unknown, too. Make a digest with
	// [schema.Key.Digest].
	Bytes     *int64
	Digest    string
	Tokens    *int64
	Estimator string // what counted the tokens; required with them
}

// check refuses a part that cannot be recorded. Its error is an [*InvalidError].
func (p Part) check() error {
	ref, text := strings.ToLower(p.Ref.ID()), p.Kind == schema.PartText
	switch {
	case p.Kind == "":
		return invalid("part kind", `must be given, such as "image"`)
	case strings.HasPrefix(ref, "data:"):
		return invalid("part ref", "is the content itself; store it elsewhere and refer to it")
	case !text && p.Text != "":
		return invalid("part text", "is content of a part that is no text; refer to it in Ref")
	case !text && p.Ref == "":
		return invalid("part ref", "must say where the content is")
	case text && p.Ref == "" && p.Text == "":
		return invalid("part text", "must be given, or a Ref")
	case p.Text != "" && (p.Bytes != nil || p.Tokens != nil || p.Digest != ""):
		return invalid("part size", "and digest of a text are counted; leave them out")
	case p.Bytes != nil && *p.Bytes < 0 || p.Tokens != nil && *p.Tokens < 0:
		return invalid("part size", "must be from 0; leave it out where it is unknown")
	case (p.Tokens != nil) != (p.Estimator != ""):
		return invalid("part estimator", "and tokens must be given together, or neither")
	}
	return nil
}

// parts is what the parts of one content come to.
type parts struct {
	list   []schema.Part
	hits   []redact.Hit
	tokens int  // of those that are known
	sized  bool // whether tokens are those of all
	bytes  int64
	full   bool // whether bytes are those of all
}

// sumParts counts, digests and masks the texts among parts, and adds up all sizes. Its
// error is an [*InvalidError].
func sumParts(c Config, model string, of []Part, guard *redact.Guard) (parts, error) {
	all := parts{sized: true, full: true}
	for _, p := range of {
		if err := p.check(); err != nil {
			return parts{}, err
		}
		fact := schema.Part{
			PartKind: string(p.Kind), Name: p.Name, MimeType: p.MimeType, Ref: p.Ref, Detail: p.Detail,
			ByteSize: p.Bytes, Digest: p.Digest, Tokens: p.Tokens, Estimator: p.Estimator,
		}
		if p.Text != "" {
			text, hits := guard.Mask(p.Text)
			count := c.Counter.Count(model, text)
			all.hits = append(all.hits, hits...)
			fact.ByteSize, fact.Digest = new(int64(len(text))), c.Key.Digest([]byte(text))
			fact.Tokens, fact.Estimator = new(int64(count.Tokens)), count.Estimator
		}
		if fact.Tokens == nil {
			all.sized = false
		} else {
			all.tokens += int(*fact.Tokens)
		}
		if fact.ByteSize == nil {
			all.full = false
		} else {
			all.bytes += *fact.ByteSize
		}
		all.list = append(all.list, fact)
	}
	return all, nil
}

// describe completes an item whose text alone was counted. Its digest covers the text's
// and the parts' digests, or references where a part has no digest.
func (p parts) describe(key schema.Key, item *schema.Item) {
	item.Parts = p.list
	if len(p.list) == 1 && *item.ByteSize == 0 {
		item.MimeType, item.ContentRef = p.list[0].MimeType, p.list[0].Ref
	}
	named := []string{item.ContentDigest}
	for _, part := range p.list {
		if part.Digest != "" {
			named = append(named, part.Digest)
		} else {
			named = append(named, part.Ref.ID())
		}
	}
	item.ContentDigest = key.Digest([]byte(strings.Join(named, "\n")))
	item.TokenEstimate = known(p.sized, *item.TokenEstimate+int64(p.tokens))
	item.ByteSize = known(p.full, *item.ByteSize+p.bytes)
}

// known is a number, or nil where it is not known.
func known(is bool, n int64) *int64 {
	if !is {
		return nil
	}
	return &n
}
