package conformance

import (
	"strings"
	"testing"
)

func TestReportTellsWhatWasExpectedAndFound(t *testing.T) {
	t.Parallel()
	r := Report{Tenant: "acme", Cases: []Result{
		{Case: "ACTX-AR-ID-001", Title: "Ids", Findings: []Finding{{Check: "a", Pass: true}}},
		{Case: "ACTX-AR-SEL-001", Title: "Selection", Session: "s-1", Findings: []Finding{
			{Check: "b", Pass: true},
			{Check: "c", Expects: "two rows", Rule: "rule 4", Expected: "2\nrows", Found: "\x1b[31mred"},
		}},
		{Case: "ACTX-AR-ASM-001", Title: "Assembly"},
	}}
	r.conclude()
	if r.Pass || !r.Cases[0].Pass || r.Cases[1].Pass {
		t.Errorf("verdicts %v, %v, %v", r.Pass, r.Cases[0].Pass, r.Cases[1].Pass)
	}
	const want = `pass  ACTX-AR-ID-001            1 checks  Ids
FAIL  ACTX-AR-SEL-001           2 checks  Selection
      c: two rows (rule 4)
        expected  2⏎rows
        found     \u001b[31mred
        session   s-1
-     ACTX-AR-ASM-001           0 checks  Assembly

1 of 2 cases pass; 1 do not apply: the session has nothing that they could judge
`
	var b strings.Builder
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("table\n%s\nwant\n%s", b.String(), want)
	}
}

func TestCasesAreComplete(t *testing.T) {
	t.Parallel()
	modes := make(map[string]int)
	common := len(commonChecks())
	for _, c := range Cases() {
		refused, names := 0, make(map[string]bool)
		for _, e := range c.Events {
			modes[e.Mode]++
			if e.Refused != "" {
				refused++
			}
			if names[e.Label] {
				t.Errorf("%s has two events %s", c.Name, e.Label)
			}
			names[e.Label] = true
		}
		if strings.Contains(c.Name, "-FAIL-") && (refused < 2 || refused == len(c.Events)) {
			t.Errorf("%s: %d of %d events are refused; a failure case has some and neighbours", c.Name, refused, len(c.Events))
		}
		if c.Title == "" || c.Source == "" || len(c.Checks) == common {
			t.Errorf("%s lacks a title, its source or a check of its own", c.Name)
		}
	}
	if modes["binary"] < 20 || modes["structured"] < 20 {
		t.Errorf("content modes %v: both are to be used", modes)
	}
	if _, err := Select("ACTX-AR-ID-001", "nope"); err == nil || !strings.Contains(err.Error(), "ACTX-AR-GOV-001") {
		t.Errorf("an unknown case gives %v", err)
	}
}
