package ui

import "testing"

func TestNumbersKeepWhatIsSmall(t *testing.T) {
	t.Parallel()
	for number, want := range map[float64][2]string{
		0: {"0", "0"}, 0.5: {"0.5", "0.5"}, 1234.56789: {"1234.5679", "1234.56789"}, -0.25: {"-0.25", "-0.25"},
		0.66666666: {"0.6667", "0.66666666"}, 0.000536: {"0.000536", "0.000536"}, 0.0123456789: {"0.01235", "0.0123456789"}, 2e-6: {"0.000002", "0.000002"},
	} {
		if got := [2]string{short(number), exact(number)}; got != want {
			t.Errorf("%g is %q, want %q", number, got, want)
		}
	}
}
