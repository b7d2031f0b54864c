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
}

func (b *boundary) check() Violations {
	scan := memberScan{data: b.event.Data, visit: b.visit}
	if !scan.run() {
		b.found = append(b.found, &Violation{CodeTooDeep, "/data", "more than " + strconv.Itoa(MaxDepth) + " levels", "refer to deep content instead of holding it"})
	}
	return b.found
}

func (b *boundary) refuse(s *memberScan, code Code, found, fix string) {
	b.found = append(b.found, &Violation{code, s.pointer(), found, fix})
}

func (b *boundary) visit(s *memberScan, m member) (free bool) {
	means := meaningOf(m.name)
	if means == nil {
		return b.compaction && m.depth == 1 && string(m.name) == "validation"
	}
	if m.depth == 1 && means.correlation != nil {
		b.checkCorrelation(s, m, means.correlation)
	}
	b.checkStatus(s, m, means)
	if b.missing {
		b.checkPermission(s, m, means)
	}
	if b.summary {
		b.checkAnswer(s, m, means)
	}
	return means.free
}

// checkStatus is rule 1: context does not own runtime status.
func (b *boundary) checkStatus(s *memberScan, m member, means *meaning) {
	switch {
	case means.status && m.value[0] != 'n':
		b.refuse(s, CodeRuntimeStatus, "a member named "+string(m.name), notOurs)
	case m.free || b.ownVocabulary(m):
	case means.statusFlag && m.value[0] == 't':
		b.refuse(s, CodeRuntimeStatus, string(m.name)+" true", notOurs)
	case means.statusField && m.holds(valuesOfStatus, valuesOfEvents),
		means.eventField && m.holds(valuesOfEvents, nil):
		text, _ := m.text()
		b.refuse(s, CodeRuntimeStatus, string(m.name)+" "+strconv.Quote(clip(text)), notOurs)
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
		return string(m.name) == "status" && slices.Contains(logStatuses, text)
	case TypePressureApplied:
		return string(m.name) == "outcome" && PressureOutcome(text) == OutcomeFailed
	}
	return false
}

// logStatuses are the item statuses of seed 003.
var logStatuses = []string{"in_progress", "completed", "incomplete", "failed"}

// checkPermission is rule 2: a gap is a question, and its record answers
// nobody's request for permission.
func (b *boundary) checkPermission(s *memberScan, m member, means *meaning) {
	const fix = "leave permission to the policy engine or the runtime, and refer to its decision in policy_refs or resolution_refs"
	switch {
	case means.permission && m.says():
		b.refuse(s, CodePermission, "a member named "+string(m.name), fix)
	case means.permissionField && !m.free && m.holds(valuesOfGrants, nil):
		text, _ := m.text()
		b.refuse(s, CodePermission, string(m.name)+" "+strconv.Quote(clip(text)), fix)
	}
}

// checkAnswer is rule 3: a summary stands for its source window and is never
// what the agent answered.
func (b *boundary) checkAnswer(s *memberScan, m member, means *meaning) {
	const fix = "record the summary as context; the answer is the runtime's"
	switch {
	case means.answer && m.says():
		b.refuse(s, CodeAnswer, "a member named "+string(m.name), fix)
	case means.answerField && !m.free && m.holds(valuesOfAnswer, nil):
		text, _ := m.text()
		b.refuse(s, CodeAnswer, string(m.name)+" "+strconv.Quote(clip(text)), fix)
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
	word := foldInto(room[:0], []byte(text))
	return set[string(word)] || other[string(word)]
}

// checkCorrelation is rule 6: an id at the top level of data must be the id
// that the attributes carry. The resource_id of a resource fact names the
// resource, while the attribute resourceid names the data subject.
func (b *boundary) checkCorrelation(s *memberScan, m member, field *CorrelationField) {
	if m.value[0] == 'n' || field.Attribute == "resourceid" && (b.kind == TypeResourceResolved || b.kind == TypeResourceAccessed) {
		return
	}
	have := *field.Of(&b.event.Correlation)
	text, isString := m.text()
	if isString && text == have {
		return
	}
	said := "data says " + strconv.Quote(clip(text))
	if !isString {
		said = "data says what is not a string"
	}
	b.refuse(s, CodeIDMismatch, said+", attribute "+field.Attribute+" says "+strconv.Quote(clip(have)),
		"send the id as the attribute "+field.Attribute+" too")
}
