package grant_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctxledger/ctxledger/producer/grant"
)

type vectorFile struct {
	Cases []vectorCase `json:"cases"`
	Modes struct {
		Clamp []struct {
			Parent    *string `json:"parent"`
			Declared  string  `json:"declared"`
			Effective string  `json:"effective"`
		} `json:"clamp"`
	} `json:"modes"`
	TenantRoots struct {
		Cases []struct {
			Roots       []string `json:"roots"`
			Grant       string   `json:"grant"`
			HTTP        int      `json:"http"`
			Unbounded   string   `json:"unbounded_permission"`
			Visible     []string `json:"visible_scopes"`
			Hidden      []string `json:"hidden_scopes"`
			ImportBatch []string `json:"import_batch"`
			ImportID    string   `json:"import_id_existing_in"`
		} `json:"cases"`
	} `json:"tenant_roots"`
}

type vectorCase struct {
	ID     string            `json:"id"`
	Fn     string            `json:"fn"`
	Args   []json.RawMessage `json:"args"`
	Expect struct {
		OK      bool            `json:"ok"`
		Value   json.RawMessage `json:"value"`
		Error   string          `json:"error"`
		Code    string          `json:"code"`
		Message string          `json:"message"`
	} `json:"expect"`
	PythonDiffers struct {
		Message string `json:"message"`
	} `json:"python_differs"`
}

// asPython names the case in which the TypeScript and the Python implementation differ.
// This package follows Python: U+0085 is white space in Python and Unicode, and the design
// takes the union (TestWhiteSpaceUnion). The case runs against Python's result.
const asPython = "G097"

func vectors(t *testing.T, name string) []byte {
	t.Helper()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	data, err := os.ReadFile(filepath.Join(shared, "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func grantVectors(t *testing.T) vectorFile {
	t.Helper()
	var file vectorFile
	if err := json.Unmarshal(vectors(t, "grants.json"), &file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestVectors(t *testing.T) {
	t.Parallel()
	file := grantVectors(t)
	for _, c := range file.Cases {
		if c.ID == asPython {
			c.Expect.OK, c.Expect.Error, c.Expect.Code, c.Expect.Message = false, "NamespaceGrantError", grant.CodeInvalid, c.PythonDiffers.Message
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			got, err := call(t, c)
			if !c.Expect.OK {
				checkError(t, c, err)
				return
			}
			if err != nil {
				t.Fatalf("unexpected error: %v", err)
			}
			want := new(any)
			if err := json.Unmarshal(c.Expect.Value, want); err != nil {
				t.Fatal(err)
			}
			gotJSON, _ := json.Marshal(got)
			wantJSON, _ := json.Marshal(*want)
			if string(gotJSON) != string(wantJSON) {
				t.Errorf("got %s, want %s", gotJSON, wantJSON)
			}
		})
	}
	if len(file.Cases) != 103 {
		t.Errorf("%d cases, not 103", len(file.Cases))
	}
}

func checkError(t *testing.T, c vectorCase, err error) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %q", c.Expect.Message)
	}
	if err.Error() != c.Expect.Message {
		t.Errorf("got  %q\nwant %q", err, c.Expect.Message)
	}
	switch c.Expect.Error {
	case "NamespaceGrantError":
		var typed *grant.Error
		if !errors.As(err, &typed) || typed.Code() != c.Expect.Code || !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("error %#v has no code %s", err, c.Expect.Code)
		}
	case "MemrezScopeError":
		var typed *grant.ScopeError
		if !errors.As(err, &typed) || !errors.Is(err, grant.ErrScope) {
			t.Errorf("error is %T", err)
		}
	default:
		t.Errorf("unknown error class %q", c.Expect.Error)
	}
}

