package codex

import (
	"bytes"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzReadRecord: the fast reader and the decoder read the same record.
func FuzzReadRecord(f *testing.F) {
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
		if new(jsonscan.Lines).Read(text, func(c *jsonscan.Cursor) bool { return read.Members(c, none) }) {
			dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsonscan.Lenient)
			if err := decoded.decode(dec); err != nil || !reflect.DeepEqual(read, decoded) {
				t.Fatalf("%s: %+v, want %+v, %v", text, read, decoded, err)
			}
		}
	})
}
