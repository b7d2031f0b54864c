package model

import (
	"crypto/sha1"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/google/uuid"
)

// MaxNativeID keeps ids, and with them facts that list many, small. Native ids
// have about 40 bytes.
const MaxNativeID = 128

// ValidID reports whether a native id can travel as an attribute and as a
// reference.
func ValidID(id string) bool { return len(id) <= MaxNativeID && printable(id) }

// printable is validID for an id of any length: one that a native id is a part
// of.
func printable(id string) bool {
	for i := range len(id) {
		switch c := id[i]; {
		case c >= utf8.RuneSelf:
			return !strings.HasPrefix(id, "{") && utf8.ValidString(id) &&
				!strings.ContainsFunc(id, func(r rune) bool { return unicode.IsControl(r) || r == '"' || r == '\\' })
		case c < ' ' || c == 0x7f || c == '"' || c == '\\':
			return false
		}
	}
	return !strings.HasPrefix(id, "{")
}

// NativeID is an id of a record, with the name of the member that holds it.
type NativeID struct{ Member, ID string }

// Refused returns a problem when one of the ids cannot travel.
func Refused(ids ...NativeID) *LineError {
	for _, n := range ids {
		if !ValidID(n.ID) {
			return NewLineError(ReasonBadID, fmt.Sprintf("%s is longer than %d bytes or holds control characters or quotes", n.Member, MaxNativeID))
		}
	}
	return nil
}

// Usable returns the id, and "" for one that cannot travel, which is a problem
// of the line.
func (w *Writer) Usable(line int, member, id string) string {
	if err := Refused(NativeID{member, id}); err != nil {
		w.Problem(line, err)
		return ""
	}
	return id
}

// eventID is the id of a fact of the thread, and false where it, or another
// attribute of the fact, would be made of a string that cannot travel. That is
// the one gate for what all parsers take from a log. As no part of a name holds
// the separator, two facts have the same id only where they have the same type
// and name.
func (w *Writer) eventID(t *Thread, fact schema.Fact, toolCall string, name []string) (uuid.UUID, bool) {
	kind := string(fact.EventType())
	for _, id := range [...]string{t.Key.Session, t.Key.Thread, t.Turn, t.Task, t.ParentRun, t.RootRun, toolCall, fact.RecordID()} {
		if !printable(id) {
			return uuid.UUID{}, false
		}
	}
	w.name = append(w.name[:0], w.tool.namespace[:]...)
	for _, part := range [...]string{w.Opts.Tenant, t.Key.Session, t.Key.Thread} {
		w.name = append(append(w.name, part...), 0)
	}
	w.name = append(w.name, kind...)
	for _, part := range name {
		if !printable(part) {
			return uuid.UUID{}, false
		}
		w.name = append(append(w.name, 0), part...)
	}
	return nameBased(w.name), true
}

// nameBased is the UUID of version 5 of a name behind its namespace, as
// [uuid.NewSHA1] makes it.
func nameBased(name []byte) (id uuid.UUID) {
	sum := sha1.Sum(name)
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 5<<4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// Quoted makes a record type safe to print.
func Quoted(kind string) string { return strconv.Quote(ShortText(kind, 64)) }

func IDText(value jsonscan.Span) string {
	switch value.Kind() {
	case '0':
		return ShortText(string(value), MaxNativeID)
	case '"':
		return jsonscan.TextOf(value)
	}
	return ""
}