// call runs the Go equivalent of the vector's function.
func call(t *testing.T, c vectorCase) (any, error) {
	t.Helper()
	switch c.Fn {
	case "normalizeNamespaceGrant":
		var path grant.Path
		err := path.UnmarshalJSON(c.Args[0]) // in the external form; some are not strings
		return path, err
	case "normalizeNamespaceGrants":
		if len(c.Args) == 1 && !undefined(c.Args[0]) {
			var set grant.Set
			err := set.UnmarshalJSON(c.Args[0])
			return set, err
		}
		policy, err := policyArg(t, c, 1)
		if err != nil {
			return nil, err
		}
		return policy.Parse(listArg(t, c, 0))
	case "narrowNamespaceGrants":
		parent := grant.Set{}
		for _, s := range listArg(t, c, 0) {
			parent = append(parent, grant.Path(s))
		}
		request := grant.Inherit()
		if !undefined(c.Args[1]) {
			request = grant.Only(listArg(t, c, 1)...)
		}
		policy, err := policyArg(t, c, 2)
		if err != nil {
			return nil, err
		}
		return policy.Narrow(parent, request)
	case "namespaceAncestors":
		return grant.Path(arg[string](t, c, 0)).Ancestors(), nil
	case "isSameOrAncestorNamespace", "isGrantNarrowedBy":
		return grant.Path(arg[string](t, c, 0)).Contains(grant.Path(arg[string](t, c, 1))), nil
	case "isSameOrDescendantNamespace":
		return grant.Path(arg[string](t, c, 1)).Contains(grant.Path(arg[string](t, c, 0))), nil
	case "memrez.normalizeGrants":
		set := arg[grant.Set](t, c, 0)
		return set, set.Some()
	case "memrez.visibleScopes":
		return arg[grant.Set](t, c, 0).Visible(nil), nil
	case "memrez.assertReadableScope":
		return arg[grant.Set](t, c, 0).Readable(arg[string](t, c, 1), nil)
	case "memrez.assertWritableScope":
		rule := arg[struct {
			Descendants       bool            `json:"descendants"`
			AncestorPromotion grant.Promotion `json:"ancestorPromotion"`
		}](t, c, 2)
		return arg[grant.Set](t, c, 0).Writable(arg[string](t, c, 1),
			grant.WriteRule{Descendants: rule.Descendants, Promotion: rule.AncestorPromotion})
	}
	t.Fatalf("unknown function %q", c.Fn)
	return nil, nil
}

func arg[T any](t *testing.T, c vectorCase, i int) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(c.Args[i], &v); err != nil {
		t.Fatalf("argument %d: %v", i, err)
	}
	return v
}

func undefined(raw json.RawMessage) bool {
	var v struct {
		Undefined bool `json:"$undefined"`
	}
	return json.Unmarshal(raw, &v) == nil && v.Undefined
}

func listArg(t *testing.T, c vectorCase, i int) []string {
	t.Helper()
	if undefined(c.Args[i]) {
		return nil
	}
	return arg[[]string](t, c, i)
}

func policyArg(t *testing.T, c vectorCase, i int) (grant.Policy, error) {
	t.Helper()
	var p grant.Policy
	if i >= len(c.Args) {
		return p, nil
	}
	err := json.Unmarshal(c.Args[i], &p)
	return p, err
}

func TestModeVectors(t *testing.T) {
	t.Parallel()
	for _, c := range grantVectors(t).Modes.Clamp {
		var parent grant.Mode
		if c.Parent != nil {
			parent = grant.Mode(*c.Parent)
		}
		if got := grant.Mode(c.Declared).Clamp(parent); string(got) != c.Effective {
			t.Errorf("%s under %q: got %s, want %s", c.Declared, parent, got, c.Effective)
		}
	}
}

// TestTenantRootVectors reads a tenant's roots as the parent set of all grants that the
// tenant may mint. HTTP 200 means allowed. Two cases do not apply: a server's permission to
// lift the roots, and a store's id in another root.
func TestTenantRootVectors(t *testing.T) {
	t.Parallel()
	ran := 0
	for i, c := range grantVectors(t).TenantRoots.Cases {
		if c.Unbounded != "" || c.ImportID != "" {
			continue
		}
		ran++
		roots, err := grant.Parse(c.Roots)
		if err != nil {
			t.Fatal(err)
		}
		asked := c.ImportBatch
		if c.Grant != "" {
			asked = []string{c.Grant}
		}
		got, err := roots.Narrow(grant.Only(asked...))
		if allowed := c.HTTP == 200 || c.HTTP == 0; allowed != (err == nil) {
			t.Errorf("case %d: allowed %v, error %v", i, allowed, err)
		}
		if err != nil && got != nil {
			t.Errorf("case %d: part of a refused list was granted: %v", i, got)
		}
		visible := grant.Set(got.Visible(roots)).Strings()
		if c.Visible != nil && !slices.Equal(visible, c.Visible) {
			t.Errorf("case %d: visible %v, want %v", i, visible, c.Visible)
		}
		for _, hidden := range c.Hidden {
			if slices.Contains(visible, hidden) {
				t.Errorf("case %d: %s is visible", i, hidden)
			}
		}
	}
	if ran != 5 {
		t.Errorf("%d cases ran, want 5", ran)
	}
}
