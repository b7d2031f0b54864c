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
