package leak

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

func sifted(tb testing.TB, values []privacy.Withheld, messages ...schema.Message) []decode.Event {
	tb.Helper()
	keys, err := ReadKeys(projectortest.Keys(tb))
	if err != nil {
		tb.Fatal(err)
	}
	w := NewValues(keys)
	for _, v := range values {
		w.Learn(v)
	}
	all := make([]decode.Event, len(messages))
	for i, m := range messages {
		all[i] = decode.One(projectortest.At(uint64(i+1), m))
	}
	return w.Find(all)
}

// keptText returns everything that is kept of a message, as text.
func keptText(m decode.Event) string {
	var b strings.Builder
	fmt.Fprintln(&b, m.Subject, m.Header, string(m.Data), m.Violations.Error())
	if m.Envelope != nil {
		fmt.Fprintf(&b, "%+v\n", *m.Envelope)
	}
	return b.String()
}

func TestSiftTakesEveryDisguiseOff(t *testing.T) {
	t.Parallel()
	known := projectortest.Withheld(t, projectortest.WithheldValues...)
	for name, m := range projectortest.Disguises(0, projectortest.Secret) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := projectortest.At(1, m)
			got := sifted(t, known, m)[0]
			if !got.Reintroduced || len(got.Violations) != 1 || got.Violations[0].Code != schema.CodeReintroduced {
				t.Fatalf("it is kept: %+v", got)
			}
			all := keptText(got)
			for _, value := range projectortest.WithheldValues {
				for _, trace := range projectortest.TracesOf(value) {
					if strings.Contains(all, trace) {
						t.Errorf("%q is in\n%s", trace, all)
					}
				}
			}
			if strings.Contains(all, strings.Repeat("ab", 20)) || len(got.Header[schema.MsgIDHeader]) > 0 {
				t.Errorf("a digest of what was sent is kept:\n%s", all)
			}
			if !strings.Contains(got.Violations.Error(), "[redacted:policy:secrets]") {
				t.Errorf("the policy is not named: %v", got.Violations)
			}
			if !reflect.DeepEqual(before, projectortest.At(1, m)) {
				t.Error("the message was changed")
			}
		})
	}
}

func TestSiftGoesByTheOrderOfTheStream(t *testing.T) {
	t.Parallel()
	value := projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary()
	others := projectortest.Foreign(2, `{"note":"`+projectortest.Secret+`"}`)
	others.Tenant = "umbrella"
	nobodys := schema.Message{Subject: "noise", Data: []byte(projectortest.Secret)}
	again := projectortest.Redaction(t, 2, projectortest.Secret)
	loud := projectortest.Redaction(t, 3, "another value")
	loud.Data = bytes.Replace(loud.Data, []byte(`"reason":"secret"`), []byte(`"reason":"it was `+projectortest.Secret+`"`), 1)
	got := sifted(t, nil, value, nobodys, projectortest.Redaction(t, 1, projectortest.Secret).Binary(), value, others.Binary(), nobodys, again.Binary(), loud.Binary(), projectortest.Event(3, 0).Binary())
	var hits []bool
	for _, m := range got {
		hits = append(hits, m.Reintroduced)
	}
	if want := []bool{false, false, false, true, false, true, false, true, false}; !reflect.DeepEqual(hits, want) {
		t.Errorf("recognised %v, want %v", hits, want)
	}
}

func TestSiftNeedsTheKey(t *testing.T) {
	t.Parallel()
	w := NewValues(Keys{})
	for _, v := range projectortest.Withheld(t, projectortest.Secret) {
		w.Learn(v)
	}
	if got := w.Find([]decode.Event{decode.One(projectortest.At(1, projectortest.Foreign(1, `{"note":"`+projectortest.Secret+`"}`).Binary()))}); got[0].Reintroduced || len(w.tenants) > 0 {
		t.Error("a value is recognised without the key")
	}
}

