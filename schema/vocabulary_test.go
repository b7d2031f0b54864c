package schema

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestWordsStandInEveryEvent: a value that every golden event of a type has to hold, whatever its
// content, is a word of the contract.
func TestWordsStandInEveryEvent(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		var e struct {
			Data map[string]any `json:"data"`
		}
		if err := json.Unmarshal(Golden(kind), &e); err != nil {
			t.Fatal(err)
		}
		for name := range e.Data {
			if len(name) >= shortestFingerprinted && !HoldsWord(name) {
				t.Errorf("%s: the member %s is no word", kind, name)
			}
		}
		for _, value := range []string{string(kind), kind.CloudEventsType(), kind.DataSchema(), `"event_type":"` + string(kind)} {
			if !HoldsWord(value) {
				t.Errorf("%q is no word", value)
			}
		}
	}
	for _, value := range []string{"datacontenttype", "ce-sessionid", "application/json", "policy_blocked", "superseded_by_summary", MsgIDHeader, `":false,`} {
		if !HoldsWord(value) {
			t.Errorf("%q is no word", value)
		}
	}
	for _, value := range []string{"", "context", "hunter2/Straße-42", "sk-proj-0123456789", "context.item.addedx", strings.Repeat("x", 8)} {
		if HoldsWord(value) {
			t.Errorf("%q is a word", value)
		}
	}
	if n := len(Words()); n > 64<<10 || bytes.Contains(Words(), []byte("Rotterdam")) {
		t.Errorf("the words have %d bytes, or hold an example", n)
	}
}
