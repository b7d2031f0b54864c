package schema

import (
	"slices"
	"strconv"
)

// boundary is one event's walk through its data.
type boundary struct {
	ruling
	scan memberScan
}

// A ruling is what the rules have against the members of one event. It does
// not know where in the data they stand.
type ruling struct {
	concerns
	event *Event
	found Violations
}

func (b *boundary) check() Violations {
	b.scan.data = b.event.Data
	if !b.walk() {
		b.found = append(b.found, &Violation{CodeTooDeep, "/data", "more than " + strconv.Itoa(MaxDepth) + " levels", "refer to deep content instead of holding it"})
	}
	return b.found
}

func (r *ruling) refuse(code Code, found, fix string) {
	r.found = append(r.found, &Violation{Code: code, Found: found, Fix: fix})
}

// visit is called for every member. Returning true marks what is below the
// member as free, which frames inherit.
func (b *boundary) visit(m member) (free bool) {
	means := meaningOf(m.name)
	if means != nil {
		before := len(b.found)
		b.judge(m, means)
		for _, v := range b.found[before:] {
			v.Pointer = b.scan.pointer()
		}
	}
	return means.freeBelow(b.compaction, m.depth, m.name)
}

// freeBelow reports whether what stands below a member is somebody else's.
func (m *meaning) freeBelow(compaction bool, depth int, name []byte) bool {
	if m == nil {
		return compaction && depth == 1 && string(name) == "validation"
	}
	return m.free
}

// judge holds one member to the rules that its name concerns.
func (r *ruling) judge(m member, means *meaning) {
	if m.depth == 1 && means.correlation != nil {
		r.checkCorrelation(m, means.correlation)
	}
	r.checkStatus(m, means)
	if r.missing {
		r.checkPermission(m, means)
	}
	if r.summary {
		r.checkAnswer(m, means)
	}
}

// checkStatus is rule 1: context does not own runtime status.
func (r *ruling) checkStatus(m member, means *meaning) {
	switch {
	case means.status && m.value[0] != 'n':
		r.refuse(CodeRuntimeStatus, "a member named "+string(m.name), notOurs)
	case m.free || r.ownVocabulary(m):
	case means.statusFlag && m.value[0] == 't':
		r.refuse(CodeRuntimeStatus, string(m.name)+" true", notOurs)
	case means.statusField && m.holds(valuesOfStatus, valuesOfEvents),
		means.eventField && m.holds(valuesOfEvents, nil):
		text, _ := m.text()
		r.refuse(CodeRuntimeStatus, string(m.name)+" "+quote(string(text)), notOurs)
	}
}

// ownVocabulary reports whether the member is one whose words are the
// contract's own: the item status of the log and the outcome of a rung. The
// other vocabularies of the standard share no word with the lists.
func (r *ruling) ownVocabulary(m member) bool {
	if m.depth != 1 {
		return false
	}
	text, _ := m.text()
	switch r.kind {
	case TypeLogAppended:
		return string(m.name) == "status" && slices.Contains(logStatuses, string(text))
	case TypePressureApplied:
		return string(m.name) == "outcome" && PressureOutcome(text) == OutcomeFailed
	}
	return false
}

// logStatuses are the item statuses of seed 003.
var logStatuses = []string{"in_progress", "completed", "incomplete", "failed"}

// checkPermission is rule 2: a gap is a question, and its record answers
// nobody's request for permission.
func (r *ruling) checkPermission(m member, means *meaning) {
	const fix = "leave permission to the policy engine or the runtime, and refer to its decision in policy_refs or resolution_refs"
	switch {
	case means.permission && m.says():
		r.refuse(CodePermission, "a member named "+string(m.name), fix)
	case means.permissionField && !m.free && m.holds(valuesOfGrants, nil):
		text, _ := m.text()
		r.refuse(CodePermission, string(m.name)+" "+quote(string(text)), fix)
	}
}

// checkAnswer is rule 3: a summary stands for its source window and is never
// what the agent answered.
func (r *ruling) checkAnswer(m member, means *meaning) {
	const fix = "record the summary as context; the answer is the runtime's"
	switch {
	case means.answer && m.says():
		r.refuse(CodeAnswer, "a member named "+string(m.name), fix)
	case means.answerField && !m.free && m.holds(valuesOfAnswer, nil):
		text, _ := m.text()
		r.refuse(CodeAnswer, string(m.name)+" "+quote(string(text)), fix)
	}
}

// holds reports whether the member is a string that either set has. The sets
// are keyed by folded words.
func (m member) holds(set, other map[string]bool) bool {
	text, ok := m.text()
	if !ok {
		return false
	}
	var room [longestWord]byte
	word := foldInto(room[:0], text)
	return set[string(word)] || other[string(word)]
}

// checkCorrelation is rule 6: an id at the top level of data must be the id
// that the attributes carry.
func (r *ruling) checkCorrelation(m member, field *CorrelationField) {
	if m.value[0] == 'n' {
		return
	}
	have := *field.Of(&r.event.Correlation)
	text, isString := m.text()
	if isString && string(text) == have {
		return
	}
	said := "data says " + quote(string(text))
	if !isString {
		said = "data says what is not a string"
	}
	r.refuse(CodeIDMismatch, said+", attribute "+field.Attribute+" says "+quote(have),
		"send the id as the attribute "+field.Attribute+" too")
}
