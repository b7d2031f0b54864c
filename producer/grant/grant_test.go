package grant_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ctxledger/ctxledger/producer/grant"
	"pgregory.net/rapid"
)

func Example() {
	parent, _ := grant.Parse([]string{"app/user/u_123"})
	child, _ := parent.Narrow(grant.Only("app/user/u_123/billing"))
	fmt.Println(child)
	_, err := child.Narrow(grant.Only("app/user/u_123"))
	fmt.Println(err)
	// Output:
	// [app/user/u_123/billing]
	// Invalid namespace grant "app/user/u_123": grant is not within parent context [app/user/u_123/billing]
}

// TestWhiteSpaceUnion covers G097 and every code point that JavaScript, Python or Unicode
// defines as white space, with lists written by hand.
func TestWhiteSpaceUnion(t *testing.T) {
	t.Parallel()
	javascript := "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
	python := "\t\n\v\f\r\x1c\x1d\x1e\x1f \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue
		}
		want := strings.ContainsRune(javascript, r) || strings.ContainsRune(python, r) || unicode.Is(unicode.White_Space, r)
		_, inside := grant.ParsePath("a" + string(r) + "b")
		if got := inside != nil && r != '*'; got != want {
			t.Errorf("%U inside: refused %v, want %v", r, got, want)
		}
		if !want {
			continue
		}
		_, before := grant.ParsePath(string(r) + "b")
		if before == nil || !strings.Contains(before.Error(), "leading or trailing") {
			t.Errorf("%U in front: %v", r, before)
		}
	}
}

func TestNilInheritsAndEmptyGrantsNothing(t *testing.T) {
	t.Parallel()
	parent, err := grant.Parse([]string{"a/b"})
	if err != nil {
		t.Fatal(err)
	}
	var filtered []string
	for name, c := range map[string]struct {
		request grant.Request
		want    int
	}{
		"zero request":         {grant.Request{}, 1},
		"inherit":              {grant.Inherit(), 1},
		"absent":               {grant.Requested(nil), 1},
		"no path":              {grant.Only(), 0},
		"a nil slice":          {grant.Only(filtered...), 0},
		"a pointer to nil":     {grant.Requested(&filtered), 0},
		"a pointer to nothing": {grant.Requested(&[]string{}), 0},
	} {
		got, err := parent.Narrow(c.request)
		if err != nil || got == nil || len(got) != c.want {
			t.Errorf("%s: got %#v, %v; want %d grants", name, got, err, c.want)
		}
	}
}

func TestLiteralSetsAreChecked(t *testing.T) {
	t.Parallel()
	for _, bad := range []grant.Set{{""}, {"a/"}, {"a//b"}, {"a/*"}, {"a b"}, {".."}, {"a\xff"}} {
		if _, err := bad.Narrow(grant.Inherit()); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
		if bad.Contains("a/b") && bad[0] != "a" {
			t.Errorf("%q reaches a/b", bad)
		}
	}
}

func TestEmptySetReachesNothing(t *testing.T) {
	t.Parallel()
	if _, err := (grant.Set{}).Readable("a", nil); !errors.Is(err, grant.ErrScope) {
		t.Errorf("read: %v", err)
	}
	if _, err := (grant.Set{}).Writable("a", grant.WriteRule{Descendants: true, Promotion: grant.PromoteAncestors}); !errors.Is(err, grant.ErrScope) {
		t.Errorf("write: %v", err)
	}
	if (grant.Set{}).Contains("") || (grant.Set{""}).Contains("") || (grant.Set{""}).Contains("a") {
		t.Error("the empty path reaches something")
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	if got := grant.ReadWrite.Clamp("admin"); got != grant.Read {
		t.Errorf("an unknown parent mode gives %q", got)
	}
	if got := grant.Mode("admin").Clamp(grant.ReadWrite); got != grant.Read {
		t.Errorf("an unknown declared mode gives %q", got)
	}
	if got := grant.Strictest(grant.ReadWrite, grant.Read); got != grant.Read {
		t.Errorf("strictest is %q", got)
	}
	if grant.Strictest() != "" || grant.Strictest(grant.ReadWrite) != grant.ReadWrite {
		t.Error("strictest of none or of read-write")
	}
	if grant.Read.Allows(grant.ReadWrite) || grant.Mode("x").Allows("x") || !grant.ReadWrite.Allows(grant.ReadWrite) {
		t.Error("a write tool is shown in read mode, or hidden in read-write mode")
	}
	if _, err := grant.ParseMode("write"); !errors.Is(err, grant.ErrInvalid) {
		t.Errorf("ParseMode: %v", err)
	}
}

func segments() *rapid.Generator[string] {
	path := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "...", "é", "A"}), 1, 4)
	return rapid.Map(path, func(s []string) string { return strings.Join(s, "/") })
}

