package schema

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// These are the closed lists of boundary rules 1 to 3. Words are compared without case and
// without "_", "-", "." and spaces. For example, turn_status, turnStatus and "Turn Status" are the
// same word. An event of any type is refused if one of these conditions holds:
//
//   - a member has a name of StatusNames, and its value is not null;
//   - a member has the name of a status field, or of a record with a status, and its value is a
//     string of StatusValues;
//   - a member has the name of an event field, and its value combines a record and a status, such
//     as "turn.completed";
//   - a member has the name of a status value, and its value is true.
//
// Only the first condition applies below metadata and the other members with foreign content.
var (
	// withStatus names the records whose status and state a runtime owns.
	withStatus = []string{"turn", "task", "run", "step", "attempt", "tool", "tool_call", "tool_use", "action", "approval", "permission"}
	// withStatusOnly names the records whose status a runtime owns. Their state may be context.
	withStatusOnly = []string{"session", "thread", "agent", "subagent", "runtime", "workflow"}

	statusAspects = []string{"status", "outcome", "completed", "completed_at", "finished", "finished_at", "failed", "failed_at",
		"succeeded", "succeeded_at", "cancelled", "cancelled_at", "canceled", "canceled_at", "aborted", "approved", "approved_at", "approved_by",
		"denied", "denied_at", "denied_by", "rejected", "granted", "granted_at", "granted_by"}
	stateAspects = []string{"state", "verdict", "decision", "success", "failure"}

	statusFields = []string{"status", "state", "outcome", "result", "decision", "verdict", "phase", "disposition"}
	eventFields  = []string{"type", "event", "event_type", "kind"}
	statusValues = []string{"complete", "completed", "done", "finished", "succeeded", "success", "successful",
		"failed", "failure", "error", "errored", "cancelled", "canceled", "aborted", "timed_out",
		"approved", "denied", "rejected", "granted"}
	statusFlags = []string{"completed", "failed", "succeeded", "cancelled", "canceled", "aborted", "approved", "denied", "rejected", "granted",
		"is_completed", "is_failed", "is_succeeded", "is_cancelled", "is_canceled", "is_aborted", "is_approved", "is_denied", "is_rejected", "is_granted"}

	// freeFields names the members with content of other programs or of the provider.
	freeFields = []string{"metadata", "local_metadata", "inherited_metadata", "content", "provider_usage"}

	// permissionNames names the members that grant a permission. permissionValues lists the values
	// that grant a permission in a member of permissionFields.
	permissionNames = []string{"permission_granted", "permissions_granted", "granted_permission", "granted_permissions", "permission_grant", "permission_grants",
		"grant", "grants", "grant_id", "granted", "granted_by", "granted_at", "approved", "approved_by", "approved_at", "approval_granted", "approval_id",
		"authorized", "authorised", "authorized_by", "authorised_by", "authorization", "authorisation",
		"allowed", "allowed_actions", "allow", "allowed_by", "permitted", "permitted_actions", "unblocked_actions", "effective_grants"}
	permissionFields = append([]string{"permission", "permissions", "approval", "access", "resolution", "answer", "response"}, statusFields...)
	permissionValues = []string{"granted", "grant", "approved", "approve", "allowed", "allow", "authorized", "authorised", "permitted",
		"permission_granted", "approval_granted", "access_granted"}

	answerNames = []string{"answer", "is_answer", "final_answer", "is_final_answer", "final_answer_text", "answer_text", "final_text", "final_response",
		"is_final_response", "final_message", "final_output"}
	answerFields = []string{"summary_kind", "context_kind", "kind", "type", "role", "purpose", "content_kind", "output_kind", "marked_as", "use_as",
		"replacement_policy", "method", "item_type"}
	answerValues = []string{"answer", "final", "final_answer", "final_response", "final_message", "final_output", "assistant_answer", "turn_answer"}
)

// A BoundaryList is one of the closed lists of the boundary rules, for documentation.
type BoundaryList struct {
	Rule  int      `json:"rule"`
	Holds string   `json:"holds"`
	Words []string `json:"words"`
}

