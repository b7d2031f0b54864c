package redact_test

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

func fingerprinter(t testing.TB, secret string) fingerprint.Hasher {
	t.Helper()
	key, err := schema.NewKey(bytes.NewReader([]byte(secret)), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fingerprint.New(key)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestGuardFingerprints(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, "0123456789abcdef0123456789abcdef")
	one, _ := f.Of([]byte("sk-proj-1111"))
	more := redact.Withhold("sk-proj-2222", "pol:2", "secret")
	larger, err := guard(t, "sk-proj-1111", "short").Fingerprinted(f).With(more)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := (*redact.Guard)(nil).Fingerprinted(f).With(more)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := f.Of([]byte("sk-proj-2222"))
	for _, test := range []struct {
		guard *redact.Guard
		text  string
		want  *schema.Fingerprint
	}{
		{larger, "SK-PROJ-1111", &one}, {larger, "short", nil}, {larger, "sk-proj-2222", &two}, {alone, "sk-proj-2222", &two},
		{guard(t, "sk-proj-1111"), "sk-proj-1111", nil},
	} {
		hits := test.guard.Check(test.text)
		if len(hits) != 1 || !reflect.DeepEqual(hits[0].Fingerprint, test.want) {
			t.Errorf("%s: %+v", test.text, hits)
		}
	}
	for _, document := range []string{`{"a":"sk-proj-2222"}`, `["sk-proj","-2222"]`} {
		if _, hits, err := alone.MaskJSON([]byte(document)); err != nil || len(hits) == 0 || *hits[0].Fingerprint != two {
			t.Errorf("%s: %+v, %v", document, hits, err)
		}
	}
}
