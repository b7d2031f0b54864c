package projector

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

const secret = "hunter2/Straße-42"

// testRing is the keys of the tenant acme in the tests.
func testRing(tb testing.TB) schema.KeyRing {
	tb.Helper()
	key, err := schema.NewKey(strings.NewReader(strings.Repeat("k", 32)), time.Unix(0, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return schema.KeyRing{Tenant: "acme", Keys: []schema.Key{key}}
}

func testKeys(tb testing.TB) func() ([]schema.KeyRing, error) {
	ring := testRing(tb)
	return func() ([]schema.KeyRing, error) { return []schema.KeyRing{ring}, nil }
}

// redaction is the fact that withholds values.
func redaction(tb testing.TB, id int, values ...string) *schema.Event {
	tb.Helper()
	f, err := schema.NewFingerprinter(testRing(tb).Current())
	if err != nil {
		tb.Fatal(err)
	}
	fact := &schema.RedactionApplied{
		Common:      schema.Common{PolicyRefs: []schema.Ref{"policy:secrets"}},
		RedactionID: fmt.Sprintf("redaction-%d", id), TargetRef: "item-1", RedactionState: schema.RedactionMasked, Reason: "secret",
	}
	for _, v := range values {
		fp, ok := f.Of([]byte(v))
		if !ok {
			tb.Fatal("no fingerprint")
		}
		fact.Fingerprints = append(fact.Fingerprints, fp)
	}
	e, err := schema.NewEvent(fact, fmt.Sprintf("redaction-event-%d", id), "urn:ctxledger:test", stored, schema.Correlation{Tenant: "acme", SessionID: "s-1"})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// foreign returns the event id with a change to its data's metadata.
func foreign(id int, metadata string) *schema.Event {
	e := event(id, 0)
	e.Data = append(e.Data[:len(e.Data)-1:len(e.Data)-1], `,"metadata":`+metadata+`}`...)
	return e
}

// escaped writes every character of a JSON string as an escape.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

func structured(e *schema.Event) schema.Message {
	m, err := e.Structured()
	if err != nil {
		panic(err)
	}
	return m
}

// disguises are the ways in which a foreign producer sends a value, each under
// an event id of its own from first on.
func disguises(first int, value string) map[string]schema.Message {
	with := func(e *schema.Event, change func(*schema.Event)) *schema.Event {
		change(e)
		return e
	}
	quoted := func(s string) string { q, _ := jsontext.AppendQuote(nil, s); return string(q) }
	list := map[string]schema.Message{
		"raw":              foreign(first, `{"note":`+quoted("it is "+value+" now")+`}`).Binary(),
		"escaped":          foreign(first+1, `{"note":"x`+escaped(value)+`"}`).Binary(),
		"in a key":         foreign(first+2, `{`+quoted(value)+`:1}`).Binary(),
		"in an inner text": foreign(first+3, `{"note":`+quoted(`{"deep":`+quoted(`{"deeper":"`+escaped(value)+`"}`)+`}`)+`}`).Binary(),
		"in an attribute":  with(event(first+4, 0), func(e *schema.Event) { e.TraceState = "v=" + value }).Binary(),
		"in the id":        with(event(first+5, 0), func(e *schema.Event) { e.ID = "id " + value }).Binary(),
		"in the source":    with(event(first+6, 0), func(e *schema.Event) { e.Source = "urn:x:" + value }).Binary(),
		"structured":       structured(with(event(first+7, 0), func(e *schema.Event) { e.Subject = value })),
		"beside a digest":  foreign(first+8, `{"note":`+quoted(value)+`,"digest":"`+strings.Repeat("ab", 32)+`"}`).Binary(),
		"several times":    foreign(first+9, `{"note":`+quoted(value+value)+`,"more":[`+quoted(value)+`]}`).Binary(),
	}
	quotedHeader := event(first+10, 0).Binary()
	quotedHeader.Header["ce-note"] = []string{`"a\` + value + `"`}
	list["in a quoted header"] = quotedHeader
	inSubject := event(first+11, 0).Binary()
	inSubject.Subject = strings.Replace(inSubject.Subject, ".unnamed.", "."+schema.Subject{Tenant: value}.String()[len("ctx.v1."):], 1)
	list["in the NATS subject"] = schema.Message{Subject: strings.TrimRight(inSubject.Subject, "."), Header: inSubject.Header, Data: inSubject.Data}
	broken := foreign(first+12, `{"note":"`+escaped(value)+`"`).Binary()
	list["in broken JSON"] = broken
	inBase64 := structured(event(first+13, 0))
	at := bytes.Index(inBase64.Data, []byte(`"data":`))
	inBase64.Data = append(inBase64.Data[:at:at], `"data_base64":"`+base64.StdEncoding.EncodeToString(foreign(first+13, `{"note":`+quoted(value)+`}`).Data)+`"}`...)
	list["in base64 data"] = inBase64
	named := event(first+14, 0).Binary()
	named.Header["X-"+strings.ToUpper("hunter2straight")] = []string{"1"}
	list["in the name of a header, in capitals"] = named
	return list
}

// withheldValues are what the redactions of the tests withhold.
var withheldValues = []string{secret, "x-hunter2straight"}

// traces are the forms in which a value must be nowhere.
func traces(value string) []string {
	list := []string{value, strings.ToUpper(value), escaped(value), schema.Subject{Tenant: value}.String()[len("ctx.v1.") : len("ctx.v1.")+len(value)]}
	for skip := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte("\x00\x00\x00"[:skip] + value))
		list = append(list, coded[4:len(coded)-4])
	}
	return list
}

func sifted(tb testing.TB, values []ledger.Withheld, messages ...schema.Message) []decode.Event {
	tb.Helper()
	keys, err := readKeys(testKeys(tb))
	if err != nil {
		tb.Fatal(err)
	}
	w := newWithheld(keys)
	for _, v := range values {
		w.learn(v)
	}
	all := make([]decode.Event, len(messages))
	for i, m := range messages {
		all[i] = decode.One(at(uint64(i+1), m))
	}
	return w.sift(all)
}

// keptText is all that is kept of a message, as text.
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
	known := withheldOf(t, withheldValues...)
	for name, m := range disguises(0, secret) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := at(1, m)
			got := sifted(t, known, m)[0]
			if !got.Reintroduced || len(got.Violations) != 1 || got.Violations[0].Code != schema.CodeReintroduced {
				t.Fatalf("it is kept: %+v", got)
			}
			all := keptText(got)
			for _, value := range withheldValues {
				for _, trace := range traces(value) {
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
			if !reflect.DeepEqual(before, at(1, m)) {
				t.Error("the message was changed")
			}
		})
	}
}