// BoundaryLists returns the closed lists of boundary rules 1 to 3. Words are
// compared without case and without "_", "-", "." and spaces.
func BoundaryLists() []BoundaryList {
	lists := []BoundaryList{
		{1, "names of members that declare runtime status, at any depth, metadata included", statusNames()},
		{1, "names of members whose string value is checked", slices.Concat(statusFields, withStatus, withStatusOnly)},
		{1, "string values that declare runtime status there", statusValues},
		{1, "names of members whose value is checked for an event of a runtime, such as turn.completed", eventFields},
		{1, "names of members that declare runtime status when true", statusFlags},
		{1, "names of members below which only the first list applies", freeFields},
		{2, "names of members that grant permission in a missing-context record, metadata included", permissionNames},
		{2, "names of members whose string value is checked in a missing-context record", permissionFields},
		{2, "string values that grant permission there", permissionValues},
		{3, "names of members that mark a compaction or summary as an answer, metadata included", answerNames},
		{3, "names of members whose string value is checked in a compaction or summary", answerFields},
		{3, "string values that mark an answer there", answerValues},
	}
	for i := range lists {
		lists[i].Words = slices.Clone(lists[i].Words)
	}
	return lists
}

func statusNames() []string {
	names := []string{"completion_status", "approval_granted", "permission_granted"}
	for _, owner := range withStatus {
		for _, aspect := range slices.Concat(statusAspects, stateAspects) {
			names = append(names, owner+"_"+aspect)
		}
	}
	for _, owner := range withStatusOnly {
		for _, aspect := range statusAspects {
			names = append(names, owner+"_"+aspect)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// A meaning lists the rules that concern a member's name. No rule concerns a name with the zero
// meaning.
type meaning struct {
	status, statusField, eventField, statusFlag bool
	permission, permissionField                 bool
	answer, answerField                         bool
	free                                        bool
	correlation                                 *CorrelationField
}

// meanings is keyed by folded names. ownNames is keyed by the unchanged names of this package's
// types. Most members therefore need one look-up and no folding. A name that no rule concerns has
// the value nil.
var (
	meanings       = listedMeanings()
	ownNames       = ownMeanings()
	valuesOfStatus = foldedSet(statusValues)
	valuesOfEvents = runtimeEvents()
	valuesOfGrants = foldedSet(permissionValues)
	valuesOfAnswer = foldedSet(answerValues)
)

func listedMeanings() map[string]*meaning {
	m := make(map[string]*meaning)
	mark := func(words []string, set func(*meaning)) {
		for _, word := range words {
			key := fold(word)
			if m[key] == nil {
				m[key] = &meaning{}
			}
			set(m[key])
		}
	}
	mark(statusNames(), func(m *meaning) { m.status = true })
	mark(slices.Concat(statusFields, withStatus, withStatusOnly), func(m *meaning) { m.statusField = true })
	mark(eventFields, func(m *meaning) { m.eventField = true })
	mark(statusFlags, func(m *meaning) { m.statusFlag = true })
	mark(freeFields, func(m *meaning) { m.free = true })
	mark(permissionNames, func(m *meaning) { m.permission = true })
	mark(permissionFields, func(m *meaning) { m.permissionField = true })
	mark(answerNames, func(m *meaning) { m.answer = true })
	mark(answerFields, func(m *meaning) { m.answerField = true })
	return m
}

// ownMeanings adds the correlation ids, which are compared without folding.
func ownMeanings() map[string]*meaning {
	m := make(map[string]*meaning)
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				if name := jsonName(f); name != "" {
					m[name] = meanings[fold(name)]
				}
				add(f.Type)
			}
		}
	}
	for _, t := range Types() {
		add(reflect.TypeOf(t.New()))
	}
	for i := range CorrelationFields {
		f := &CorrelationFields[i]
		known := meaning{correlation: f}
		if listed := meanings[fold(f.Column)]; listed != nil {
			known = *listed
			known.correlation = f
		}
		m[f.Column] = &known
	}
	return m
}

// runtimeEvents returns the words that combine a record with a status, such as "turn.completed".
func runtimeEvents() map[string]bool {
	words := make(map[string]bool)
	for _, owner := range slices.Concat(withStatus, withStatusOnly) {
		for _, value := range statusValues {
			words[fold(owner+"_"+value)] = true
		}
	}
	return words
}

