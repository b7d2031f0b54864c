package claudecode

import (
	"bytes"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/go-json-experiment/json"
)

// FuzzReadRecord: the fast reader and the decoder read the same record.
func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"type":"user","uuid":"u","parentUuid":null,"isMeta":true,"message":{"id":"m","content":[{"type":"text","text":"a\nb"}],"usage":{"output_tokens":3}},"compactMetadata":{"preTokens":7}}`))
	f.Add([]byte(`{"a":1,"type":"x","a":2}`))
	f.Add([]byte(`{"uuid":"\u0061","message":{"content":"é"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return
		}
		text = bytes.TrimSpace(text)
		same(t, text, (*claudeRecord).Read)
		same(t, text, (*indexRecord).Read)
	})
}

func same[T any](t *testing.T, text []byte, read func(*T, *jsonscan.Cursor) bool) {
	t.Helper()
	got, want := new(T), new(T)
	if new(jsonscan.Lines).Read(text, func(c *jsonscan.Cursor) bool { return read(got, c) }) {
		if err := json.Unmarshal(text, want, jsonscan.Lenient); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %+v, want %+v, %v", text, got, want, err)
		}
	}
}

// TestReadersTakeEveryMember: the reader of a struct accepts the same members as the decoder.
func TestReadersTakeEveryMember(t *testing.T) {
	t.Parallel()
	everyMember(t, (*claudeRecord).Read)
	everyMember(t, (*claudeMessage).Read)
	everyMember(t, (*indexRecord).Read)
	everyMember(t, (*indexMessage).Read)
}

func everyMember[T any](t *testing.T, read func(*T, *jsonscan.Cursor) bool) {
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
			taken = taken || json.Unmarshal(text, &one, jsonscan.Lenient) == nil && !reflect.ValueOf(one).IsZero()
		}
		if !taken {
			t.Errorf("no value sets %s of %s", name, of)
		}
	}
}