func withheldOf(tb testing.TB, values ...string) []ledger.Withheld {
	e := redaction(tb, 1, values...)
	fact, _ := schema.Validate(e)
	return withheldBy(e, fact)
}

func TestSiftGoesByTheOrderOfTheStream(t *testing.T) {
	t.Parallel()
	value := foreign(1, `{"note":"`+secret+`"}`).Binary()
	others := foreign(2, `{"note":"`+secret+`"}`)
	others.Tenant = "umbrella"
	nobodys := schema.Message{Subject: "noise", Data: []byte(secret)}
	again := redaction(t, 2, secret)
	loud := redaction(t, 3, "another value")
	loud.Data = bytes.Replace(loud.Data, []byte(`"reason":"secret"`), []byte(`"reason":"it was `+secret+`"`), 1)
	got := sifted(t, nil, value, nobodys, redaction(t, 1, secret).Binary(), value, others.Binary(), nobodys, again.Binary(), loud.Binary(), event(3, 0).Binary())
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
	w := newWithheld(fingerprinters{})
	for _, v := range withheldOf(t, secret) {
		w.learn(v)
	}
	if got := w.sift([]decode.Event{decode.One(at(1, foreign(1, `{"note":"`+secret+`"}`).Binary()))}); got[0].Reintroduced || len(w.tenants) > 0 {
		t.Error("a value is recognised without the key")
	}
}

