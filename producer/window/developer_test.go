package window_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/producer/window"
)

// TestDeveloperMessagesStay: a developer message is an instruction, like a system message,
// and is neither trimmed nor summarized.
//
// Source: seed 003 (roles).
func TestDeveloperMessagesStay(t *testing.T) {
	t.Parallel()
	for _, role := range []string{window.RoleSystem, window.RoleDeveloper} {
		items := []window.Item{
			{ID: "rules", Kind: window.KindMessage, Role: role, Tokens: 40},
			{ID: "u1", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 40},
			{ID: "u2", Kind: window.KindMessage, Role: window.RoleUser, Tokens: 10},
		}
		for _, step := range []window.Step{window.TrimMessages, window.SummarizeMessages} {
			plan, err := window.Fit(items, window.Budget{MaxTokens: 60}, window.Policy{Steps: []window.Step{step}},
				func(window.Request) ([]window.Replacement, error) {
					return []window.Replacement{{ID: "summary", After: 5}}, nil
				})
			if err != nil || plan.Window[0].ID != "rules" || len(plan.Omitted) != 1 || plan.Omitted[0].ID != "u1" {
				t.Errorf("%s, %s: %v, omitted %+v", role, step, err, plan.Omitted)
			}
		}
		if old, err := window.Oldest(items, 0); err != nil || len(old) != 1 || old[0] != "u1" {
			t.Errorf("%s: the oldest are %v, %v", role, old, err)
		}
		state := window.Reinjected{Kind: "rules", Item: window.Item{ID: "r", Role: role, Tokens: 1}}
		c, err := window.PlanCompaction(items, []string{"u1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Window(window.Item{ID: "s", Tokens: 2}, state); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	head := window.Head{}.UserMessage("u")
	items := []window.Item{{ID: "u", Kind: window.KindMessage, Role: window.RoleUser}, {ID: "cue", Kind: window.KindMessage, Role: window.RoleDeveloper}}
	_, change, err := head.Inject(window.Injection{Kind: "clock", Ref: "now"})
	if err != nil {
		t.Fatal(err)
	}
	if placed := head.Place(items, change, window.Item{ID: "now"}); placed[2].ID != "now" {
		t.Errorf("an injection stands in front of the developer's message: %v", placed)
	}
}
