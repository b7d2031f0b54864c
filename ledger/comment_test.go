package ledger

import (
	"slices"
	"testing"
)

func TestSetComments(t *testing.T) {
	t.Parallel()
	l := migrated(t)
	for _, text := range []string{"the reason", `it's \ "another"`, "a\n\tlong {one:String}; --", ""} {
		comments := []Comment{
			{Relation: "omissions", Text: text}, {Relation: "omissions", Column: "reason", Text: text}, {Relation: "omissions", Column: "rank", Text: "1 is best"},
			{Relation: "turn_window", Column: "reason", Text: text}, {Relation: "nosuch", Text: text},
		}
		changes, err := l.uncommented(t.Context(), comments)
		if len(changes) != 1 || err != nil {
			t.Errorf("%q takes %q, %v", text, changes, err)
		}
		if err := l.SetComments(t.Context(), comments); err != nil {
			t.Fatal(err)
		}
		if changes, err := l.uncommented(t.Context(), comments); len(changes) > 0 || err != nil {
			t.Errorf("%q takes %q again, %v", text, changes, err)
		}
		var got []string
		err = l.conn.QueryRow(t.Context(), `SELECT [(SELECT any(comment) FROM system.tables WHERE database = currentDatabase() AND name = 'omissions')::String,
			anyIf(comment, name = 'reason'), anyIf(comment, name = 'rank')] FROM system.columns WHERE database = currentDatabase() AND table = 'omissions'`).Scan(&got)
		if want := []string{text, text, "1 is best"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the comments are %q, want %q: %v", got, want, err)
		}
	}
}
