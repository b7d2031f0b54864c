package verify

import (
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// Question is the subject of a verdict.
type Question string

// The questions, in the order of a [Report].
const (
	Format       Question = "format"       // is the whole pack readable, free of hostile content, and without contradictions
	Signature    Question = "signature"    // did a given key sign the manifest and the heads of the logs
	Files        Question = "files"        // are the files equal to the files of the manifest, byte for byte
	Inclusion    Question = "inclusion"    // is every record with these bytes in the signed log
	Order        Question = "order"        // are the records in log order
	Derivation   Question = "derivation"   // are the documents equal to their derivation from the records
	Schemas      Question = "schemas"      // do the documents conform to the public schemas
	References   Question = "references"   // does every reference within the pack have a target
	Conservation Question = "conservation" // is every candidate of a selection selected or omitted with a reason
	Completeness Question = "completeness" // does the pack have all facts of its sealed scopes
	Redaction    Question = "redaction"    // is the pack free of redacted values
)

// Questions lists all questions in order.
func Questions() []Question {
	return []Question{Format, Signature, Files, Inclusion, Order, Derivation, Schemas, References, Conservation, Completeness, Redaction}
}

// Status is the answer to a question.
type Status string

// The answers. Only Failed means no. NotChecked and Open mean unknown.
const (
	Passed     Status = "passed"
	Failed     Status = "failed"
	NotChecked Status = "not_checked" // a requirement is missing, see Detail
	Open       Status = "open"        // not provable: the scope was not sealed, or facts are known to be missing
)

// Fault is an error in the pack, with its place.
type Fault struct {
	File    string `json:"file,omitempty"`    // in the pack; empty for the pack as a whole
	Line    int64  `json:"line,omitempty"`    // from 1; in events.ndjson, the record
	Pointer string `json:"pointer,omitempty"` // JSON Pointer within the line
	Reason  string `json:"reason"`
}

// Verdict is the answer to a question.
type Verdict struct {
	Question Question `json:"question"`
	Status   Status   `json:"status"`
	Detail   string   `json:"detail,omitempty"` // the extent of the check, or why there was none
	Total    int64    `json:"total,omitempty"`  // number of faults, also those outside of Faults
	Faults   []Fault  `json:"faults,omitempty"` // the first ones
	// Notes are further facts about an answer, such as open scopes and expired records.
	Notes []string `json:"notes,omitempty"`
}

// Report is the result of verifying a pack.
type Report struct {
	Pack     string     `json:"pack_id,omitempty"`
	Scope    pack.Scope `json:"scope"`
	Created  time.Time  `json:"created_at,omitzero"`
	SignedBy []string   `json:"signed_by,omitempty"` // key ids
	Logs     []Log      `json:"logs,omitempty"`
	Records  int64      `json:"records"`  // lines of events.ndjson
	Expired  int64      `json:"expired"`  // of these, erased records, proven only by their leaf
	Withheld int64      `json:"withheld"` // of these, left out records, proven only by their leaf
	Verdicts []Verdict  `json:"verdicts"` // one per question, in the order of [Questions]
}

// Log is a signed head with proven records.
type Log struct {
	Origin  string `json:"origin"`
	Size    int64  `json:"size"`
	Root    string `json:"root"`    // hexadecimal
	Records int64  `json:"records"` // records of the pack in this log
}

// Failed reports whether any verdict failed.
func (r *Report) Failed() bool {
	for i := range r.Verdicts {
		if r.Verdicts[i].Status == Failed {
			return true
		}
	}
	return false
}

// Of returns the verdict on a question.
func (r *Report) Of(q Question) *Verdict {
	for i := range r.Verdicts {
		if r.Verdicts[i].Question == q {
			return &r.Verdicts[i]
		}
	}
	return nil
}
