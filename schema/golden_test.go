package schema

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// goldenEvent parses the golden event of t.
func goldenEvent(t testing.TB, kind Type) *Event {
	t.Helper()
	e, err := ParseStructured(Golden(kind))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return e
}

// canonicalJSON returns text in its shortest form with sorted names.
func canonicalJSON(t testing.TB, text []byte) string {
	t.Helper()
	v := jsontext.Value(bytes.Clone(text))
	if err := v.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(v)
}

func TestGoldenEveryType(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("golden/*.json")
	if err != nil || len(files) != len(Types()) {
		t.Fatalf("%d golden events for %d types, %v", len(files), len(Types()), err)
	}
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			e := goldenEvent(t, kind)
			fact, found := Validate(e)
			if len(found) > 0 {
				t.Fatal(found)
			}
			if fact.EventType() != kind || e.DataSchema != kind.DataSchema() || e.Subject != fact.RecordID() {
				t.Errorf("type %s, dataschema %s, subject %q, record %q", fact.EventType(), e.DataSchema, e.Subject, fact.RecordID())
			}
			// Nothing in a golden event is unknown to the Go type.
			if err := json.Unmarshal(e.Data, kind.New(), json.RejectUnknownMembers(true)); err != nil {
				t.Error(err)
			}
			again, err := NewEvent(fact, e.ID, e.Source, e.Time, e.Correlation)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := canonicalJSON(t, again.Data), canonicalJSON(t, e.Data); got != want {
				t.Errorf("encoded again:\n%s\nwant\n%s", got, want)
			}
			sameInBothModes(t, e)
		})
	}
}

// sameInBothModes writes and reads e in both modes. It checks that digest, attributes and data
// are the same.
func sameInBothModes(t testing.TB, e *Event) {
	t.Helper()
	binary := e.Binary()
	structured, err := e.Structured()
	if err != nil {
		t.Fatal(err)
	}
	want := hex.EncodeToString(sum(e))
	for mode, m := range map[string]Message{"binary": binary, "structured": structured} {
		got, err := ParseMessage(m.Header, m.Data)
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if digest := hex.EncodeToString(sum(got)); digest != want {
			t.Errorf("%s: digest %s, want %s\n%v\n%v", mode, digest, want, got.Attributes(), e.Attributes())
		}
		if m.Subject != SubjectOf(e).String() || m.Header[MsgIDHeader][0] != e.MessageID() {
			t.Errorf("%s: subject %q, message id %q", mode, m.Subject, m.Header[MsgIDHeader])
		}
	}
}

func sum(e *Event) []byte { d := e.Digest(); return d[:] }

// TestGoldenDigests checks digest, identity, message id and subject against fixed values.
// Streams, tables and packs contain these values.
func TestGoldenDigests(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, kind := range Types() {
		e := goldenEvent(t, kind)
		b.WriteString(string(kind) + "\n  digest     " + hex.EncodeToString(sum(e)) + "\n  message id " + e.MessageID() + "\n  subject    " + SubjectOf(e).String() + "\n")
	}
	schematest.HoldToFile(t, "testdata/digests.txt", b.String())
}
