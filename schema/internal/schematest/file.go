package schematest

import (
	"bytes"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// HoldToFile compares got with a committed file. UPDATE=1 writes the file.
func HoldToFile(t testing.TB, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

// Instance parses JSON text for a validator.
func Instance(t testing.TB, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// SetMembers returns an object with members added or replaced. A member whose text is empty is
// removed.
func SetMembers(t testing.TB, object []byte, members map[string]string) []byte {
	t.Helper()
	var data map[string]jsontext.Value
	if err := json.Unmarshal(object, &data); err != nil {
		t.Fatal(err)
	}
	for name, text := range members {
		if text == "" {
			delete(data, name)
		} else {
			data[name] = jsontext.Value(text)
		}
	}
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
