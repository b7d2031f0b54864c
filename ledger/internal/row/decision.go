package row

import (
	"slices"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// Decision is a row of the table decisions: a surface or a selection. The
// arrays from ItemRefs on run over the candidates in parallel.
type Decision struct {
	Head
	RecordKind    string               `ch:"record_kind"`
	RecordID      string               `ch:"record_id"`
	SurfaceID     string               `ch:"surface_id"`
	SurfaceKind   string               `ch:"surface_kind"`
	CallID        string               `ch:"call_id"`
	Query         string               `ch:"query"`
	Intent        string               `ch:"intent"`
	Policy        string               `ch:"policy"`
	Rationale     string               `ch:"rationale"`
	Actor         string               `ch:"actor"`
	Model         string               `ch:"model"`
	BudgetRef     string               `ch:"budget_ref"`
	Part          *int64               `ch:"part"`
	Parts         *int64               `ch:"parts"`
	CandidateRefs []string             `ch:"candidate_refs"`
	ItemRefs      []string             `ch:"item_refs"`
	Outcomes      []string             `ch:"outcomes"` // selected, omitted
	Ranks         []*int64             `ch:"ranks"`
	Scores        []*float64           `ch:"scores"`
	Tokens        []*int64             `ch:"tokens"`
	Reasons       []string             `ch:"reasons"`
	Notes         []string             `ch:"notes"`
	Signals       []map[string]float64 `ch:"signals"`
	Metadata      string               `ch:"metadata"`
	Extra         string               `ch:"extra"` // JSON of the further values of surfaces
}

func Surface(h Head, verb string, c *schema.Common, s *schema.Surface) Decision {
	return Decision{
		Head: h, RecordKind: "surface_" + verb, RecordID: s.SurfaceID, SurfaceID: s.SurfaceID, SurfaceKind: s.SurfaceKind,
		CandidateRefs: schema.RefIDs(s.AvailableItemRefs), Metadata: JSONText(c.Metadata),
		Extra: surfaceExtra(s),
	}
}

func surfaceExtra(s *schema.Surface) string {
	var e extra
	e.list("available_source_refs", schema.RefIDs(s.AvailableSourceRefs))
	e.list("capability_refs", schema.RefIDs(s.CapabilityRefs))
	e.list("visibility", s.Visibility)
	if s.ExpiresAt != nil {
		e.text("expires_at", s.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	return e.json()
}

func Selection(h Head, verb string, c *schema.Common, s *schema.Selection) Decision {
	return Decision{
		Head: h, RecordKind: "selection_" + verb, RecordID: s.SelectionID, SurfaceID: s.SurfaceID, CallID: s.CallID,
		Query: s.Query, Intent: s.Intent, Actor: s.ActorRef.ID(), Model: s.ModelRef.ID(), Part: s.Part, Parts: s.Parts,
		CandidateRefs: schema.RefIDs(s.Candidates), Metadata: JSONText(c.Metadata),
	}
}

func Decided(h Head, f *schema.SelectionCompleted) Decision {
	row := Selection(h, "completed", &f.Common, &f.Selection)
	row.Policy, row.Rationale, row.BudgetRef = f.Policy.ID(), f.Rationale, f.BudgetRef.ID()
	row.addCandidates(f.Selected, f.Omitted)
	return row
}

func (r *Decision) addCandidates(selected, omitted []schema.Candidate) {
	list := slices.Concat(selected, omitted)
	r.Outcomes = slices.Concat(slices.Repeat([]string{"selected"}, len(selected)), slices.Repeat([]string{"omitted"}, len(omitted)))
	r.ItemRefs = each(list, func(c *schema.Candidate) string { return c.ItemRef.ID() })
	r.Ranks = each(list, func(c *schema.Candidate) *int64 { return c.Rank })
	r.Scores = each(list, func(c *schema.Candidate) *float64 { return c.Score })
	r.Tokens = each(list, func(c *schema.Candidate) *int64 { return c.Tokens })
	r.Reasons = each(list, func(c *schema.Candidate) string { return string(c.Reason) })
	r.Notes = each(list, func(c *schema.Candidate) string { return c.Note })
	r.Signals = each(list, func(c *schema.Candidate) map[string]float64 { return c.Signals })
}
