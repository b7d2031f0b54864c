package queries

import (
	"strings"
	"testing"
)

func TestEveryColumnOfAViewHasAMeaning(t *testing.T) {
	t.Parallel()
	meant := make(map[string]bool)
	for _, v := range Views() {
		if v.Title == "" || !strings.HasSuffix(v.Title, ".") {
			t.Errorf("%s: what a row is: %q", v.Name, v.Title)
		}
		for _, c := range v.Columns {
			if c.Unit == "" || c.About == "" || c.Type == "" {
				t.Errorf("%s.%s: %+v", v.Name, c.Name, c)
			}
			meant[c.Name], meant[v.Name+"."+c.Name] = true, true
		}
	}
	for line := range strings.Lines(columnList) {
		if name, _, ok := strings.Cut(line, "  "); ok && line[0] != '#' && !meant[name] {
			t.Errorf("columns.txt tells of %s, which no view has", name)
		}
	}
}

func TestParseViewsRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	const list, meanings = "first  One row.\n  root_run_id  String\n\nsecond  Another.\n  HEAD\n  n  UInt8\n", "root_run_id  id  the run\nn  count  how many\nfirst.n  count  other\n"
	all, err := parseViews(list, meanings)
	if err != nil || len(all) != 2 || len(all[1].Columns) != 2 || all[1].Columns[1].About != "how many" {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, wrong := range [][2]string{{"n  count  how many", "n  count"}, {"n  count  how many\n", ""}} {
		if _, err := parseViews(list, strings.Replace(meanings, wrong[0], wrong[1], 1)); err == nil {
			t.Errorf("%q for %q was accepted", wrong[1], wrong[0])
		}
	}
}
