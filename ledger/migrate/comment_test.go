package migrate

import (
	"slices"
	"testing"
)

func TestSetComments(t *testing.T) {
	t.Parallel()
	conn := empty(t)
	mustUp(t, conn, current())
	d, err := look(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"the reason", `it's \ "another"`, "a\n\tlong {one:String} @views ? $1; --", ""} {
		views := []View{
			{Name: "omissions", Title: text, Columns: []Column{{Name: "reason", Unit: "text", About: text}, {Name: "rank", Unit: "count", About: "1 is best"}}},
			{Name: "turn_window", Title: "One row.", Columns: []Column{{Name: "reason", Unit: "text", About: text}}},
			{Name: "nosuch", Title: text},
		}
		if err := d.setComments(t.Context(), views); err != nil {
			t.Fatal(err)
		}
		if changes, err := d.uncommented(t.Context(), views); len(changes) > 0 || err != nil {
			t.Errorf("%q takes %q again, %v", text, changes, err)
		}
		var got []string
		err = conn.QueryRow(t.Context(), `SELECT [(SELECT any(comment) FROM system.tables WHERE database = currentDatabase() AND name = 'omissions')::String,
			anyIf(comment, name = 'reason'), anyIf(comment, name = 'rank')] FROM system.columns WHERE database = currentDatabase() AND table = 'omissions'`).Scan(&got)
		if want := []string{text, "text: " + text, "count: 1 is best"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the comments are %q, want %q: %v", got, want, err)
		}
	}
}
