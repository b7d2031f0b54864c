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

// MaxNativeID is the longest native id, in bytes. MaxNativeID limits the size of ids, and of
// facts that list many ids. Native ids have about 40 bytes.
const MaxNativeID = 128

// ValidID reports whether a native id can be an attribute and a reference.
func ValidID(id string) bool { return len(id) <= MaxNativeID && printable(id) }

// printable is ValidID without the length limit. printable checks ids that contain a native id.
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

// Refused returns a problem when one of the ids is not valid.
func Refused(ids ...NativeID) *LineError {
	for _, n := range ids {
		if !ValidID(n.ID) {
			return NewLineError(ReasonBadID, fmt.Sprintf("%s is longer than %d bytes or holds control characters or quotes", n.Member, MaxNativeID))
		}
	}
	return nil
}

// Usable returns the id, or "" for an id that is not valid. An id that is not valid is a problem
// of the line.
func (w *Writer) Usable(line int, member, id string) string {
	if err := Refused(NativeID{member, id}); err != nil {
		w.Problem(line, err)
		return ""
	}
	return id
}

// eventID returns the id of a fact of the thread. eventID returns false where a string is not
// valid for the id or for another attribute of the fact. All strings that a parser takes from a
// log pass this check. No part of a name contains the separator. Two facts therefore have the
// same id only if they have the same type and name.
func (w *Writer) eventID(t *Thread, fact schema.Fact, toolCall string, name []string) (uuid.UUID, bool) {
	kind := string(fact.EventType())
	if checked := (checkedPlace{t.place, true}); t.checked != checked {
		for _, id := range [...]string{t.Key.Session, t.Key.Thread, t.Turn, t.Task, t.ParentRun, t.RootRun} {
			if !printable(id) {
				return uuid.UUID{}, false
			}
		}
		t.checked = checked
	}
	if !printable(toolCall) || !printable(fact.RecordID()) {
		return uuid.UUID{}, false
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

// nameBased returns the UUID of version 5 of a name that follows its namespace, like
// [uuid.NewSHA1].
func nameBased(name []byte) (id uuid.UUID) {
	sum := sha1.Sum(name)
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 5<<4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id
}

// Quoted returns a record type that is safe to print.
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
