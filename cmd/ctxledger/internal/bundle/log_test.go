package bundle

import "testing"

func TestReducedLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"2026.11.27 06:00:00.123456 [ 7 ] {q-1} <Error> executeQuery: Code: 60. DB::Exception: Unknown table (in query: SELECT 'secret')": "2026.11.27 06:00:00.123456 Error executeQuery code 60\n",
		"2026.11.27 06:00:00.123456 [ 7 ] {} <Warning> Application: Listen failed":                                                        "2026.11.27 06:00:00.123456 Warning Application\n",
		"2026.11.27 06:00:00.123456 [ 7 ] {} <Information> Application: Ready for connections":                                            "",
		"SELECT 'the second line of a query'": "",
	} {
		if got := reduced(line); got != want {
			t.Errorf("%q gives %q, want %q", line, got, want)
		}
	}
}
