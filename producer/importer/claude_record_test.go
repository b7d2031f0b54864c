package importer

import (
	"bytes"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// FuzzReadRecord: a record that is read without a decoder is what the decoder reads.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"type":"user","uuid":"u","parentUuid":null,"isMeta":true,"message":{"id":"m","content":[{"type":"text","text":"a\nb"}],"usage":{"output_tokens":3}},"compactMetadata":{"preTokens":7}}`))
	f.Add([]byte(`{"a":1,"type":"x","a":2}`))
	f.Add([]byte(`{"uuid":"\u0061","message":{"content":"é"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		text = bytes.TrimSpace(text)
		same(t, text, (*claudeRecord).read)
		same(t, text, (*indexRecord).read)
	})
}

func same[T any](t *testing.T, text []byte, read func(*T, *cursor) bool) {
	t.Helper()
	got, want := new(T), new(T)
	if readLine(text, func(c *cursor) bool { return read(got, c) }) {
		if err := json.Unmarshal(text, want, lenient); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, want %+v, %v", text, got, want, err)
		}
	}
}

// TestReadersTakeEveryMember: the members that a struct names for the decoder are those
// that its reader takes.
func TestReadersTakeEveryMember(t *testing.T) {
	t.Parallel()
	everyMember(t, (*claudeRecord).read)
	everyMember(t, (*claudeMessage).read)
	everyMember(t, (*indexRecord).read)
	everyMember(t, (*indexMessage).read)
}

func everyMember[T any](t *testing.T, read func(*T, *cursor) bool) {
	t.Helper()
	of := reflect.TypeFor[T]()
	for i := range of.NumField() {
		name, named := of.Field(i).Tag.Lookup("json")
		if !named {
			continue
		}
		taken := false
		for _, value := range []string{`null`, `"x"`, `true`, `{"id":"m","trigger":"auto"}`, `[]`} {
			text := []byte(`{"` + name + `":` + value + `}`)
			same(t, text, read)
			var one T
			taken = taken || json.Unmarshal(text, &one, lenient) == nil && !reflect.ValueOf(one).IsZero()
		}
		if !taken {
			t.Errorf("no value sets %s of %s", name, of)
		}
	}
}
