package schema

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Candidate is an item as a selection saw it. An omitted candidate carries
// the Reason; a selected one may. The standard also allows a bare item id,
// which reads as a Candidate with nothing but ItemRef.
type Candidate struct {
	ItemRef Ref                `json:"item_ref"`
	Rank    *int64             `json:"rank,omitempty"` // 1 is best
	Score   *float64           `json:"score,omitempty"`
	Signals map[string]float64 `json:"signals,omitempty"`
	Tokens  *int64             `json:"tokens,omitempty"`
	Reason  OmissionReason     `json:"reason,omitempty"`
	Note    string             `json:"note,omitempty"`
}

// UnmarshalJSONFrom reads the object form, or a bare item id.
func (c *Candidate) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return c.ItemRef.UnmarshalJSONFrom(dec)
	}
	type plain Candidate
	return json.UnmarshalDecode(dec, (*plain)(c))
}

// Selection is what both selection facts share.
type Selection struct {
	SelectionID string `json:"selection_id" ctx:"required"`
	SurfaceID   string `json:"surface_id" ctx:"required"`
	CallID      string `json:"call_id,omitempty"`
	Query       string `json:"query,omitempty"`
	Intent      string `json:"intent,omitempty"`
	ActorRef    Ref    `json:"actor_ref,omitzero"`
	ModelRef    Ref    `json:"model_ref,omitzero"`
	// Candidates are all that were considered, in the order considered.
	Candidates []Ref `json:"candidate_item_refs,omitempty"`
	// Part and Parts number the pieces of a selection that one event cannot
	// hold; both are nil when it can.
	Part  *int64 `json:"part,omitempty"`
	Parts *int64 `json:"parts,omitempty"`
}

func (s *Selection) RecordID() string { return s.SelectionID }

// SelectionStarted records what is about to be decided.
type SelectionStarted struct {
	Common
	Selection
}

// SelectionCompleted records the decision. Candidates = Selected + Omitted,
// each omission with a reason; see boundary rule 4.
type SelectionCompleted struct {
	Common
	Selection
	Selected  []Candidate `json:"selected_item_refs,omitempty"`
	Omitted   []Candidate `json:"omitted_item_refs,omitempty"`
	Policy    Ref         `json:"selection_policy,omitzero"`
	BudgetRef Ref         `json:"budget_ref,omitzero"`
	Rationale string      `json:"rationale,omitempty"`
}

func (*SelectionStarted) EventType() Type   { return TypeSelectionStarted }
func (*SelectionCompleted) EventType() Type { return TypeSelectionCompleted }
