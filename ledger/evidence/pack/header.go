package pack

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/schema"
)

// Format is the version of the format that this package writes and reads.
const Format = "ctxledger-pack/1"

// Rules is the newest version of the derivation rules in this package:
//
//	1  the first version
//	2  records from other parts of the session that describe ids named in the scope are in
//	   the pack; every runtime id is a node; windows are told apart by attempt
//	3  of several tellings of a log one counts, and the others are named; assemblies that build on
//	   another one are written whole; records of one call are compared
//	4  of the records of a call that slices of a log cut one counts, and the others are named
const Rules = 4

// ErrFormat means that this package cannot read the version of the pack.
var ErrFormat = errors.New("not a pack of the format " + Format)

// Header holds the data of a pack that is not in its records.
type Header struct {
	ID       string    `json:"pack_id"` // an Agent Evidence id
	Scope    Scope     `json:"scope"`   // the requested scope
	Created  time.Time `json:"created_at"`
	Exporter string    `json:"exporter"` // name and version of the exporting program
	// Rules is the version of the derivation rules of the documents. Absent means 1.
	Rules int `json:"rules,omitzero"`
	// RedactIDs means that the pack was requested without ids. Its records are withheld, see
	// [Record], and its documents have pseudonyms.
	RedactIDs bool     `json:"redact_ids,omitempty"`
	Logs      []string `json:"logs"` // origins of the logs, in the order of proofs/1, proofs/2, …
	// Elsewhere are sequences that seals in the pack name. Their facts are in the session but
	// outside of the scope. The exporter states Elsewhere without proof.
	Elsewhere []schema.SequenceRanges `json:"elsewhere,omitempty"`
	// Retold are sources of imported facts that another source tells better, and records of calls that
	// another slice of the log tells. The pack has their records. Documents use those that count. The
	// exporter states Retold, because a part of a session does not show what tells the session best.
	Retold []Retold `json:"retold,omitempty"`
}

// Retold is a source that told a log, and the source that tells the same log better. With calls, it is
// the source's record of one call, which the other source tells as ByCall.
type Retold struct {
	Source string `json:"source"`
	Call   string `json:"call_id,omitempty"`
	By     string `json:"by"`
	ByCall string `json:"by_call_id,omitempty"`
}

// The kinds of a [Scope].
const (
	ScopeTurn    = "turn"
	ScopeRun     = "run"
	ScopeTask    = "task"
	ScopeSession = "session"
)

// Scope is the requested content of a pack. Ids that were not requested are empty.
type Scope struct {
	Kind    string `json:"kind"` // [ScopeTurn], [ScopeRun], [ScopeTask] or [ScopeSession]
	Tenant  string `json:"tenant"`
	Session string `json:"session_id"`
	Run     string `json:"run_id,omitempty"`
	Turn    string `json:"turn_id,omitempty"`
	Task    string `json:"task_id,omitempty"`
	Attempt string `json:"attempt_id,omitempty"` // of the task
}

// Seals reports whether a sealed scope of this kind lies within s. The sealed scope has the session
// and the ids of s. Scopes that producers define can extend beyond a part of a session.
func (s Scope) Seals(kind string) bool {
	return s.Kind == ScopeSession || slices.Contains(s.SealKinds(), kind)
}

// SealKinds returns the kinds of sealed scopes that lie within a part of a session with the same
// ids. A task can extend beyond a turn or a run.
func (s Scope) SealKinds() []string {
	kinds := []string{ScopeTurn, "tool_invocation"}
	if s.Kind == ScopeTask {
		kinds = append(kinds, ScopeTask)
	}
	return kinds
}

// Has reports whether an event with these ids is in the scope.
func (s Scope) Has(ids *schema.Correlation) bool {
	return ids.SessionID == s.Session && (s.Run == "" || ids.RunID == s.Run) && (s.Turn == "" || ids.TurnID == s.Turn) &&
		(s.Task == "" || ids.TaskID == s.Task) && (s.Attempt == "" || ids.AttemptID == s.Attempt)
}

// headerText is the content of the header file.
type headerText struct {
	Format string `json:"format"` // always [Format]
	Header
}

// EncodeHeader writes the header: one line of JSON in the order of its fields.
func EncodeHeader(h Header) ([]byte, error) {
	h.Created = h.Created.UTC()
	text, err := json.Marshal(headerText{Format, h})
	if err != nil {
		return nil, fmt.Errorf("encode the header: %w", err)
	}
	return append(text, '\n'), nil
}

// ParseHeader reads the output of [EncodeHeader]. Other bytes for the same header and unknown
// members are errors. The error wraps [ErrFormat] for another version.
func ParseHeader(text []byte) (Header, error) {
	var version struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return Header{}, fmt.Errorf("read the header: %w", err)
	}
	if version.Format != Format {
		return Header{}, fmt.Errorf("%w: %q", ErrFormat, clip(version.Format))
	}
	var h headerText
	if err := json.Unmarshal(text, &h, json.RejectUnknownMembers(true)); err != nil {
		return Header{}, fmt.Errorf("read the header: %w", err)
	}
	if h.Rules < 0 || h.Rules > Rules {
		return Header{}, fmt.Errorf("%w: its documents were derived by rules %d, this program supports rules up to %d; verify it with a newer program", ErrFormat, h.Rules, Rules)
	}
	again, err := EncodeHeader(h.Header)
	if err == nil && !bytes.Equal(again, text) {
		err = errors.New("read the header: not in canonical form")
	}
	return h.Header, err
}
