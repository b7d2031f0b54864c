package window

import (
	"errors"
	"strings"
	"testing"
)

// TestWeigh: a hybrid decision receives the place and age of an item, and gives the reason
// for its elision (seed 004, l. 59).
func TestWeigh(t *testing.T) {
	t.Parallel()
	items := []Item{
		{ID: "system", Kind: KindFixed, Tokens: 100},
		{ID: "u1", Kind: KindMessage, Role: RoleUser, Tokens: 10},
		{ID: "long", Kind: KindToolResult, Tokens: 500},
		{ID: "short", Kind: KindToolResult, Tokens: 20},
		{ID: "u2", Kind: KindMessage, Role: RoleUser, Tokens: 10},
		{ID: "status", Kind: KindToolResult, Tokens: 30, Ephemeral: true},
		{ID: "long2", Kind: KindToolResult, Tokens: 500},
		{ID: "u3", Kind: KindMessage, Role: RoleUser, Tokens: 10},
	}
	seen := make(map[string]Standing)
	rules := Rules{LongTokens: 100, LongTurns: 2, EphemeralTurns: 1, Cut: func(Item) Cut { return Cut{Level: Simple, StubTokens: 5} }}
	all := ElisionPolicy{Name: "all", Select: func(h History) ([]int, string) { return []int{2, 3, 5, 6}, "test" }}
	pass, err := PlanElision(History{Items: items}, all, Style{Level: Hybrid, Weigh: func(s Standing) (Cut, bool) {
		seen[s.Item.ID] = s
		return rules.Weigh(s)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s := seen["long"]; s.Index != 2 || s.Ahead != 110 || s.After != 570 || s.Age != 2 {
		t.Errorf("%+v", s)
	}
	if s := seen["long2"]; s.Index != 6 || s.Age != 1 {
		t.Errorf("%+v", s)
	}
	if len(pass.Elided) != 2 || pass.Elided[0].ID != "long" || pass.Elided[0].Reason != "500 tokens, turns since: 2" ||
		pass.Elided[1].ID != "status" || pass.Elided[1].Reason != "ephemeral, turns since: 1" || pass.Was[1].ID != "status" {
		t.Errorf("%+v", pass.Elided)
	}
	for field, style := range map[string]Style{
		"elision.decide": {Level: Hybrid, Weigh: rules.Weigh, Decide: func(Item) (Cut, bool) { return Cut{}, false }},
		"elision.reason": {Level: Hybrid, Weigh: func(Standing) (Cut, bool) { return Cut{Level: Simple, StubTokens: 5}, true }},
		"elision.note":   {Level: Summarized, StubTokens: 5, Note: func(Item) string { return strings.Repeat("a", MaxNote+1) }},
	} {
		_, err := PlanElision(History{Items: items}, all, style)
		var wrong *InvalidError
		if !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	noted, err := PlanElision(History{Items: items}, all, Style{Level: Summarized, StubTokens: 5, Note: func(it Item) string { return "read " + it.ID }})
	if err != nil || noted.Elided[0].Note != "read long" {
		t.Errorf("%+v, %v", noted.Elided, err)
	}
}
