package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestBadInput sends each kind of bad input in both content modes, as a foreign producer would.
// It checks the code and the place of the violation. In structured mode, text that is no JSON is
// refused earlier, because the whole document is JSON.
func TestBadInput(t *testing.T) {
	t.Parallel()
	attributes := map[string]string{
		"specversion": "1.0", "id": "i", "source": "urn:x", "type": "dev.ctxledger.context.exported.v1",
		"time": "2026-03-02T09:00:00Z", "datacontenttype": "application/json", "turnid": "turn-3",
	}
	data := func(member string) string { return "{" + good + "," + member + "}" }
	id4K := strings.Repeat("a", 4096)
	for _, c := range []struct {
		name, data         string
		attribute, value   string
		binary, structured string
	}{
		{name: "64 KiB and more", data: data(`"x":"` + strings.Repeat("a", 70_000) + `"`), binary: "too_large /data"},
		{name: "deeply nested", data: data(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), binary: "too_deep /data"},
		{name: "very deeply nested", data: data(`"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), binary: "malformed", structured: "not_json"},
		{name: "duplicate keys", data: data(`"pack_id":"q"`), binary: "malformed /data/pack_id", structured: "not_json /data/pack_id"},
		{name: "duplicate keys by an escape", data: data(`"x":{"a":1,"\u0061":2}`), binary: "malformed /data/x/a", structured: "not_json /data/x/a"},
		{name: "NaN", data: data(`"x":NaN`), binary: "malformed /data/x", structured: "not_json /data/x"},
		{name: "infinity", data: data(`"x":-Infinity`), binary: "malformed /data/x", structured: "not_json /data/x"},
		{name: "a number beyond 64 bits", data: data(`"metadata":{"x":1e400}`), binary: "type /data/metadata/x"},
		{name: "a lone surrogate", data: data(`"x":"\ud800"`), binary: "malformed /data/x", structured: "not_json /data/x"},
		{name: "invalid UTF-8", data: data("\"x\":\"\xff\""), binary: "malformed /data/x", structured: "not_json /data/x"},
		{name: "a NUL byte", data: data("\"x\":\"\x00\""), binary: "malformed /data/x", structured: "not_json /data/x"},
		{name: "a NUL escape in text", data: data(`"x":"\u0000"`)},
		{name: "a NUL escape in an id", data: `{"event_type":"context.exported","pack_id":"a\u0000b","scope":"turn"}`, binary: "attribute /data"},
		{name: "a NUL in an attribute", data: "{" + good + "}", attribute: "sessionid", value: "a\x00b", binary: "attribute /sessionid", structured: "attribute /sessionid"},
		{name: "an id of 4 KB", data: `{"event_type":"context.exported","pack_id":"` + id4K + `","scope":"turn"}`, binary: "too_large /data"},
		{name: "an attribute of 4 KB", data: "{" + good + "}", attribute: "sessionid", value: id4K, binary: "too_large /sessionid"},
		{name: "a tenant that fits no subject", data: "{" + good + "}", attribute: "tenant", value: strings.Repeat("/", 100), binary: "too_large /tenant"},
		{name: "a time before the range", data: "{" + good + "}", attribute: "time", value: "1899-12-31T23:59:59Z", binary: "attribute /time"},
		{name: "a time behind the range", data: "{" + good + "}", attribute: "time", value: "2262-01-01T00:00:00Z", binary: "attribute /time"},
		{name: "a time that an offset brings into range", data: "{" + good + "}", attribute: "time", value: "1899-12-31T23:30:00-01:00"},
		{name: "a time of year 10000", data: "{" + good + "}", attribute: "time", value: "10000-01-01T00:00:00Z", binary: "attribute /time"},
		{name: "no time", data: "{" + good + "}", attribute: "time", value: "now", binary: "attribute /time"},
		{name: "a day that is none", data: data(`"x":1`), attribute: "recordedtime", value: "2026-02-30T00:00:00Z", binary: "attribute /recordedtime"},
		{name: "data names another id", data: data(`"turn_id":"turn-4"`), binary: "id_mismatch /data/turn_id"},
		{name: "data names an id that the attributes lack", data: data(`"task_id":"task-1"`), binary: "id_mismatch /data/task_id"},
		{name: "data names another type", data: strings.Replace("{"+good+"}", "context.exported", "context.item.added", 1), binary: "id_mismatch /data/event_type"},
		{name: "data names the same id", data: data(`"turn_id":"turn-3"`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			header := make(map[string][]string)
			document := "{"
			for name, value := range attributes {
				if name == c.attribute {
					continue
				}
				header["ce-"+name] = []string{percentEncode(value)}
				document += fmt.Sprintf("%q:%q,", name, value)
			}
			if c.attribute != "" {
				header["ce-"+c.attribute] = []string{percentEncode(c.value)}
				document += fmt.Sprintf("%q:\"%s\",", c.attribute, strings.ReplaceAll(c.value, "\x00", `\u0000`))
			}
			document += `"data":` + c.data + "}"
			if c.structured == "" {
				c.structured = c.binary
			}
			if got := answer(header, c.data); !strings.HasPrefix(got, c.binary) || c.binary == "" && got != "" {
				t.Errorf("binary: got %q, want %q", got, c.binary)
			}
			if got := answer(map[string][]string{"Content-Type": {structuredJSON}}, document); !strings.HasPrefix(got, c.structured) || c.structured == "" && got != "" {
				t.Errorf("structured: got %q, want %q", got, c.structured)
			}
		})
	}
}

// answer is the first violation of a message, or "".
func answer(header map[string][]string, payload string) string {
	e, err := ParseMessage(header, []byte(payload))
	if err != nil {
		var v *Violation
		if !errors.As(err, &v) {
			return "an error that is no violation: " + err.Error()
		}
		return string(v.Code) + " " + v.Pointer
	}
	if _, found := Validate(e); len(found) > 0 {
		return string(found[0].Code) + " " + found[0].Pointer
	}
	return ""
}
