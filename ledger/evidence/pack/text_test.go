package pack

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// TestQuotingIsThatOfTheEncoder: texts are quoted and unquoted as in the JSON package.
func TestQuotingIsThatOfTheEncoder(t *testing.T) {
	t.Parallel()
	every := make([]byte, 128)
	for c := range every {
		every[c] = byte(c)
	}
	hold := func(fatal func(args ...any), text []byte) {
		want, _ := jsontext.AppendQuote(nil, text)
		if got := appendText(nil, text); !bytes.Equal(got, want) {
			fatal(string(got), string(want))
		}
		again, err := jsontext.AppendUnquote(nil, want)
		if got, other := unquote(want); err != nil || other != nil || !bytes.Equal(got, again) {
			fatal(string(got), string(again), err, other)
		}
	}
	hold(t.Fatal, every)
	rapid.Check(t, func(t *rapid.T) {
		hold(t.Fatal, rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\"\\\n\u2028é")))).Draw(t, "text"))
		hold(t.Fatal, []byte(rapid.String().Draw(t, "string")))
		quoted := `"` + rapid.StringMatching(`([a-zé]|\\["\\/bfnrtxu]|\\u00[0-9a-f]{2}|\\ud83d\\ude00){0,8}`).Draw(t, "quoted") + `"`
		want, err := jsontext.AppendUnquote(nil, []byte(quoted))
		got, other := unquote([]byte(quoted))
		if (err == nil) != (other == nil) || err == nil && !bytes.Equal(got, want) {
			t.Fatal(quoted, string(got), string(want), err, other)
		}
	})
}
