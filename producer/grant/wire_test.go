package grant_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/grant"
)

// TestSetIsReadWholeOrNotAtAll: a refused list leaves the set unchanged.
func TestSetIsReadWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`["a", "b//c"]`, `["a", 1]`, `["a", null]`, `["a", ["b"]]`, `{}`, `null`, `"a"`, `["\ud800"]`} {
		set := grant.Set{"kept"}
		err := json.Unmarshal([]byte(bad), &set)
		if !errors.Is(err, grant.ErrInvalid) || len(set) != 1 || set[0] != "kept" {
			t.Errorf("%s: %v, %v", bad, set, err)
		}
	}
	var set grant.Set
	if err := json.Unmarshal([]byte(`["a", "b", "a"]`), &set); err != nil || !slices.Equal(set, grant.Set{"a", "b"}) {
		t.Errorf("%v, %v", set, err)
	}
}

func TestPolicyIsReadStrictly(t *testing.T) {
	t.Parallel()
	var p grant.Policy
	text := `{"protectedNamespaces": [{"namespace": "p/q", "allowBoundaryGrant": true, "minDescendantSegments": 2}]}`
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{"p/q": true, "p": false, "p/q/r": false, "p/q/r/s": true} {
		if _, err := p.Parse([]string{path}); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, bad := range []string{`{"namespace": "p", "minDescendantSegments": null}`, `{"namespace": "p", "minDescendantSegments": "1"}`, `{"namespace": "p", "minDescendentSegments": 2}`, `[]`} {
		var rule grant.Protected
		if err := json.Unmarshal([]byte(bad), &rule); err == nil || rule.Namespace != "" {
			t.Errorf("%s was read as %+v", bad, rule)
		}
	}
	if err := (grant.Policy{Protected: []grant.Protected{{Namespace: "p//q"}}}).Validate(); !errors.Is(err, grant.ErrInvalid) {
		t.Errorf("Validate: %v", err)
	}
}

// FuzzSet: for any bytes, a set that was read follows the grammar and is equal after it is
// written and read again.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{`["app/user/u_1"]`, `["a", "a"]`, `[]`, `null`, `"a"`, `[1, {"a": []}]`, `[["a", null]]`, `["a/../b"]`, `["\u0085"]`, `["a`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var set grant.Set
		if err := set.UnmarshalJSON(data); err != nil {
			if !errors.Is(err, grant.ErrInvalid) || set != nil {
				t.Fatalf("%q: %v, %v", data, set, err)
			}
			return
		}
		text, err := json.Marshal(set)
		if err != nil {
			t.Fatal(err)
		}
		var again grant.Set
		if err := again.UnmarshalJSON(text); err != nil || !slices.Equal(again, set) {
			t.Fatalf("%s: %v, %v", text, again, err)
		}
	})
}

// TestNullRequestFailsClosed reads requests from a document. An absent field inherits. A
// null is malformed and gives no grants, even if the caller ignores the error.
func TestNullRequestFailsClosed(t *testing.T) {
	t.Parallel()
	held := grant.Set{"app/a", "app/b"}
	for text, want := range map[string]int{
		`{}`: 2, `{"context": []}`: 0, `{"context": ["app/a"]}`: 1,
		`{"context": null}`: -1, `{"context": "app/a"}`: -1, `{"context": ["app/a", null]}`: -1, `{"context": {}}`: -1,
	} {
		var document struct {
			Context grant.Request `json:"context"`
		}
		err := json.Unmarshal([]byte(text), &document)
		var refused *grant.Error
		if errors.As(err, &refused) != (want < 0) {
			t.Errorf("%s: %v", text, err)
		}
		got, err := held.Narrow(document.Context)
		if (err != nil) != (want < 0) || len(got) != max(0, want) || errors.Is(err, grant.ErrInvalid) != (want < 0) {
			t.Errorf("%s gives %v, %v", text, got, err)
		}
		if (document.Context.Malformed() != nil) != (want < 0) {
			t.Errorf("%s: malformed is %v", text, document.Context.Malformed())
		}
	}
}
