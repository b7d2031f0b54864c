package sweagent

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"testing"
)

// TestReadingRefusesWhatUnmarshalDoes: a log with a value of another form is reported.
func TestReadingRefusesWhatUnmarshalDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"role":"user","content":[{}],"is_demo":true,"tool_calls":null,"extra":null}`: true,
		`{"role":1}`: false, `{"is_demo":"yes"}`: false, `{"tool_calls":{}}`: false, `{"tool_calls":[null,{"function":null}]}`: true,
		`{"tool_calls":[{"function":{"name":1}}]}`: false, `{"tool_call_ids":[1]}`: false, `{"extra":{"cost":"1"}}`: false,
	} {
		if got := jsonscan.Decode([]byte(text), new(sweMessage).Read); got != want {
			t.Errorf("message %s: %v", text, got)
		}
	}
	var step sweStep
	if !jsonscan.Decode([]byte(`{"query":[],"messages":null}`), step.Read) || step.first(new([]byte)) == nil {
		t.Error("a step that shows no message is one of which that is not known")
	}
}
