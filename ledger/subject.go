package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/schema"
)

// ErrSubject means that a text names no subject of an erasure.
var ErrSubject = errors.New("not a subject of an erasure")

// Subject names whose content is to be erased. A bare id, or resource:ID, is a data subject:
// the resource that owns threads, of which every event has the resource_id. session:ID, run:ID,
// thread:ID and item:ID name the events of one of these; the events of an item are its
// versions, and not events that mention it. The zero Subject names nothing.
type Subject struct {
	Kind string // one of subjectKinds
	ID   string
}

const (
	subjectResource = "resource"
	subjectItem     = "item"
)

// IsItem reports whether s names an item. The erasure of an item writes a last, expired version
// in each of its sessions. References find that version.
func (s Subject) IsItem() bool { return s.Kind == subjectItem }

// subjectKinds are the kinds of subjects. All but the item are correlation ids.
var subjectKinds = []string{subjectResource, "session", "run", "thread", subjectItem}

// ParseSubject reads the form of [Subject.String], or a bare id of a data subject. An id that
// begins like a kind needs its own in front: resource:run:7. Errors: [ErrSubject].
func ParseSubject(text string) (Subject, error) {
	s := Subject{Kind: subjectResource, ID: text}
	if kind, id, ok := strings.Cut(text, ":"); ok && slices.Contains(subjectKinds, kind) {
		s = Subject{kind, id}
	}
	if strings.TrimSpace(s.ID) == "" {
		return Subject{}, fmt.Errorf("%w: %q: want the id of a data subject, or session:ID, run:ID, thread:ID or item:ID", ErrSubject, text)
	}
	return s, nil
}

// String returns the subject as facts have it: the bare id of a data subject, unless
// that would read as another kind.
func (s Subject) String() string {
	if s.Kind == subjectResource {
		if again, err := ParseSubject(s.ID); err == nil && again == s {
			return s.ID
		}
	}
	return s.Kind + ":" + s.ID
}

// IsZero reports whether s names nothing.
func (s Subject) IsZero() bool { return s == Subject{} }

// KeptTypes are the types of events that no erasure removes. A redaction has no content, and
// without it the value that it withholds could come back; the others are about the ledger.
var KeptTypes = []string{
	string(schema.TypeRedactionApplied), string(schema.TypeRedactionRevoked), string(schema.TypeErasureApplied), string(schema.TypeExported),
}

// Covers reports whether an event is of the subject and not of a type that stays.
func (s Subject) Covers(e *schema.Event) bool {
	if slices.Contains(KeptTypes, string(e.EventType())) {
		return false
	}
	switch s.Kind {
	case subjectResource:
		return e.ResourceID == s.ID
	case "session":
		return e.SessionID == s.ID
	case "run":
		return e.RunID == s.ID
	case "thread":
		return e.ThreadID == s.ID
	}
	return s.Kind == subjectItem && strings.HasPrefix(string(e.EventType()), ItemTypes) && e.Subject == s.ID
}

// ItemTypes begin the types of an item's versions.
const ItemTypes = "context.item."

// CoversRefused reports whether a quarantined message belongs to the subject. An event is
// judged by its attributes. Any other message belongs to the subject if a header is the id, if a
// string of its JSON is the id, or if its payload is not JSON and contains the id between other
// characters than letters and digits.
func (s Subject) CoversRefused(r Refusal) bool {
	if e, _ := schema.ParseMessage(r.Header, r.Data); e != nil {
		return s.Covers(e)
	}
	for _, values := range r.Header {
		if slices.Contains(values, s.ID) {
			return true
		}
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(r.Data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		switch {
		case err == io.EOF:
			return false
		case err != nil:
			return containsWord(r.Data, []byte(s.ID))
		case token.Kind() == '"' && token.String() == s.ID:
			return true
		}
	}
}

// containsWord reports whether text contains word without a letter or digit next to it.
func containsWord(text, word []byte) bool {
	partOfWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; ; from++ {
		i := bytes.Index(text[from:], word)
		if i < 0 {
			return false
		}
		from += i
		before, _ := utf8.DecodeLastRune(text[:from])
		after, _ := utf8.DecodeRune(text[from+len(word):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
	}
}

// erasedItem returns the id of the item that an erasure of one item erased. Facts name the item in
// their records. Older facts name it as their subject instead. An id that a redaction withholds is
// in no fact.
func erasedItem(f *schema.ErasureApplied) string {
	s, err := ParseSubject(f.ErasedSubject)
	switch {
	case err != nil || s.Kind != subjectItem:
		return ""
	case len(f.Records) > 0 && f.Records[0].ItemID != "":
		return f.Records[0].ItemID
	case proof.IsSubjectDigest(s.ID):
		return ""
	}
	return s.ID
}

// expired is the redaction state of the last version of an erased item.
const expired = "expired"
