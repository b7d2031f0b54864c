package verify

import (
	"time"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// Question is what a verdict answers.
type Question string

// The questions, in the order of a [Report].
const (
	Format       Question = "format"       // can all of it be read, and is nothing hostile in it
	Signature    Question = "signature"    // did a given key sign the manifest and the heads of the logs
	Files        Question = "files"        // are the files those of the manifest, byte for byte
	Inclusion    Question = "inclusion"    // is every record in the signed log, as its bytes are
	Order        Question = "order"        // do the records stand in the order of the log
	Derivation   Question = "derivation"   // are the documents what the records give
	Schemas      Question = "schemas"      // do the documents meet the public schemas
	References   Question = "references"   // does every reference within the pack lead somewhere
	Conservation Question = "conservation" // is every candidate of a selection selected or omitted with a reason
	Completeness Question = "completeness" // are all facts of the sealed scopes here
	Redaction    Question = "redaction"    // does nothing that was redacted stand anywhere in the pack
)

// Questions lists all questions in order.
func Questions() []Question {
	return []Question{Format, Signature, Files, Inclusion, Order, Derivation, Schemas, References, Conservation, Completeness, Redaction}
}

// Status is an answer.
type Status string

// The answers. Only Failed says no: NotChecked and Open are not known.
const (
	Passed     Status = "passed"
	Failed     Status = "failed"
	NotChecked Status = "not_checked" // what it takes is not there, see Detail
	Open       Status = "open"        // not provable: the scope was not sealed, or facts are known to be lacking
)

// Fault is one thing that is wrong, and where.
type Fault struct {
	File    string `json:"file,omitempty"`    // in the pack; none for the pack as a whole
	Line    int64  `json:"line,omitempty"`    // from 1: of events.ndjson, the record
	Pointer string `json:"pointer,omitempty"` // JSON Pointer within the line
	Reason  string `json:"reason"`
}

// Verdict is the answer to a question.
type Verdict struct {
	Question Question `json:"question"`
	Status   Status   `json:"status"`
	Detail   string   `json:"detail,omitempty"` // what was checked, or why not
	Total    int64    `json:"total,omitempty"`  // faults, also those that Faults leaves out
	Faults   []Fault  `json:"faults,omitempty"` // the first ones
	// Notes are what a reader must know of an answer that is no fault: which
	// scopes are sealed, what is expired.
	Notes []string `json:"notes,omitempty"`
}

// Report is what is true of a pack.
type Report struct {
	Pack     string     `json:"pack_id,omitempty"`
	Scope    pack.Scope `json:"scope"`
	Created  time.Time  `json:"created_at,omitzero"`
	SignedBy []string   `json:"signed_by,omitempty"` // key ids
	Logs     []Log      `json:"logs,omitempty"`
	Records  int64      `json:"records"`  // lines of events.ndjson
	Expired  int64      `json:"expired"`  // of them erased, proven by their leaf alone
	Withheld int64      `json:"withheld"` // of them left out, proven by their leaf alone
	Verdicts []Verdict  `json:"verdicts"` // one a question, in the order of [Questions]
}

// Log is the signed head that records were proven against.
type Log struct {
	Origin  string `json:"origin"`
	Size    int64  `json:"size"`
	Root    string `json:"root"`    // hexadecimal
	Records int64  `json:"records"` // of the pack in this log
}

// Failed reports whether any verdict says no.
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
