package openhands

import (
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"testing"
)

// TestDecodeRefusesWhatUnmarshalDoes: a log with a value of another form is reported.
func TestDecodeRefusesWhatUnmarshalDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: true, `[]`: false, `null`: false, `"a"`: false, `7`: false,
		`{"timestamp":"t","source":null,"tool_call_metadata":null}`: true,
		`{"timestamp":1}`: false, `{"source":{}}`: false, `{"action":1,"kind":[]}`: true,
		`{"tool_call_metadata":[]}`: false, `{"tool_call_metadata":{"model_response":{"id":1}}}`: false, `{"llm_metrics":7}`: false,
		`{"tool_call_metadata":{"function_name":"f","model_response":{"id":"x","more":[{}]}},"timestamp":"t"}`: true,
	} {
		if got := jsonscan.Decode([]byte(text), new(ohEvent).Read); got != want {
			t.Errorf("event %s: %v", text, got)
		}
	}
	e := ohEvent{Args: jsonscan.Span(`{"content":"c","query":[1],"final_thought":"behind it"}`)}
	if args := e.args(); string(args.Content) != `"c"` || args.Query != "" || args.FinalThought != "" {
		t.Errorf("arguments with one of another form are %+v", args)
	}
}
