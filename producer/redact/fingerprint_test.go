package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

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
		if len(hits) != 1 || (test.want == nil) != (len(hits[0].Fingerprints) == 0) || test.want != nil && hits[0].Fingerprints[0] != *test.want {
			t.Errorf("%s: %+v", test.text, hits)
		}
	}
	for _, document := range []string{`{"a":"sk-proj-2222"}`, `["sk-proj","-2222"]`} {
		if _, hits, err := alone.MaskJSON([]byte(document)); err != nil || len(hits) == 0 || hits[0].Fingerprints[0] != two {
			t.Errorf("%s: %+v, %v", document, hits, err)
		}
	}
}

// TestDisguisesHaveFingerprints: a redaction recognises its value in each listed form.
func TestDisguisesHaveFingerprints(t *testing.T) {
	t.Parallel()
	f := fingerprinter(t, "0123456789abcdef0123456789abcdef")
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringOfN(rapid.OneOf(rapid.SampledFrom([]rune("aZ09-_/+%&<>\"' \n\u200bß")), rapid.Rune()), 8, 40, -1).Draw(t, "secret")
		if schema.HoldsWord(secret) {
			return
		}
		g, err := redact.New(redact.Withhold(secret, "pol:x", "secret"))
		if err != nil {
			t.Fatal(err)
		}
		hits := g.Fingerprinted(f).Check(secret)
		if len(hits) == 0 || len(hits[0].Fingerprints) > 20 {
			t.Fatalf("%q: %d hits", secret, len(hits))
		}
		scanner, err := f.Scanner(hits[0].Fingerprints)
		if err != nil {
			t.Fatal(err)
		}
		around := func(text string) string { return "before " + text + " after" }
		decimal, hexadecimal := "", ""
		for _, r := range secret {
			decimal += fmt.Sprintf("&#%d;", r)
			hexadecimal += fmt.Sprintf("&#x%x;", r)
		}
		pad := rapid.StringN(0, 4, -1).Draw(t, "pad")
		for form, text := range map[string]string{
			"verbatim": secret, "lower": strings.ToLower(secret), "upper": strings.ToUpper(secret),
			"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "named entities": html.EscapeString(secret),
			"decimal": decimal, "hexadecimal": hexadecimal,
			"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
			"base64": base64.StdEncoding.EncodeToString([]byte(pad + secret + pad)), "url base64": base64.RawURLEncoding.EncodeToString([]byte(pad + secret + pad)),
			"no line breaks": strings.NewReplacer("\n", "", "\r", "", "\u200b", "").Replace(secret),
		} {
			if len(text) >= fingerprint.Prefix && !strings.ContainsAny(secret, "\u00ad\u200c\u200d\u2060\ufeff") && len(scanner.Scan([]byte(around(text)))) == 0 {
				t.Fatalf("%s of %q is not found: %q", form, secret, text)
			}
		}
	})
}

// TestWordsOfTheContractAreNotWithheld: their redaction would stop every event.
func TestWordsOfTheContractAreNotWithheld(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"context.item.added", "event_type", "superseded_by_summary", "\"schema_version\":\"0.1.0\"", "ce-sessionid"} {
		var refused *redact.ValueError
		if _, err := redact.New(redact.Withhold(word, "pol:x", "secret")); !errors.As(err, &refused) || strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", word, err)
		}
	}
	f := fingerprinter(t, "0123456789abcdef0123456789abcdef")
	g, err := redact.New(redact.Withhold("EVENT_TYPE", "pol:x", "secret")) // in lower case it is one
	if err != nil {
		t.Fatal(err)
	}
	scanner, err := f.Scanner(g.Fingerprinted(f).Check("EVENT_TYPE")[0].Fingerprints)
	if err != nil || len(scanner.Scan(schema.Words())) > 0 {
		t.Errorf("a form of a value stops every event: %v", err)
	}
}
