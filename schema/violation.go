package schema

import "strings"

// Violation says what is wrong with an event: a stable code, the place as a
// JSON Pointer (into data, or the attribute's name), what was found and what
// to do. Found never holds content of an item.
type Violation struct {
	Code    Code   `json:"code"`
	Pointer string `json:"pointer,omitempty"`
	Found   string `json:"found,omitempty"`
	Fix     string `json:"fix,omitempty"`
}

// Code is a stable name of a kind of violation.
type Code string

// The codes. They never change their meaning.
const (
	CodeNotJSON         Code = "not_json"
	CodeNotCloudEvent   Code = "not_a_cloudevent"
	CodeMalformed       Code = "malformed"
	CodeMode            Code = "content_mode"
	CodeBatch           Code = "batch"
	CodeDuplicate       Code = "duplicate_attribute"
	CodeAttribute       Code = "attribute"
	CodeRequired        Code = "required"
	CodeType            Code = "type"
	CodeUnknownType     Code = "unknown_type"
	CodeTooLarge        Code = "too_large"
	CodeRange           Code = "range"
	CodeIDMismatch      Code = "id_mismatch"
	CodeNoReason        Code = "omission_without_reason"
	CodeNotConserved    Code = "candidates_not_conserved"
	CodeNoSourceWindow  Code = "no_source_window"
	CodeNoPolicy        Code = "redaction_without_policy"
	CodeWithheld        Code = "withheld_content"
	CodeReintroduced    Code = "redaction_reintroduced" // of the projector: a value that an earlier redaction withholds
	CodeIDConflict      Code = "id_conflict"
	CodeTenantMismatch  Code = "tenant_mismatch"  // of the projector: the subject is another tenant's
	CodeSubjectMismatch Code = "subject_mismatch" // of the projector: the subject is of another runtime, bucket or type
	CodeTooDeep         Code = "too_deep"
	CodeRuntimeStatus   Code = "runtime_status"
	CodePermission      Code = "permission"
	CodeAnswer          Code = "marked_as_answer"
)

// Error returns the violation as one line.
func (v *Violation) Error() string {
	var b strings.Builder
	b.WriteString(string(v.Code))
	if v.Pointer != "" {
		b.WriteString(" at " + v.Pointer)
	}
	if v.Found != "" {
		b.WriteString(": " + v.Found)
	}
	if v.Fix != "" {
		b.WriteString("; " + v.Fix)
	}
	return b.String()
}

// Violations is everything that is wrong with one event. It is an error when
// it is not empty.
type Violations []*Violation

func (vs Violations) Error() string {
	lines := make([]string, len(vs))
	for i, v := range vs {
		lines[i] = v.Error()
	}
	return strings.Join(lines, "\n")
}