// TestSiftOfWordsAsShortAsAValue: a header is gone through if it is as long as the
// shortest value, in the form in which it comes and with its name in small letters.
func TestSiftOfWordsAsShortAsAValue(t *testing.T) {
	t.Parallel()
	keys, err := readKeys(testKeys(t))
	if err != nil {
		t.Fatal(err)
	}
	w := newWithheld(keys)
	for _, value := range withheldOf(t, "a value that is longer than the others", "x-\u2c65\u2c65\u2c65\u2c65", "exactly-so-far") {
		w.learn(value)
	}
	for name, change := range map[string]func(schema.Message){
		"value":                       func(m schema.Message) { m.Header["x"] = []string{"exactly-so-far"} },
		"name that grows in small":    func(m schema.Message) { m.Header["X-\u023a\u023a\u023a\u023a"] = []string{""} },
		"value with an escape":        func(m schema.Message) { m.Header["x"] = []string{"e%78actly-so-far"} },
		"second value of one header":  func(m schema.Message) { m.Header["x"] = []string{"", "exactly-so-far"} },
		"value beside shorter values": func(m schema.Message) { m.Header["x"], m.Header["y"] = []string{"short"}, []string{"exactly-so-far"} },
	} {
		m := event(1, 0).Binary()
		change(m)
		if got := w.sift([]decode.Event{decode.One(at(1, m))}); !got[0].Reintroduced {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestRangeTellsNothing: the digest of a range, which the journal and commits
// keep, is the same whatever value came back.
func TestRangeTellsNothing(t *testing.T) {
	t.Parallel()
	p := &Projector{unknown: make(map[unknownKey]bool)}
	p.config.Keys = testKeys(t)
	keys, err := readKeys(p.config.Keys)
	if err != nil {
		t.Fatal(err)
	}
	p.withheld = newWithheld(keys)
	for _, v := range withheldOf(t, "pin-code-0001", "pin-code-0002") {
		p.withheld.learn(v)
	}
	named := func(pin string) ledger.Range {
		p.seen = newIdentities(minCapacity)
		b, err := p.assemble(t.Context(), []*streamio.Message{at(1, event(1, 0).Binary()), at(2, foreign(2, `{"note":"`+pin+`"}`).Binary())})
		if err != nil {
			t.Fatal(err)
		}
		return b.Range
	}
	one, two, harmless := named("pin-code-0001"), named("pin-code-0002"), named("pin-code-0003")
	if !one.Same(two) || one.Same(harmless) {
		t.Error("the range depends on the value")
	}
}

func TestSiftHarmsNothingElse(t *testing.T) {
	t.Parallel()
	known := withheldOf(t, secret)
	rapid.Check(t, func(r *rapid.T) {
		m := event(rapid.IntRange(0, 9).Draw(r, "id"), 0).Binary()
		if rapid.Bool().Draw(r, "poison") {
			m = poison().Draw(r, "message")
		}
		if got, want := sifted(t, known, m)[0], decode.One(at(1, m)); !reflect.DeepEqual(got, want) {
			r.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

// jsonWith draws a JSON string of a text in which any character may be escaped.
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

// TestMaskLeavesTheRest: what is around a value, read as JSON, is what it was.
func TestMaskLeavesTheRest(t *testing.T) {
	t.Parallel()
	keys, err := readKeys(testKeys(t))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		around := rapid.StringMatching(`[a-zé" \n]{0,20}`)
		value := rapid.StringMatching(`[A-ZÉ/0-9]{8,20}`).Draw(r, "value")
		before, after := around.Draw(r, "before"), around.Draw(r, "after")
		w := newWithheld(keys)
		for _, v := range withheldOf(t, value) {
			w.learn(v)
		}
		document := `{"note":"` + jsonWith(r, before+value+after) + `"}`
		k := keeper{watches: w.of(nil, []string{"acme"})}
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
	keys, err := readKeys(testKeys(b))
	if err != nil {
		b.Fatal(err)
	}
	e := foreign(1, `{"note":"`+strings.Repeat("The quick brown fox. ", 45)+`"}`)
	m := decode.One(at(1, e.Binary()))
	escapes := foreign(1, `{"note":"`+strings.Repeat(`The quick\nbrown fox. `, 45)+`"}`)
	me := decode.One(at(1, escapes.Binary()))
	for _, c := range []struct {
		name   string
		values []string
		m      decode.Event
	}{{"none", nil, m}, {"one", []string{secret}, m}, {"one, escapes", []string{secret}, me}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWithheld(keys)
			if len(c.values) > 0 {
				for _, v := range withheldOf(b, c.values...) {
					w.learn(v)
				}
			}
			all := []decode.Event{c.m}
			b.SetBytes(int64(len(c.m.Data)))
			b.ReportAllocs()
			for b.Loop() {
				w.sift(all)
			}
		})
	}
}

// Whose values are looked for in a message, by the rules of its place.
func TestWhoseValuesAreLookedFor(t *testing.T) {
	t.Parallel()
	nobodys := schema.Message{Subject: "ctx.v1.%.rt.p00.item.added", Data: []byte("x")}
	for name, c := range map[string]struct {
		message      schema.Message
		older, today []string
	}{
		"its own":                {event(1, 0).Binary(), []string{"acme"}, []string{"acme"}},
		"on another's subject":   {on("zeta", event(1, 0)), []string{"zeta", "acme"}, []string{"zeta"}},
		"the empty token":        {nobodys, []string{""}, []string{"%"}},
		"no subject of any kind": {schema.Message{Subject: "noise", Data: []byte("x")}, nil, nil},
		"a subject cut short":    {schema.Message{Subject: "ctx.v1.zeta.x", Data: []byte("x")}, nil, []string{"zeta"}},
	} {
		for rules, want := range map[ledger.Rules][]string{ledger.EnvelopeRules: c.older, ledger.SubjectRules: c.today} {
			m := at(1, c.message)
			m.Rules = rules
			p := decode.One(m)
			if got := appendTenants(nil, &p); !slices.Equal(got, want) {
				t.Errorf("%s, rules %d: %q, want %q", name, rules, got, want)
			}
		}
	}
}
