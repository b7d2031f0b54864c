// Package telling reads from the source of an imported fact how its log was told. Several tellings of
// a log have the ids of events and records in common, but not the source, so they do not conflict.
package telling

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// ImportSource begins the source of every fact that an importer made from a log.
const ImportSource = "urn:ctxledger:import:"

// Telling says how an importer told a log. A source is the source of the log and the telling:
//
//	urn:ctxledger:import:<format>:<session>;r<revision>;<text or bare>;<digest of the options>
//
// The options include the mark of a log that was rewritten. The source of a log has no semicolon. In
// sources of revision 1 the telling is absent.
type Telling struct {
	Log      string // source of the log
	Revision int    // of the importer
	Texts    bool   // the facts hold the texts of the items
}

// Parse splits the source of an imported fact. It returns false for any other source.
func Parse(source string) (Telling, bool) {
	log, rest, named := strings.Cut(source, ";")
	if !strings.HasPrefix(source, ImportSource) {
		return Telling{}, false
	}
	if !named {
		return Telling{Log: log, Revision: 1}, true
	}
	revision, rest, _ := strings.Cut(rest, ";")
	n, _ := strconv.Atoi(strings.TrimPrefix(revision, "r"))
	return Telling{Log: log, Revision: n, Texts: strings.HasPrefix(rest, "text;")}, true
}

// sliceMark comes in the source of a slice between the source of the log and the name of the first record.
// countsMark comes between the source of a log and the name of what counts its calls.
const sliceMark, countsMark = ":from:", ":counts:"

// Slice returns the source of a slice of a log. A slice begins in the middle, with a record.
func Slice(log, record string) string { return log + sliceMark + url.PathEscape(record) }

// Counts returns the source of calls that the program counted and whose records a log lacks. It tells a slice
// of the session without records, since a later log can have the records.
func Counts(log, name string) string { return log + countsMark + url.PathEscape(name) }

// IsSlice reports whether the log is a slice.
func (t Telling) IsSlice() bool { return strings.Contains(t.Log, sliceMark) || t.isCounts() }

func (t Telling) isCounts() bool { return strings.Contains(t.Log, countsMark) }

// whole returns the log that a slice is of, or the log itself.
func (t Telling) whole() string {
	log, _, _ := strings.Cut(t.Log, sliceMark)
	log, _, _ = strings.Cut(log, countsMark)
	return log
}

// namesSlices reports whether the importer told slices of a log from the whole log.
func (t Telling) namesSlices() bool {
	return t.Revision > 2 || t.Revision == 2 && !strings.HasPrefix(t.Log, ImportSource+"openhands:") || t.IsSlice()
}

// Renames reports whether the log is a slice of a log that o may have told for the whole log.
func (t Telling) Renames(o Telling) bool {
	return t.IsSliceOf(o) && t.namesSlices() && !o.namesSlices()
}

// IsSliceOf reports whether the log is a slice with records of the log that o tells.
func (t Telling) IsSliceOf(o Telling) bool {
	return strings.HasPrefix(t.Log, o.Log+sliceMark) && !t.isCounts()
}

// Compare orders tellings of one log that reach equally far. The one that counts comes last.
func (t Telling) Compare(o Telling) int {
	texts := func(t Telling) int {
		if t.Texts {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(t.Revision, o.Revision), cmp.Compare(texts(t), texts(o)))
}
