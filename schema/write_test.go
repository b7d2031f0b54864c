package schema

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// sameAsEncoder compares the data of Encode with the encoder, and its violations with Validate,
// which decodes the data again.
func sameAsEncoder(t interface{ Fatalf(string, ...any) }, fact Fact, ids Correlation) (fast bool) {
	e := &Event{ID: "id", Source: "urn:x", Time: schematest.EventTime, Correlation: ids}
	found, err := e.Encode(fact)
	want, wantErr := json.Marshal(fact, json.Deterministic(true))
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%v, and the encoder says %v", err, wantErr)
	}
	if err != nil {
		return false
	}
	if !bytes.Equal(e.Data, want) {
		t.Fatalf("got  %s\nwant %s", e.Data, want)
	}
	if _, violations := Validate(e); !reflect.DeepEqual(found, violations) {
		t.Fatalf("got  %v\nwant %v\n%s", found, violations, e.Data)
	}
	_, fast = EncodeData(e, fact)
	return fast
}

// TestEncode compares the encoders on facts with fields set, left out, and set to values that
// break a rule.
func TestEncode(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			var fast, slow int
			// A kind of few plain facts is drawn again until there are enough of both.
			for round := 0; round < 5 && (fast < 10 || slow < 10); round++ {
				rapid.Check(t, func(t *rapid.T) {
					fact := kind.New()
					f := schematest.Filler{T: t}
					f.Fill(reflect.ValueOf(fact).Elem())
					spoil := spoiler{f, rapid.Bool().Draw(t, "plain"), rapid.IntRange(0, 10).Draw(t, "empty of 10"), rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "strange of 50")}
					spoil.value(reflect.ValueOf(fact).Elem())
					if sameAsEncoder(t, fact, spoil.ids(fact)) {
						fast++
					} else {
						slow++
					}
				})
			}
			if !testing.Short() && (fast < 10 || slow < 10) {
				t.Errorf("%d fast and %d not: too few to mean anything", fast, slow)
			}
		})
	}
}

// A spoiler goes over a filled fact, empties a part of it, and makes another
// part such that a rule, or a reader of JSON, may have something against it.
type spoiler struct {
	schematest.Filler
	plain   bool // leaves nothing that the fast writer gives up at
	empty   int  // of 10 values
	strange int  // of 50
}

func (s *spoiler) word() string {
	return rapid.SampledFrom([]string{"", "a", "completed", "final_answer", "granted", "turn.completed", "{", "{}", `{"status":"completed"}`, "é\n", "\xff"}).Draw(s.T, "word")
}

// ids are mostly those that the fact names.
func (s *spoiler) ids(fact Fact) (ids Correlation) {
	var members map[string]any
	if data, err := json.Marshal(fact); err == nil {
		_ = json.Unmarshal(data, &members)
	}
	for _, f := range CorrelationFields {
		*f.Of(&ids), _ = members[f.Column].(string)
		if rapid.IntRange(1, 50).Draw(s.T, "another id") <= s.strange {
			*f.Of(&ids) = s.word()
		}
	}
	return ids
}

func (s *spoiler) value(v reflect.Value) {
	inner := v.Type()
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	hard := inner == reflect.TypeOf(schematest.EventTime)
	switch {
	case inner == reflect.TypeFor[Type]():
	case v.Kind() == reflect.Struct && !hard:
		for i := range v.NumField() {
			s.value(v.Field(i))
		}
	case s.plain && hard, rapid.IntRange(1, 10).Draw(s.T, "empty") <= s.empty:
		v.SetZero()
	case s.plain && v.Kind() == reflect.String && v.String() != "" && v.String()[0] == '{', s.plain && v.Kind() == reflect.Interface:
		v.Set(reflect.ValueOf("x").Convert(inner))
	case rapid.IntRange(1, 50).Draw(s.T, "strange") <= s.strange:
		s.replace(v)
	case v.Kind() == reflect.Slice:
		v.SetLen(rapid.IntRange(0, v.Len()).Draw(s.T, "len"))
		for i := range v.Len() {
			s.value(v.Index(i))
		}
	case v.Kind() == reflect.Pointer:
		s.value(v.Elem())
	}
}

func (s *spoiler) replace(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.word())
	case reflect.Int64:
		v.SetInt(-1)
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), 5e-324, 1e21, 0.1}).Draw(s.T, "float"))
	case reflect.Interface:
		v.Set(reflect.ValueOf(s.word()))
	case reflect.Pointer:
		s.replace(v.Elem())
	case reflect.Map:
		name := rapid.SampledFrom([]string{"turn_status", "status", "answer", "kind", "granted", "session_id", "metadata", "validation", "Z", "<é>\n", "", "\xff"}).Draw(s.T, "name")
		value := reflect.Zero(v.Type().Elem())
		if value.Kind() == reflect.Interface {
			value = reflect.ValueOf(&[]any{s.plainJSON(0)}[0]).Elem()
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
}

