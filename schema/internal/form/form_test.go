package form

import (
	"strings"
	"testing"
)

// FuzzURIReference: a source that is accepted has only characters of a URI, and no bad escape.
func FuzzURIReference(f *testing.F) {
	for _, seed := range []string{"urn:x:y", "a b", "%4", "%zz", "http://[::1]/", "a:b:c", "1:a", "", "é", "//", "a#b#c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !URIReference(s) {
			return
		}
		for i := range len(s) {
			if s[i] <= ' ' || s[i] >= 0x7f || strings.IndexByte("\"<>\\^`{|}", s[i]) >= 0 {
				t.Fatalf("%q holds %q", s, s[i])
			}
		}
		if before, after, found := strings.Cut(s, "%"); found && (len(after) < 2 || !isHex(after[0]) || !isHex(after[1])) {
			t.Fatalf("%q has a bad escape after %q", s, before)
		}
	})
}