// TestNarrowNeverWidens follows chains of child runs with random requests. Every run above
// a run reaches at least the same paths, and no parent changes.
func TestNarrowNeverWidens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		root, err := grant.Parse(rapid.SliceOfN(segments(), 0, 4).Draw(t, "root"))
		if err != nil {
			t.Fatal(err)
		}
		chain := []grant.Set{root}
		frozen := []string{root.String()}
		for range rapid.IntRange(1, 6).Draw(t, "depth") {
			parent := chain[len(chain)-1]
			request := grant.Inherit()
			if rapid.Bool().Draw(t, "listed") {
				request = grant.Only(rapid.SliceOfN(segments(), 0, 3).Draw(t, "requested")...)
			}
			child, err := parent.Narrow(request)
			if err != nil {
				if child != nil {
					t.Fatalf("refused and granted at once: %v", child)
				}
				continue
			}
			chain = append(chain, child)
			frozen = append(frozen, child.String())
		}
		probe := grant.Path(segments().Draw(t, "probe"))
		reached := true
		for i, set := range chain {
			if set.Contains(probe) && !reached {
				t.Fatalf("run %d of %v reaches %s, its parent does not", i, chain, probe)
			}
			reached = set.Contains(probe)
		}
		for _, set := range chain[1:] {
			for j := range set {
				set[j] = "stolen"
			}
		}
		if root.String() != frozen[0] {
			t.Fatalf("a child changed its parent: %s became %s", frozen[0], root)
		}
	})
}

// TestParseKeepsOrder checks the list rules on random valid and invalid lists.
func TestParseKeepsOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.OneOf(segments(), rapid.SampledFrom([]string{"", "/", "a//b", "x y", "*"}))).Draw(t, "list")
		set, err := grant.Parse(list)
		bad := slices.IndexFunc(list, func(s string) bool { _, err := grant.ParsePath(s); return err != nil })
		if (bad >= 0) != (err != nil) {
			t.Fatalf("%q: %v", list, err)
		}
		if bad >= 0 {
			var typed *grant.Error
			if set != nil || !errors.As(err, &typed) || typed.Input != list[bad] {
				t.Fatalf("%q: %v, want the error to name %q", list, err, list[bad])
			}
			return
		}
		var want []string
		for _, s := range list {
			if !slices.Contains(want, s) {
				want = append(want, s)
			}
		}
		if !slices.Equal(set.Strings(), want) {
			t.Fatalf("got %v, want %v", set, want)
		}
	})
}

func TestProtected(t *testing.T) {
	t.Parallel()
	zero := 0
	for name, c := range map[string]struct {
		rule  grant.Protected
		grant string
		ok    bool
	}{
		"exact allowed":            {grant.Protected{Namespace: "p/q", AllowExact: true}, "p/q", true},
		"zero depth is not exact":  {grant.Protected{Namespace: "p/q", MinDescendantSegments: &zero}, "p/q", false},
		"sibling by prefix":        {grant.Protected{Namespace: "p/q"}, "p/qq", true},
		"ancestor, exact allowed":  {grant.Protected{Namespace: "p/q", AllowExact: true}, "p", false},
		"the policy is itself bad": {grant.Protected{Namespace: "p//q"}, "x", false},
	} {
		_, err := grant.Policy{Protected: []grant.Protected{c.rule}}.Parse([]string{c.grant})
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	for _, s := range []string{"app/user/u_123", "/a", "a//b", "a/./b", "a/*", "a\u0085b", "\ufeffa", "a\xffb", "...", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := grant.ParsePath(s)
		if err != nil {
			if want := `Invalid namespace grant "` + s + `": `; !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("error %q does not name the input %q", err, s)
			}
			return
		}
		if again, err := grant.ParsePath(p.String()); again != p || err != nil || string(p) != s {
			t.Fatalf("%q does not parse to itself: %q, %v", s, again, err)
		}
		ancestors := p.Ancestors()
		if ancestors[len(ancestors)-1] != p {
			t.Fatalf("last ancestor of %q is %q", p, ancestors[len(ancestors)-1])
		}
		for _, a := range ancestors {
			if _, err := grant.ParsePath(string(a)); err != nil || !a.Contains(p) {
				t.Fatalf("ancestor %q of %q: %v", a, p, err)
			}
		}
	})
}
