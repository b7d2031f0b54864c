package schema

import (
	"slices"
	"strconv"
)

// boundary is one event's walk through its data.
type boundary struct {
	event                        *Event
	kind                         Type
	missing, summary, compaction bool
	found                        Violations
	scan                         memberScan
}

func (b *boundary) check() Violations {
	b.scan.data = b.event.Data
	if !b.walk() {
		b.found = append(b.found, &Violation{CodeTooDeep, "/data", "more than " + strconv.Itoa(MaxDepth) + " levels", "refer to deep content instead of holding it"})
	}
	return b.found
}

func (b *boundary) refuse(code Code, found, fix string) {
	b.found = append(b.found, &Violation{code, b.scan.pointer(), found, fix})
}

// visit is called for every member. Returning true marks what is below the
// member as free, which frames inherit.
func (b *boundary) visit(m member) (free bool) {
	means := meaningOf(m.name)
	if means == nil {
		return b.compaction && m.depth == 1 && string(m.name) == "validation"
	}
	if m.depth == 1 && means.correlation != nil {
		b.checkCorrelation(m, means.correlation)
	}
	b.checkStatus(m, means)
	if b.missing {
		b.checkPermission(m, means)
	}
	if b.summary {
		b.checkAnswer(m, means)
	}
	return means.free
}

// checkStatus is rule 1: context does not own runtime status.
func (b *boundary) checkStatus(m member, means *meaning) {
	switch {
	case means.status && m.value[0] != 'n':
		b.refuse(CodeRuntimeStatus, "a member named "+string(m.name), notOurs)
	case m.free || b.ownVocabulary(m):
	case means.statusFlag && m.value[0] == 't':
		b.refuse(CodeRuntimeStatus, string(m.name)+" true", notOurs)
	case means.statusField && m.holds(valuesOfStatus, valuesOfEvents),
		means.eventField && m.holds(valuesOfEvents, nil):
		text, _ := m.text()
		b.refuse(CodeRuntimeStatus, string(m.name)+" "+quote(string(text)), notOurs)
	}
}

// ownVocabulary reports whether the member is one whose words are the
// contract's own: the item status of the log and the outcome of a rung. The
// other vocabularies of the standard share no word with the lists.
func (b *boundary) ownVocabulary(m member) bool {
	if m.depth != 1 {
		return false
	}
	text, _ := m.text()
	switch b.kind {
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
func (b *boundary) checkPermission(m member, means *meaning) {
	const fix = "leave permission to the policy engine or the runtime, and refer to its decision in policy_refs or resolution_refs"
	switch {
	case means.permission && m.says():
		b.refuse(CodePermission, "a member named "+string(m.name), fix)
	case means.permissionField && !m.free && m.holds(valuesOfGrants, nil):
		text, _ := m.text()
		b.refuse(CodePermission, string(m.name)+" "+quote(string(text)), fix)
	}
}

// checkAnswer is rule 3: a summary stands for its source window and is never
// what the agent answered.
func (b *boundary) checkAnswer(m member, means *meaning) {
	const fix = "record the summary as context; the answer is the runtime's"
	switch {
	case means.answer && m.says():
		b.refuse(CodeAnswer, "a member named "+string(m.name), fix)
	case means.answerField && !m.free && m.holds(valuesOfAnswer, nil):
		text, _ := m.text()
		b.refuse(CodeAnswer, string(m.name)+" "+quote(string(text)), fix)
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
func (b *boundary) checkCorrelation(m member, field *CorrelationField) {
	if m.value[0] == 'n' {
		return
	}
	have := *field.Of(&b.event.Correlation)
	text, isString := m.text()
	if isString && string(text) == have {
		return
	}
	said := "data says " + quote(string(text))
	if !isString {
		said = "data says what is not a string"
	}
	b.refuse(CodeIDMismatch, said+", attribute "+field.Attribute+" says "+quote(have),
		"send the id as the attribute "+field.Attribute+" too")
}
