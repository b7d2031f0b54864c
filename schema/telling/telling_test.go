package telling

import "testing"

// TestParse: a source of revision 1 does not name its telling.
func TestParse(t *testing.T) {
	const log = "urn:ctxledger:import:codex:a%3Bb:from:x"
	for source, want := range map[string]Telling{
		log:                        {Log: log, Revision: 1},
		log + ";r2;bare;00c0ffee":  {Log: log, Revision: 2},
		log + ";r12;text;00c0ffee": {Log: log, Revision: 12, Texts: true},
		log + ";x":                 {Log: log},
		log + ";r2;text":           {Log: log, Revision: 2},
		"urn:x:import:y;r2;text;z": {},
		"":                         {},
	} {
		if got, ok := Parse(source); got != want || ok != (want.Log != "") {
			t.Errorf("%q is %+v, %v, want %+v", source, got, ok, want)
		}
	}
	order := []Telling{{Revision: 1}, {Revision: 2}, {Revision: 2, Texts: true}, {Revision: 10}}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%+v against %+v is %d", a, b, got)
			}
		}
	}
}

// TestCountsAreNoRecords: what counts the calls of a log is a slice, but does not tell the log.
func TestCountsAreNoRecords(t *testing.T) {
	const log = ImportSource + "openhands:s"
	whole, _ := Parse(log + ";r2;bare;0a")
	for _, of := range []string{log, Slice(log, "r4")} {
		counts, _ := Parse(Counts(of, "r9.0a") + ";r3;bare;0a")
		if !counts.IsSlice() || counts.whole() != log || counts.IsSliceOf(whole) || counts.Renames(whole) {
			t.Errorf("%+v is taken for a slice with records", counts)
		}
	}
}