func foldedSet(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[fold(word)] = true
	}
	return set
}

func meaningOf(name []byte) *meaning {
	if known, own := ownNames[string(name)]; own {
		return known
	}
	var room [longestWord]byte
	return meanings[string(foldInto(room[:0], name))]
}

// longestWord is the maximum length of a folded word. A test compares it with the lists.
const longestWord = 32

func fold(word string) string { return string(foldInto(nil, []byte(word))) }

// foldInto appends word in lower case without separators. For a word longer than every list
// entry, it returns the empty word.
func foldInto(b, word []byte) []byte {
	for _, c := range word {
		switch {
		case c == '_', c == '-', c == '.', c == ' ':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if len(b) == longestWord {
			return b[:0]
		}
		b = append(b, c)
	}
	return b
}

// checkMembers checks the rules for the members of the data: 1, 2, 3 and 6.
func checkMembers(e *Event, fact Fact) Violations {
	b := boundary{ruling: ruling{event: e, concerns: concernsOf(fact)}}
	return b.check()
}

// concerns lists the rules that apply to the members of a fact, in addition to rule 1.
type concerns struct {
	kind                         Type
	missing, summary, compaction bool
}

func concernsOf(fact Fact) concerns {
	c := concerns{kind: fact.EventType()}
	switch f := fact.(type) {
	case *MissingDetected, *MissingRequested, *MissingResolved:
		c.missing = true
	case *CompactionStarted, *CompactionCompleted, *CompactionFailed, *CompactionDiscarded:
		c.summary, c.compaction = true, true
	case *SummaryCreated, *SummaryRefreshed:
		c.summary = true
	case *ItemAdded:
		c.summary = f.ContentMode == ContentSummary
	case *ItemUpdated:
		c.summary = f.ContentMode == ContentSummary
	}
	return c
}

// checkStatusAttributes checks rule 1 outside the data. checkStatusAttributes checks the names of
// extensions, and the type of an event that this version does not know.
func checkStatusAttributes(e *Event) (found Violations) {
	refuse := func(pointer, what string) {
		found = append(found, &Violation{CodeRuntimeStatus, pointer, strconv.Quote(what), notOurs})
	}
	kind := e.EventType()
	if !kind.Known() && valuesOfEvents[fold(strings.TrimPrefix(string(kind), "context."))] {
		refuse("/type", Clip(e.Type))
	}
	for name := range e.Extensions {
		if m := meanings[fold(name)]; m != nil && m.status {
			refuse("/"+name, name)
		}
	}
	slices.SortFunc(found, func(a, b *Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return found
}

const notOurs = "leave it to the runtime: context records what was in the window, and refers to a turn, task or tool call by its id"

// A memberScan is the position of a [boundary] walk. The walk visits the members of JSON text at
// every depth, in the order of the text. The text must be valid JSON; the decoder has checked it.
// The walk is therefore one pass over the bytes without tokens, allocations or recursion. The
// walk keeps at most MaxDepth frames.
type memberScan struct {
	data   []byte
	depth  int
	frames [MaxDepth]frame
}

// A frame is one object or array that is open.
type frame struct {
	from, to uint32 // offsets of the last member's name, without the quotes
	index    uint32 // index of the current element of an array
	object   bool
	free     bool
}

// A member is one name and value of an object. Both alias the text.
type member struct {
	name  []byte // without escapes
	value []byte // text from the value to the end of the document
	depth int    // 1 at the top level
	free  bool   // whether it is below a free member
}

// walk visits every member and reports whether the text nests within MaxDepth. walk stops at the
// first deeper level.
func (b *boundary) walk() bool {
	s := &b.scan
	for i := 0; i < len(s.data); i++ {
		switch s.data[i] {
		case '{', '[':
			if s.depth == MaxDepth {
				return false
			}
			free := s.depth > 0 && s.frames[s.depth-1].free
			s.frames[s.depth] = frame{object: s.data[i] == '{', free: free}
			s.depth++
		case '}', ']':
			s.depth--
		case ',':
			s.frames[s.depth-1].index++
		case '"':
			end := StringEnd(s.data, i)
			if s.depth > 0 && s.frames[s.depth-1].object {
				end = b.member(i+1, end)
			}
			i = end
		}
	}
	return true
}

// member visits the member with the name data[from:to]. member returns the offset of the last
// processed byte.
func (b *boundary) member(from, to int) int {
	s := &b.scan
	at := to + 1
	for s.data[at] != ':' {
		at++
	}
	for at++; s.data[at] <= ' '; at++ {
	}
	top := &s.frames[s.depth-1]
	top.from, top.to = uint32(from), uint32(to)
	inherited := s.depth > 1 && s.frames[s.depth-2].free
	m := member{name: Unquoted(s.data[from-1 : to+1]), value: s.data[at:], depth: s.depth, free: inherited}
	top.free = b.visit(m) || inherited
	if s.data[at] == '"' {
		return StringEnd(s.data, at)
	}
	return at - 1
}

// StringEnd returns the offset of the quote that closes the string at start.
func StringEnd(data []byte, start int) int {
	for at := start + 1; ; at++ {
		at += bytes.IndexByte(data[at:], '"')
		escapes := 0
		for data[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

// pointer returns the JSON Pointer of the current member, below /data.
func (s *memberScan) pointer() string {
	var b strings.Builder
	b.WriteString("/data")
	for i := range s.frames[:s.depth] {
		b.WriteByte('/')
		if f := &s.frames[i]; f.object {
			b.WriteString(pointerToken(Clip(string(Unquoted(s.data[f.from-1 : f.to+1])))))
		} else {
			b.WriteString(strconv.Itoa(int(f.index)))
		}
	}
	return b.String()
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointerToken escapes one token of a JSON Pointer.
func pointerToken(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return pointerEscapes.Replace(s)
}

// text returns the string value of the member. text returns false if the value is not a string.
func (m member) text() ([]byte, bool) {
	if m.value[0] != '"' {
		return nil, false
	}
	return Unquoted(m.value[:StringEnd(m.value, 0)+1]), true
}

// Unquoted returns the text of a valid JSON string. Without escapes, the result aliases raw.
func Unquoted(raw []byte) []byte {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, _ := jsontext.AppendUnquote(nil, raw)
	return text
}

// says reports whether the member's value asserts a fact. The values null and false assert
// nothing.
func (m member) says() bool { return m.value[0] != 'n' && m.value[0] != 'f' }

// boundary is the walk through the data of one event.
type boundary struct {
	ruling
	scan memberScan
}

// A ruling collects the violations in the members of one event. A ruling does not know the places
// of the members.
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

// visit is called for every member. The result true marks the values below the member as free.
// Inner frames inherit the mark.
func (b *boundary) visit(m member) (free bool) {
	means := meaningOf(m.name)
	if means != nil {
		before := len(b.found)
		b.apply(m, means)
		for _, v := range b.found[before:] {
			v.Pointer = b.scan.pointer()
		}
	}
	return means.freeBelow(b.compaction, m.depth, m.name)
}

// freeBelow reports whether the values below a member are foreign content.
func (m *meaning) freeBelow(compaction bool, depth int, name []byte) bool {
	if m == nil {
		return compaction && depth == 1 && string(name) == "validation"
	}
	return m.free
}

// apply checks one member by the rules that concern its name.
func (r *ruling) apply(m member, means *meaning) {
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

// checkStatus checks rule 1: context does not own runtime status.
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

// ownVocabulary reports whether the member has the contract's own words: the item status of the
// log and the outcome of a rung. The other vocabularies of the standard share no word with the
// lists.
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

// checkPermission checks rule 2: a gap is a question. Its record grants no permission.
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

// checkAnswer checks rule 3: a summary represents its source window. A summary is never the
// agent's answer.
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

// holds reports whether the member is a string of one of the two sets. The keys of the sets are
// folded words.
func (m member) holds(set, other map[string]bool) bool {
	text, ok := m.text()
	if !ok {
		return false
	}
	var room [longestWord]byte
	word := foldInto(room[:0], text)
	return set[string(word)] || other[string(word)]
}

// checkCorrelation checks rule 6: an id at the top level of data equals the id in the attributes.
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
		said = "data has a value that is not a string"
	}
	r.refuse(CodeIDMismatch, said+", attribute "+field.Attribute+" says "+quote(have),
		"send the id as the attribute "+field.Attribute+" too")
}
