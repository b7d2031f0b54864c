package schema

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema/internal/schematest"
)

// pressureV2 is the worked example of a second version: the rung of the ladder
// became an object of its own, which version 1 had in two fields. Nothing of
// it is in the contract.
type pressureV2 struct {
	Common
	PressureID   string          `json:"pressure_id"`
	CallID       string          `json:"call_id,omitempty"`
	Rung         rungV2          `json:"rung"`
	Outcome      PressureOutcome `json:"outcome"`
	TokensBefore *int64          `json:"tokens_before,omitempty"`
	TokensAfter  *int64          `json:"tokens_after,omitempty"`
}

type rungV2 struct {
	Step *int64 `json:"step,omitempty"`
	Name string `json:"name,omitempty"`
}

func (*pressureV2) EventType() Type    { return TypePressureApplied }
func (f *pressureV2) RecordID() string { return f.PressureID }

// upcastPressureV1 moves step and name into rung. The function changes members of the JSON and
// uses no Go type of either version. Later changes of the types therefore do not change its
// output, and unknown members remain.
func upcastPressureV1(data []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	rung := make(map[string]jsontext.Value)
	for _, name := range []string{"step", "name"} {
		if value, ok := members[name]; ok {
			rung[name] = value
			delete(members, name)
		}
	}
	var err error
	if members["rung"], err = json.Marshal(rung, json.Deterministic(true)); err != nil {
		return nil, err
	}
	return json.Marshal(members, json.Deterministic(true))
}

// worked is a contract in which pressure is at version 2.
var worked = versions{
	current:   map[Type]int{TypePressureApplied: 2},
	upcasters: map[revision]upcaster{{TypePressureApplied, 1}: upcastPressureV1},
}

func workedFact(t Type) Fact {
	if t == TypePressureApplied {
		return new(pressureV2)
	}
	return t.New()
}

func TestUpcast(t *testing.T) {
	t.Parallel()
	const v1, v2 = "testdata/upcast/context.pressure.applied.v1.json", "testdata/upcast/context.pressure.applied.v2.json"
	old, err := os.ReadFile(v1)
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(old)
	got, err := worked.upcast(TypePressureApplied, 1, old)
	if err != nil || !bytes.Equal(old, before) {
		t.Fatalf("%v, or the argument was changed", err)
	}
	again, _ := worked.upcast(TypePressureApplied, 1, old)
	if !bytes.Equal(got, again) {
		t.Error("two results of the same data")
	}
	indented := jsontext.Value(bytes.Clone(got))
	if err := indented.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatal(err)
	}
	schematest.HoldToFile(t, v2, string(indented)+"\n")

	e := &Event{ID: "i", Source: "urn:x", Type: "dev.ctxledger.context.pressure.applied.v1", Time: schematest.EventTime, Data: old}
	fact, err := worked.decode(e, workedFact)
	if err != nil {
		t.Fatal(err)
	}
	f := fact.(*pressureV2)
	if *f.Rung.Step != 2 || f.Rung.Name != "drop_retrieved" || f.Outcome != OutcomeInsufficient || f.RecordID() != "pressure-1" {
		t.Errorf("%+v", f)
	}
	e.Type, e.Data = "dev.ctxledger.context.pressure.applied.v2", got
	current, err := worked.decode(e, workedFact)
	if err != nil || *current.(*pressureV2).Rung.Step != 2 {
		t.Errorf("version 2: %v, %v", current, err)
	}
	// A version that nobody can read yet is an unknown type, and kept.
	for contract, kind := range map[*versions]string{&worked: "context.pressure.applied.v3", {}: "context.pressure.applied.v2"} {
		e.Type = "dev.ctxledger." + kind
		if _, err := contract.decode(e, workedFact); !errors.Is(err, ErrUnknownType) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	// An upcaster sees no data that the decoder would refuse.
	e.Type = "dev.ctxledger.context.pressure.applied.v1"
	for _, bad := range []string{`{"step":1,"step":2}`, `{"step":`, "{\"name\":\"\xff\"}"} {
		e.Data = []byte(bad)
		var v *Violation
		if _, err := worked.decode(e, workedFact); !errors.As(err, &v) || v.Code != CodeMalformed {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestVersionsParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"context.pressure.applied.v1": 1, "context.pressure.applied.v2": 2, "context.item.pinned.v1": 1,
		"context.pressure.applied.v3": 0, "context.pressure.applied.v02": 0, "context.pressure.applied.v0": 0, "context.pressure.applied.v+2": 0,
		"context.pressure.applied": 0, "context.item.added.v2": 0, "context.item.pinned.v2": 0, ".v1": 0, ".v2": 0,
	} {
		kind, version, err := worked.parse("dev.ctxledger." + text)
		if version != want || (err == nil) != (want > 0) || want > 0 && !strings.HasPrefix(text, string(kind)+".v") {
			t.Errorf("%s: %s, version %d, %v", text, kind, version, err)
		}
	}
}

// TestEveryVersionIsReadable checks that each older version has upcasters to the current version,
// and a fixture.
func TestEveryVersionIsReadable(t *testing.T) {
	t.Parallel()
	for _, kind := range Types() {
		for version := 1; version < contract.of(kind); version++ {
			if contract.upcasters[revision{kind, version}] == nil {
				t.Errorf("%s: no upcaster from version %d", kind, version)
			}
		}
	}
}
