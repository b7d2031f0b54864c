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

// Format names the version of the format that this package writes and reads.
const Format = "ctxledger-pack/1"

// Rules is the newest version of the rules of derivation that this package knows:
//
//	1  as at first
//	2  records of other parts of the session that describe what the scope names are in the
//	   pack; every runtime id is a node; windows are told apart by attempt
const Rules = 2

// ErrFormat says that a pack is of a version that this package does not read.
var ErrFormat = errors.New("not a pack of the format " + Format)

// Header holds all of a pack that its records do not tell.
type Header struct {
	ID       string    `json:"pack_id"` // an Agent Evidence id
	Scope    Scope     `json:"scope"`   // what was asked for
	Created  time.Time `json:"created_at"`
	Exporter string    `json:"exporter"` // name and version of what made the pack
	// Rules is the version of the rules by which the documents were derived from the
	// records. Absent is 1: packs from before there were others.
	Rules int `json:"rules,omitzero"`
	// RedactIDs says that the pack was asked for without ids: its records are
	// withheld, see [Record], and its documents have pseudonyms.
	RedactIDs bool     `json:"redact_ids,omitempty"`
	Logs      []string `json:"logs"` // origins of the logs: of proofs/1 first
	// Elsewhere are sequences that seals in the pack name and that are facts of the
	// session outside of what was asked for. That is what the exporter says; nothing
	// in the pack proves it.
	Elsewhere []schema.SequenceRanges `json:"elsewhere,omitempty"`
}

// The kinds of a [Scope].
const (
	ScopeTurn    = "turn"
	ScopeRun     = "run"
	ScopeTask    = "task"
	ScopeSession = "session"
)

// Scope is what a pack was asked to hold. Ids that were not asked for are empty.
type Scope struct {
	Kind    string `json:"kind"` // [ScopeTurn], [ScopeRun], [ScopeTask] or [ScopeSession]
	Tenant  string `json:"tenant"`
	Session string `json:"session_id"`
	Run     string `json:"run_id,omitempty"`
	Turn    string `json:"turn_id,omitempty"`
	Task    string `json:"task_id,omitempty"`
	Attempt string `json:"attempt_id,omitempty"` // of the task
}

// Seals reports whether a sealed scope of this kind, which has the session and the ids
// that s asks for, lies within s. What producers define may go beyond a part of a session.
func (s Scope) Seals(kind string) bool {
	return s.Kind == ScopeSession || slices.Contains(s.SealKinds(), kind)
}

// SealKinds are the kinds of sealed scopes that lie within a part of a session whose ids
// they have. A task may go beyond a turn or a run.
func (s Scope) SealKinds() []string {
	kinds := []string{ScopeTurn, "tool_invocation"}
	if s.Kind == ScopeTask {
		kinds = append(kinds, ScopeTask)
	}
	return kinds
}

// Has reports whether an event with these ids is of the scope.
func (s Scope) Has(ids *schema.Correlation) bool {
	return ids.SessionID == s.Session && (s.Run == "" || ids.RunID == s.Run) && (s.Turn == "" || ids.TurnID == s.Turn) &&
		(s.Task == "" || ids.TaskID == s.Task) && (s.Attempt == "" || ids.AttemptID == s.Attempt)
}

// headerText is a header as its file has it.
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

// ParseHeader reads what [EncodeHeader] wrote, and nothing else: other bytes for
// the same header are an error, and so is a member that it does not know. The
// error wraps [ErrFormat] for another version.
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
		return Header{}, fmt.Errorf("%w: its documents were derived by rules %d; this program knows %d, so verify it with a newer one", ErrFormat, h.Rules, Rules)
	}
	again, err := EncodeHeader(h.Header)
	if err == nil && !bytes.Equal(again, text) {
		err = errors.New("read the header: not in canonical form")
	}
	return h.Header, err
}
