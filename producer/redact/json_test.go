package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/redact"
	"pgregory.net/rapid"
)

func TestMaskJSON(t *testing.T) {
	t.Parallel()
	g := guard(t, "topsecret", "nabc", "47110815", `q"uo\te`)
	for name, c := range map[string]struct {
		in, want string
		paths    []string
	}{
		"value":            {`{"a": "is topsecret" }`, `{"a": "is [redacted:pol:0]" }`, []string{"/a"}},
		"spacing stays":    {"\n{ \"a\"\t:[ 1.0e0 ,\r\n\"TopSecret\" ] }\n", "\n{ \"a\"\t:[ 1.0e0 ,\r\n\"[redacted:pol:0]\" ] }\n", []string{"/a/1"}},
		"name":             {`{"topsecret":1}`, `{"[redacted:pol:0]":1}`, []string{"/[redacted:pol:0]"}},
		"two names":        {`{"topsecret":1,"TOPSECRET":2}`, `{"[redacted:pol:0]":1,"[redacted:pol:0]#2":2}`, []string{"/[redacted:pol:0]", "/[redacted:pol:0]#2"}},
		"name taken":       {`{"[redacted:pol:0]":1,"topsecret":2}`, `{"[redacted:pol:0]":1,"[redacted:pol:0]#2":2}`, []string{"/[redacted:pol:0]#2"}},
		"below a name":     {`{"topsecret":{"b/~c":["topsecret"]}}`, `{"[redacted:pol:0]":{"b/~c":["[redacted:pol:0]"]}}`, []string{"/[redacted:pol:0]", "/[redacted:pol:0]/b~1~0c/0"}},
		"escaped letters":  {`["\u0074opsecre\u0074"]`, `["[redacted:pol:0]"]`, []string{"/0"}},
		"not an escape":    {`["\nabc"]`, `["\nabc"]`, nil},
		"quotes":           {`["a q\"uo\\te b"]`, `["a [redacted:pol:3] b"]`, []string{"/0"}},
		"JSON in a string": {`["{\"p\":\"q\\\"uo\\\\te\"}"]`, `["{\"p\":\"[redacted:pol:3]\"}"]`, []string{"/0"}},
		"number":           {`{"pin":47110815,"n":[-47110815,471108150,47110815.0]}`, `{"pin":"[redacted:pol:2]","n":["[redacted:pol:2]",471108150,47110815.0]}`, []string{"/pin", "/n/0"}},
		"split":            {`{"a":"x top","n":1,"b":["sec",{"c":"ret y"}]}`, `{"a":"x [redacted:pol:0]","n":1,"b":["[redacted:pol:0]",{"c":"[redacted:pol:0] y"}]}`, []string{"/a", "/b/0", "/b/1/c"}},
		"split by escapes": {`["x \u0054o\n","\tpSec-","\u200bret"]`, `["x [redacted:pol:0]\n","\t[redacted:pol:0]-","\u200b[redacted:pol:0]"]`, []string{"/0", "/1", "/2"}},
		"names between":    {`{"a":"top","b":{"c" : "secret"}}`, `{"a":"[redacted:pol:0]","b":{"c" : "[redacted:pol:0]"}}`, []string{"/a", "/b/c"}},
		"word between":     {`["top","x","secret"]`, `["top","x","secret"]`, nil},
		"one string":       {`"topsecret"`, `"[redacted:pol:0]"`, []string{""}},
		"nothing":          {` [true,null,{},[],"",0] `, ` [true,null,{},[],"",0] `, nil},
		"not UTF-8":        {"[\"\xff topsecret \xfe\"]", "[\"\xff [redacted:pol:0] \xfe\"]", []string{"/0"}},
		"odd escapes stay": {`["\u00e9\/ topsecret\/"]`, `["\u00e9\/ [redacted:pol:0]\/"]`, []string{"/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, hits, err := g.MaskJSON([]byte(c.in))
			if err != nil || string(got) != c.want {
				t.Fatalf("got  %s, %v\nwant %s", got, err, c.want)
			}
			var paths []string
			for _, h := range hits {
				paths = append(paths, h.Path)
				if h.Start >= h.End || h.End > len(c.in) || h.PolicyRef == "" {
					t.Errorf("hit %+v", h)
				}
			}
			if strings.Join(paths, " ") != strings.Join(c.paths, " ") {
				t.Errorf("paths %q, want %q", paths, c.paths)
			}
			again, more, err := g.MaskJSON(got)
			if err != nil || more != nil || !bytes.Equal(again, got) {
				t.Errorf("masking again: %s, %v, %v", again, more, err)
			}
		})
	}
}

