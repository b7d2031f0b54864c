package importer

import (
	"bytes"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzReadRecord: a record that is read without a decoder is what the decoder reads.
func FuzzReadLineOfCodex(f *testing.F) {
	f.Add([]byte(`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message"},"record_type":null}`))
	f.Add([]byte(`{"a":1,"type":"x","a":2}`))
	f.Add([]byte(`{"timestamp":"\u0061","payload":{"content":"é"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		text = bytes.TrimSpace(text)
		var read, decoded codexLine
		none := func(string) codexPayload { return nil }
		if readLine(text, func(c *cursor) bool { return read.members(c, none) }) {
			dec := jsontext.NewDecoder(bytes.NewBuffer(text), lenient)
			if err := decoded.decode(dec); err != nil || !reflect.DeepEqual(read, decoded) {
				t.Fatalf("%s: %+v, want %+v, %v", text, read, decoded, err)
			}
		}
	})
}