// plainJSON is a value that somebody puts into metadata, or one that looks so.
func (s *spoiler) plainJSON(depth int) any {
	deeper := depth < 20 && rapid.Bool().Draw(s.T, "deeper")
	switch {
	case deeper && rapid.Bool().Draw(s.T, "list"):
		return []any{s.plainJSON(depth + 1), s.plainJSON(20)}
	case deeper:
		return map[string]any{"a": 1, s.word(): s.plainJSON(depth + 1), "status": s.word(), "turnStatus": s.plainJSON(20)}
	}
	return rapid.SampledFrom([]any{
		nil, true, 7, -7, int64(math.MaxInt64), int64(math.MinInt64), 1e300, -0.5, math.NaN(), s.word(), "granted",
		int32(1), []string{"x"}, map[string]any(nil), []any(nil), map[string]int64{"b": 1, "a": -2}, map[string]int64(nil), map[string]string{"a": "b"},
		jsontext.Value("-0.10"), jsontext.Value(" 1e9 "), jsontext.Value("1e999"), jsontext.Value("01"), jsontext.Value(`"a"`), jsontext.Value(nil),
	}).Draw(s.T, "plain JSON")
}

// TestTurnFactsAreWrittenInOnePass checks that the one-pass writer accepts the large facts of a
// turn.
func TestTurnFactsAreWrittenInOnePass(t *testing.T) {
	t.Parallel()
	refs, n, share := Refs("a", "Ω\n"), new(int64(7)), []string{"model"}
	said := map[string]any{"line": 7, "record_type": "message", "usage": map[string]any{"output": int64(9)}, "totals": map[string]int64{"input": 2}, "ids": []any{"a", nil, true, 0.5}, "raw": jsontext.Value("12")}
	for _, fact := range []Fact{
		&ItemAdded{Item: Item{ItemID: "a", ContentMode: ContentInline, Content: "said", TokenEstimate: n}},
		&SurfaceCreated{Surface: Surface{SurfaceID: "s", AvailableItemRefs: refs, Visibility: share}},
		&SelectionCompleted{
			Selection: Selection{SelectionID: "x", SurfaceID: "s", Candidates: refs},
			Selected:  []Candidate{{ItemRef: refs[0], Rank: n, Score: new(0.25), Tokens: n}}, Omitted: []Candidate{{ItemRef: refs[1], Reason: OmitBudgetLimit}},
		},
		&PressureApplied{PressureID: "p", Step: new(int64(1)), Name: "trim", Outcome: OutcomeApplied, ItemRefs: refs},
		&BudgetApplied{BudgetID: "b", Target: "model", WindowSegments: []Segment{{Segment: "user", ItemRefs: refs, Actual: n}}},
		&AssemblyCreated{AssemblyID: "a", Target: "model", OrderedBlocks: []Block{{Block: "b", ItemRefs: refs, Position: n, Role: "user", Visibility: share}}, SourceItemRefs: refs},
		&InjectionApplied{Injection: Injection{InjectionID: "i", Target: "model", ItemRefs: refs, Tokens: n}},
		&ItemAdded{Common: Common{Metadata: said}, Item: Item{ItemID: "a", ContentMode: ContentRef, ContentRef: "b"}},
		&UsageRecorded{CallID: "c", ProviderUsage: said, Layers: []LayerUsage{{Layer: "user", Tokens: n, Items: n}}},
	} {
		if !sameAsEncoder(t, fact, Correlation{SessionID: "s"}) {
			t.Errorf("%s: not fast", fact.EventType())
		}
	}
}

// TestMapsAreJudged checks the rules for the values in maps.
func TestMapsAreJudged(t *testing.T) {
	t.Parallel()
	inner := map[string]any{"status": "completed"}
	for _, fact := range []Fact{
		&ScopeOpened{RunID: "r", Limits: map[string]any{"a": inner}},
		&ScopeOpened{RunID: "r", Limits: map[string]any{"a": []any{inner}}},
		&ScopeOpened{RunID: "r", Common: Common{Metadata: map[string]any{"a": map[string]any{"turn_status": 1}}}},
	} {
		if sameAsEncoder(t, fact, Correlation{RunID: "r"}) {
			t.Errorf("%v is allowed", fact)
		}
	}
	if fact := (&ScopeOpened{RunID: "r", Common: Common{Metadata: map[string]any{"a": inner}}}); !sameAsEncoder(t, fact, Correlation{RunID: "r"}) {
		t.Error("somebody else's status is refused, or not written quickly")
	}
}

// TestNoFact checks that Encode refuses a nil fact.
func TestNoFact(t *testing.T) {
	t.Parallel()
	for name, fact := range map[string]Fact{"nil": nil, "a nil pointer": (*ItemAdded)(nil)} {
		_, err := NewEvent(fact, "id", "urn:x", schematest.EventTime, Correlation{})
		if found, ok := err.(Violations); !ok || len(found) != 1 || found[0].Code != CodeRequired {
			t.Errorf("%s: %v", name, err)
		}
	}
}
