package producer

import (
	"slices"
	"strings"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// ItemType is the type of an entry of the item log. The type is from the seed, or an
// extension of the form prefix:name, such as "openrouter:web_search".
type ItemType string

// The item types of seed 003.
const (
	ItemMessage            ItemType = "message"
	ItemFunctionCall       ItemType = "function_call"
	ItemFunctionCallOutput ItemType = "function_call_output"
	ItemReasoning          ItemType = "reasoning"
)

var seedItemTypes = []ItemType{ItemMessage, ItemFunctionCall, ItemFunctionCallOutput, ItemReasoning}

// maxItemType is the largest length of a type in bytes.
const maxItemType = 128

// ParseItemType accepts the types of the seed and extensions. Prefix and name of an
// extension begin with a letter. Letters, digits, _, - and . of ASCII follow, and in the
// name also colons. The error is an [*InvalidError].
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
		return "", invalid(field, "must be a type of the seed or an extension of the form prefix:name")
	case len(s) > maxItemType || !typeWord(prefix, false) || !typeWord(name, true):
		return "", invalid(field, "must have a prefix and a name of letters, digits, _, - and .")
	}
	return ItemType(s), nil
}

// Extension reports whether t is an extension and not a type of the seed.
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

// kindType returns the seed's type for a kind of item in the conversation.
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

// ItemStatus is the progress of a log item when the item was appended. The runtime's status
// is separate. Empty means unknown.
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

// checkMarkers refuses markers that do not fit the type of the entry.
func checkMarkers(markers []schema.LogMarker, t ItemType) error {
	for i, marker := range markers {
		switch {
		case t == "":
			return invalid("marker", "is on content that has no entry in the item log; give the content an item type")
		case !typeWord(string(marker), false) || len(marker) > maxItemType:
			return invalid("marker", "must be a word of letters, digits, _, - and .")
		case slices.Contains(markers[:i], marker):
			return invalid("marker", "is given twice")
		case t.Extension():
		case marker == schema.MarkRefusal && t != ItemMessage:
			return invalid("marker", "is a refusal, but the entry is not a message")
		case (marker == schema.MarkReasoningSummary || marker == schema.MarkEncryptedContent) && t != ItemReasoning:
			return invalid("marker", "is of reasoning, but the entry is not reasoning")
		}
	}
	return nil
}

// Part is one part of content: an image, a file or a text. The content of a part stays in
// the process or at its reference.
//
// Source: seed 003 (content parts).
type Part struct {
	Kind     schema.PartKind // required
	Name     string          // for example a file name; shown, must hold no secrets
	MimeType string
	Ref      schema.Ref // location of the content: a URI or an id; optional for a text
	Detail   string     // level of detail at which the model reads an image
	Text     string     // of a text: counted, digested and masked like the item's text
	// Bytes, Digest and Tokens are for parts other than texts; absent means unknown. The
	// size of an item is unknown if the size of a part is unknown. Make a digest with
	// [schema.Key.Digest].
	Bytes     *int64
	Digest    string
	Tokens    *int64
	Estimator string // counter of the tokens; required with Tokens
}

// check refuses a part that cannot be recorded. Its error is an [*InvalidError].
func (p Part) check() error {
	ref, text := strings.ToLower(p.Ref.ID()), p.Kind == schema.PartText
	switch {
	case p.Kind == "":
		return invalid("part kind", `must be given, such as "image"`)
	case strings.HasPrefix(ref, "data:"):
		return invalid("part ref", "is the content itself; store the content elsewhere and refer to it")
	case !text && p.Text != "":
		return invalid("part text", "is given, but the part is not a text; refer to the content in Ref")
	case !text && p.Ref == "":
		return invalid("part ref", "must name the location of the content")
	case text && p.Ref == "" && p.Text == "":
		return invalid("part text", "must be given if Ref is empty")
	case p.Text != "" && (p.Bytes != nil || p.Tokens != nil || p.Digest != ""):
		return invalid("part size", "and digest must be empty for a text, because the client computes them")
	case p.Bytes != nil && *p.Bytes < 0 || p.Tokens != nil && *p.Tokens < 0:
		return invalid("part size", "must be 0 or more; leave an unknown size empty")
	case (p.Tokens != nil) != (p.Estimator != ""):
		return invalid("part estimator", "and tokens must be given together, or not at all")
	}
	return nil
}

// parts is the sum of the parts of one content.
type parts struct {
	list   []schema.Part
	hits   []redact.Hit
	tokens int  // sum of the known token counts
	sized  bool // whether tokens covers all parts
	bytes  int64
	full   bool // whether bytes covers all parts
}

// sumParts counts, digests and masks the texts of the parts, and adds all sizes. Its error
// is an [*InvalidError].
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

// describe adds the parts to an item with only a counted text. The digest covers the
// digests of the text and the parts, with the reference of a part that has no digest.
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

// known returns a pointer to n, or nil if n is unknown.
func known(is bool, n int64) *int64 {
	if !is {
		return nil
	}
	return &n
}