func TestMaskJSONRefuses(t *testing.T) {
	t.Parallel()
	g := guard(t, "topsecret")
	for _, bad := range []string{"", "topsecret", `{"a":topsecret}`, `"topsecret`, `[1]2`, "{"} {
		out, hits, err := g.MaskJSON([]byte(bad))
		if !errors.Is(err, redact.ErrJSON) || out != nil || hits != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %s, %v, %v", bad, out, hits, err)
		}
	}
}

// TestShortNumbers: a PIN of few digits is withheld in text. A number of few digits is a
// count.
func TestShortNumbers(t *testing.T) {
	t.Parallel()
	out, hits, err := guard(t, "1500").MaskJSON([]byte(`{"tokens":1500,"pin":"1500"}`))
	if err != nil || len(hits) != 1 || string(out) != `{"tokens":1500,"pin":"[redacted:pol:0]"}` {
		t.Errorf("got %s, %+v, %v", out, hits, err)
	}
}

// TestMaskEncodedTrustsNobody: no value passes even if the caller's input is not JSON.
func TestMaskEncodedTrustsNobody(t *testing.T) {
	t.Parallel()
	g := guard(t, "topsecret", "47110815")
	for _, bad := range []string{"topsecret", `{"a":topsecret}`, `"topsecret`, `"topsecret\`, `["a",47110815`, `truetopsecret`, `{"a":"x"}topsecret`, "\xfftopsecret", `"\`} {
		out, hits, err := g.MaskEncoded([]byte(bad))
		if !errors.Is(err, redact.ErrJSON) || out != nil || hits != nil {
			t.Errorf("%q: %s, %v, %v", bad, out, hits, err)
		}
	}
}

func TestMaskJSONLeavesCleanBytes(t *testing.T) {
	t.Parallel()
	in := []byte(`{"a":"b"}`)
	out, _, err := guard(t, "topsecret").MaskJSON(in)
	if err != nil || &out[0] != &in[0] {
		t.Error("a clean document was copied or refused", err)
	}
}

// secrets generates values that adversaries choose: with quotes, escapes, percent signs,
// brackets, pieces of a placeholder, any byte.
func secrets() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9+/=_-]{4,40}`),
		rapid.StringMatching(`[\]\["\\%a-c+ n]{3,10}`),
		rapid.StringN(3, 20, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 3, 20), func(b []byte) string { return string(b) }),
	)
}

// TestMaskedIsClean plants values in disguise and searches for them after masking.
func TestMaskedIsClean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		planted := rapid.SliceOfN(secrets(), 1, 4).Draw(t, "secrets")
		var values []redact.Value
		for _, s := range planted {
			values = append(values, redact.Withhold(s, "p", "r"))
		}
		g, err := redact.New(values...)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for range rapid.IntRange(0, 4).Draw(t, "pieces") {
			s := rapid.SampledFrom(planted).Draw(t, "planted")
			forms := disguises(s)
			plain := []string{s}
			for _, name := range []string{"verbatim", "hex", "percent", "query", "JSON"} {
				// JSON cannot hold bytes that are not UTF-8.
				if name != "JSON" || strings.ToValidUTF8(s, "") == s {
					plain = append(plain, forms[name])
				}
			}
			text += rapid.StringN(0, 5, -1).Draw(t, "between") + rapid.SampledFrom(plain).Draw(t, "disguise")
		}
		masked, hits := g.Mask(text)
		for _, s := range planted {
			if strings.Contains(text, s) && len(hits) == 0 {
				t.Fatalf("%q is not found in %q", s, text)
			}
			if strings.Contains(strings.ReplaceAll(masked, "[redacted:p]", ""), s) && strings.Contains(masked, s) {
				t.Fatalf("%q is still in %q", s, masked)
			}
		}
		if more := g.Check(masked); more != nil {
			t.Fatalf("%q has hits %+v", masked, more)
		}
		doc, err := json.Marshal(map[string]any{"k": text, text: []string{text}})
		if err != nil {
			t.Fatal(err)
		}
		out, _, err := g.MaskJSON(doc)
		if err != nil || !json.Valid(out) {
			t.Fatalf("%s became %s: %v", doc, out, err)
		}
		if again, more, _ := g.MaskJSON(out); more != nil || !bytes.Equal(again, out) {
			t.Fatalf("%s has hits %+v", out, more)
		}
	})
}