// TestSiftOfWordsAsShortAsAValue: a header is searched if it is as long as the shortest value.
// The search covers the header as received, and its name in lower case.
func TestSiftOfWordsAsShortAsAValue(t *testing.T) {
	t.Parallel()
	keys, err := ReadKeys(projectortest.Keys(t))
	if err != nil {
		t.Fatal(err)
	}
	w := NewValues(keys)
	for _, value := range projectortest.Withheld(t, "a value that is longer than the others", "x-\u2c65\u2c65\u2c65\u2c65", "exactly-so-far") {
		w.Learn(value)
	}
	for name, change := range map[string]func(schema.Message){
		"value":                       func(m schema.Message) { m.Header["x"] = []string{"exactly-so-far"} },
		"name that grows in small":    func(m schema.Message) { m.Header["X-\u023a\u023a\u023a\u023a"] = []string{""} },
		"value with an escape":        func(m schema.Message) { m.Header["x"] = []string{"e%78actly-so-far"} },
		"second value of one header":  func(m schema.Message) { m.Header["x"] = []string{"", "exactly-so-far"} },
		"value beside shorter values": func(m schema.Message) { m.Header["x"], m.Header["y"] = []string{"short"}, []string{"exactly-so-far"} },
	} {
		m := projectortest.Event(1, 0).Binary()
		change(m)
		if got := w.Find([]decode.Event{decode.One(projectortest.At(1, m))}); !got[0].Reintroduced {
			t.Errorf("%s: not found", name)
		}
	}
}

