package schema

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Candidate is an item as a selection saw it. An omitted candidate carries
// the Reason; a selected one may. The standard also allows a bare item id,
// which reads as a Candidate with nothing but ItemRef.
type Candidate struct {
	ItemRef Ref                `json:"item_ref"`          // the item
	Rank    *int64             `json:"rank,omitempty"`    // 1 is best
	Score   *float64           `json:"score,omitempty"`   // higher is better
	Signals map[string]float64 `json:"signals,omitempty"` // parts of the score, by name
	Tokens  *int64             `json:"tokens,omitempty"`  // by the estimator of the call
	Reason  OmissionReason     `json:"reason,omitempty"`  // why it was left out; required of an omission
	Note    string             `json:"note,omitempty"`    // for people
}

// UnmarshalJSONFrom reads the object form, or a bare item id.
func (c *Candidate) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		return c.ItemRef.UnmarshalJSONFrom(dec)
	}
	type plain Candidate
	return json.UnmarshalDecode(dec, (*plain)(c))
}

func (c *Candidate) fromText(text string) error {
	c.ItemRef = Ref(text)
	return c.ItemRef.checkText()
}

// Selection is what both selection facts share.
type Selection struct {
	SelectionID string `json:"selection_id" ctx:"required"` // id of the record; the same for all parts
	SurfaceID   string `json:"surface_id" ctx:"required"`   // the surface that was chosen from
	CallID      string `json:"call_id,omitempty"`           // the model call that it belongs to
	Query       string `json:"query,omitempty"`             // what was looked for
	Intent      string `json:"intent,omitempty"`            // what the query is for
	ActorRef    Ref    `json:"actor_ref,omitzero"`          // who decided
	ModelRef    Ref    `json:"model_ref,omitzero"`          // the model that decided, if one did
	// Candidates are all that were considered, in the order considered.
	Candidates []Ref `json:"candidate_item_refs,omitempty"`
	// Part numbers the pieces of a selection that one event cannot hold, from 1
	// to Parts; both are nil when it can.
	Part  *int64 `json:"part,omitempty"`
	Parts *int64 `json:"parts,omitempty"` // how many there are
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
	Selected  []Candidate `json:"selected_item_refs,omitempty"` // what was chosen
	Omitted   []Candidate `json:"omitted_item_refs,omitempty"`  // what was left out, each with a reason
	Policy    Ref         `json:"selection_policy,omitzero"`    // the policy that decided
	BudgetRef Ref         `json:"budget_ref,omitzero"`          // the budget in force
	Rationale string      `json:"rationale,omitempty"`          // why, for people
}

func (*SelectionStarted) EventType() Type   { return TypeSelectionStarted }
func (*SelectionCompleted) EventType() Type { return TypeSelectionCompleted }
