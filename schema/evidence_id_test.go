package schema

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// evidencePattern is Agent Evidence's own, from its schemas.
var evidencePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$`)

func TestEvidenceIDCases(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"turn-3": "turn-3", "a_b:c.d": "a_b:c.d", "0195565d-0010": "0195565d-0010", strings.Repeat("a", 256): strings.Repeat("a", 256),
		"": "x-", "x": "x", "x-": "x-x-", "x-1": "x-x-1", "-a": "x--a", "_a": "x-_5Fa", "file:///a/b c": "x-file:_2F_2F_2Fa_2Fb_20c",
		"é": "x-_C3_A9", "a/b_c": "x-a_2Fb_5Fc", "\x00": "x-_00", "X-1": "X-1", strings.Repeat("/", 84): "x-" + strings.Repeat("_2F", 84),
	} {
		got, err := EvidenceID(id)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", id, got, err, want)
		}
	}
	for _, id := range []string{strings.Repeat("a", 257), strings.Repeat("/", 85)} {
		if got, err := EvidenceID(id); err == nil || got != "" {
			t.Errorf("%d bytes became %q", len(id), got)
		}
	}
	for _, bad := range []string{"", "-a", "a/b", "é", "x-a", "x-_", "x-_5", "x-_5f", "x-_61", "x-_GG", "x-a_2", "x-turn-3", "x-X", strings.Repeat("a", 257), "a\n"} {
		if id, err := ParseEvidenceID(bad); err == nil {
			t.Errorf("%q was taken for %q", bad, id)
		}
	}
}

// TestEvidenceID maps any bytes in both directions. The reverse mapping proves that different ids
// have different evidence ids.
func TestEvidenceID(t *testing.T) {
	t.Parallel()
	ids := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9_.:/%x -]{0,60}`), rapid.StringMatching(`x-[A-Fa-f0-9_x-]{0,12}`), rapid.String(),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		id := ids.Draw(t, "id")
		mapped, err := EvidenceID(id)
		if err != nil {
			if len(id) <= 84 {
				t.Fatalf("%q: %v", id, err)
			}
			return
		}
		if !evidencePattern.MatchString(mapped) {
			t.Fatalf("%q became %q", id, mapped)
		}
		if back, err := ParseEvidenceID(mapped); err != nil || back != id {
			t.Fatalf("%q became %q and %q, %v", id, mapped, back, err)
		}
		// Whatever is read is written the same.
		if back, err := ParseEvidenceID(id); err == nil {
			if again, err := EvidenceID(back); err != nil || again != id {
				t.Fatalf("%q was read as %q and written as %q", id, back, again)
			}
		}
	})
}