// TestMaskPartsOfRunes: a value that is not UTF-8 is found inside of runes, and those are masked as a whole.
func TestMaskPartsOfRunes(t *testing.T) {
	g := guard(t, "topsecret\xce", "\xb5secret", "\xb8\xadsecret")
	for in, want := range map[string]string{
		"x topsecretε y": "x [redacted:pol:0] y",
		"x εsecret y":    "x [redacted:pol:1] y",
		"x 中SECRET y":    "x [redacted:pol:2] y",
	} {
		if out, hits := g.Mask(in); out != want || len(hits) != 1 {
			t.Errorf("%s became %s with %+v, want %s", in, out, hits, want)
		}
		in, want = `{"a":"`+in+`"}`, `{"a":"`+want+`"}`
		if out, hits, err := g.MaskJSON([]byte(in)); err != nil || string(out) != want || len(hits) != 1 {
			t.Errorf("%s became %s with %+v (%v), want %s", in, out, hits, err, want)
		}
	}
}

func FuzzMaskJSON(f *testing.F) {
	g := guard(f, "topsecret", `q"\`, "4711", "é+ ")
	for _, s := range []string{`{"a":["topsecret",4711,{"":"q\"\\"}]}`, `"\u00e9%2B+"`, `{"topsecret":1,"topsecret":2}`, `[[],{}]`, `"\ud83d\ude00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, hits, err := g.MaskJSON(in)
		if (err == nil) != json.Valid(in) {
			t.Fatalf("%q: %v", in, err)
		}
		if err != nil {
			return
		}
		if !json.Valid(out) || (len(hits) == 0) != bytes.Equal(in, out) {
			t.Fatalf("%q became %q with %d hits", in, out, len(hits))
		}
		if _, more, err := g.MaskJSON(out); more != nil || err != nil {
			t.Fatalf("%q became %q, which has %+v, %v", in, out, more, err)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add("topsecret", "x TOPSECRET %74opsecret")
	f.Add("]a", "topsecret]a")
	f.Add("é", "\\u00e9%C3%A9É")
	f.Add("\xb5", "BεJ")
	f.Add("\xb8", "a中b")
	f.Add("p\xc3", "päp\xc3")
	f.Fuzz(func(t *testing.T, secret, text string) {
		g, err := redact.New(redact.Withhold(secret, "p", "r"), redact.Withhold("topsecret", "p", "r"))
		if err != nil {
			return
		}
		masked, hits := g.Mask(text)
		if strings.Contains(text, secret) && len(hits) == 0 && !strings.Contains("[redacted:p]", secret) {
			t.Fatalf("%q is not found in %q", secret, text)
		}
		if utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Fatalf("%q became %q without %q", text, masked, secret)
		}
		for _, h := range hits {
			if h.Start < 0 || h.Start >= h.End || h.End > len(text) {
				t.Fatalf("hit %+v in %q", h, text)
			}
		}
		if more := g.Check(masked); more != nil {
			t.Fatalf("%q became %q, which has %+v", text, masked, more)
		}
	})
}