func TestSiftHarmsNothingElse(t *testing.T) {
	t.Parallel()
	known := projectortest.Withheld(t, projectortest.Secret)
	rapid.Check(t, func(r *rapid.T) {
		m := projectortest.Event(rapid.IntRange(0, 9).Draw(r, "id"), 0).Binary()
		if rapid.Bool().Draw(r, "poison") {
			m = projectortest.Poison().Draw(r, "message")
		}
		if got, want := sifted(t, known, m)[0], decode.One(projectortest.At(1, m)); !reflect.DeepEqual(got, want) {
			r.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// jsonWith draws a JSON string of a text, in which any character may be escaped.
func jsonWith(t *rapid.T, s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x20 || r == '"' || r == '\\' || r < 0x10000 && rapid.IntRange(0, 2).Draw(t, "escape") == 0 {
			fmt.Fprintf(&b, `\u%04X`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestMaskLeavesTheRest: the text around a value, read as JSON, is unchanged.
func TestMaskLeavesTheRest(t *testing.T) {
	t.Parallel()
	keys, err := ReadKeys(projectortest.Keys(t))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		around := rapid.StringMatching(`[a-zé" \n]{0,20}`)
		value := rapid.StringMatching(`[A-ZÉ/0-9]{8,20}`).Draw(r, "value")
		before, after := around.Draw(r, "before"), around.Draw(r, "after")
		w := NewValues(keys)
		for _, v := range projectortest.Withheld(t, value) {
			w.Learn(v)
		}
		document := `{"note":"` + jsonWith(r, before+value+after) + `"}`
		k := masker{set: w.Of(nil, []string{"acme"})}
		masked := string(k.payload([]byte(document)))
		inner, err := jsontext.AppendUnquote(nil, strings.TrimSuffix(strings.TrimPrefix(masked, `{"note":`), "}"))
		if err != nil || string(inner) != before+"[redacted:policy:secrets]"+after {
			r.Fatalf("%s became %s, want %q around it: %v", document, masked, before+"…"+after, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`a\u00e9b`, `\ud83d\ude00\`, `%41%4`, `\u12`, `{"data_base64":"aGk="}`, "\\\\u0041", `\ud83d\u0041`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		check := func(layer *text, whole *span) {
			last := 0
			for i := range len(layer.bytes) + 1 {
				from := layer.origin(i)
				if whole == nil && (from < last || from > len(b)) {
					t.Fatalf("byte %d of %q comes from %d after %d", i, layer.bytes, from, last)
				}
				last = from
			}
			if whole != nil && (whole.start > whole.end || whole.end > len(b)) {
				t.Fatalf("%v is not within %q", *whole, b)
			}
		}
		eachPayload(b, check)
		eachWord(b, check)
		if quoted := (&text{bytes: b}).decode(backslash); quoted != nil {
			if want, err := jsontext.AppendUnquote(nil, `"`+string(b)+`"`); err == nil && string(want) != string(quoted.bytes) {
				t.Fatalf("%q decodes to %q, want %q", b, quoted.bytes, want)
			}
		}
		if !bytes.Equal(b, before) {
			t.Fatal("the text was changed")
		}
	})
}

func BenchmarkSift(b *testing.B) {
	keys, err := ReadKeys(projectortest.Keys(b))
	if err != nil {
		b.Fatal(err)
	}
	e := projectortest.Foreign(1, `{"note":"`+strings.Repeat("The quick brown fox. ", 45)+`"}`)
	m := decode.One(projectortest.At(1, e.Binary()))
	escapes := projectortest.Foreign(1, `{"note":"`+strings.Repeat(`The quick\nbrown fox. `, 45)+`"}`)
	me := decode.One(projectortest.At(1, escapes.Binary()))
	many := make([]string, 10_000) // a thousand redactions of the SDK, which have about ten forms each
	for i := range many {
		many[i] = fmt.Sprintf("%08x is withheld", uint32(i)*2654435761)
	}
	for _, c := range []struct {
		name   string
		values []string
		m      decode.Event
	}{{"none", nil, m}, {"one", []string{projectortest.Secret}, m}, {"one, escapes", []string{projectortest.Secret}, me}, {"ten thousand", many, m}} {
		b.Run(c.name, func(b *testing.B) {
			w := NewValues(keys)
			if len(c.values) > 0 {
				for _, v := range projectortest.Withheld(b, c.values...) {
					w.Learn(v)
				}
			}
			all := []decode.Event{c.m}
			b.SetBytes(int64(len(c.m.Data)))
			b.ReportAllocs()
			for b.Loop() {
				w.Find(all)
			}
		})
	}
}

// The tenants whose values are looked for in a message, by the rules of its place.
func TestWhoseValuesAreLookedFor(t *testing.T) {
	t.Parallel()
	nobodys := schema.Message{Subject: "ctx.v1.%.rt.p00.item.added", Data: []byte("x")}
	for name, c := range map[string]struct {
		message      schema.Message
		older, today []string
	}{
		"its own":                {projectortest.Event(1, 0).Binary(), []string{"acme"}, []string{"acme"}},
		"on another's subject":   {projectortest.On("zeta", projectortest.Event(1, 0)), []string{"zeta", "acme"}, []string{"zeta"}},
		"the empty token":        {nobodys, []string{""}, []string{"%"}},
		"no subject of any kind": {schema.Message{Subject: "noise", Data: []byte("x")}, nil, nil},
		"a subject cut short":    {schema.Message{Subject: "ctx.v1.zeta.x", Data: []byte("x")}, nil, []string{"zeta"}},
	} {
		for rules, want := range map[ledger.Rules][]string{ledger.EnvelopeRules: c.older, ledger.SubjectRules: c.today} {
			m := projectortest.At(1, c.message)
			m.Rules = rules
			p := decode.One(m)
			if got := appendTenants(nil, &p); !slices.Equal(got, want) {
				t.Errorf("%s, rules %d: %q, want %q", name, rules, got, want)
			}
		}
	}
}

// TestSiftSearchesRevocations: a revocation may name a redaction whose id holds a value. Nothing else of
// it may hold the value.
func TestSiftSearchesRevocations(t *testing.T) {
	t.Parallel()
	known := projectortest.Withheld(t, projectortest.Secret)
	for more, hit := range map[string]bool{"": false, `"note":"` + projectortest.Secret + `",`: true, `"metadata":{"was":"` + projectortest.Secret + `"},`: true} {
		revoke, err := schema.NewEvent(&schema.RedactionRevoked{
			Common: schema.Common{PolicyRefs: schema.Refs("policy:review")}, RedactionID: projectortest.Secret, Reason: "by mistake",
		}, "revocation", "urn:ctxledger:test", projectortest.Stored, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
		if err != nil {
			t.Fatal(err)
		}
		revoke.Data = append([]byte("{"+more), revoke.Data[1:]...)
		if got := sifted(t, known, revoke.Binary())[0]; got.Reintroduced != hit || !hit && len(got.Violations) > 0 {
			t.Errorf("with %q recognised: %v; %v", more, got.Reintroduced, got.Violations)
		}
	}
}
