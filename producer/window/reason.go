package window

import "slices"

// Reason is the reason why a candidate is not in the window. The standard Agent Context has
// twelve omission reasons.
type Reason string

// The omission reasons of the standard.
const (
	BudgetLimit         Reason = "budget_limit"
	LowRelevance        Reason = "low_relevance"
	Duplicate           Reason = "duplicate"
	Stale               Reason = "stale"
	PolicyBlocked       Reason = "policy_blocked"
	PermissionMissing   Reason = "permission_missing"
	UnsupportedMedia    Reason = "unsupported_media"
	TooLarge            Reason = "too_large"
	Sensitive           Reason = "sensitive"
	SupersededBySummary Reason = "superseded_by_summary"
	NotVisibleToTarget  Reason = "not_visible_to_target"
	Custom              Reason = "custom"
)

// Reasons returns the twelve reasons in the standard's order.
func Reasons() []Reason {
	return []Reason{
		BudgetLimit, LowRelevance, Duplicate, Stale, PolicyBlocked, PermissionMissing,
		UnsupportedMedia, TooLarge, Sensitive, SupersededBySummary, NotVisibleToTarget, Custom,
	}
}

// Valid reports whether r is one of the twelve.
func (r Reason) Valid() bool { return slices.Contains(Reasons(), r) }
