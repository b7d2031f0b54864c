package model

import "testing"

func TestIsSpread(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]bool{
		"":                                   false,
		`{"history":[]}`:                     false,
		"{\"history\":[]}\n{\"history\":[]}": false,
		"{\"id\":0}\n  {\"id\":1}\n":         false,
		"{\"id\":0}\n\n\t{\"id\":1}\n":       false,
		"[{\"id\":0}]\n[{\"id\":1}]\n":       false,
		"{\n\"history\": [":                  true,
		"{\"history\": [\n  {\"id\":0},":     true,
		"[{\"id\":0},\n{\"id\":1}]":          true,
		"[\n{\"id\":0},":                     true,
		"\xef\xbb\xbf[{\"id\":0}":            true,
	} {
		if got := IsSpread([]byte(head)); got != want {
			t.Errorf("%q: %t", head, got)
		}
	}
}
