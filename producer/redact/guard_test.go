package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema/fingerprint"
)

const secret = "sk-Proj/é 42+Zz\"q"

func guard(t testing.TB, values ...string) *redact.Guard {
	t.Helper()
	var list []redact.Value
	for i, v := range values {
		list = append(list, redact.Withhold(v, fmt.Sprintf("pol:%d", i), "secret"))
	}
	g, err := redact.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func Example() {
	g, _ := redact.New(redact.Withhold("hunter2", "pol:passwords", "secret"))
	masked, hits := g.Mask("the password is HUNTER2")
	fmt.Println(masked)
	fmt.Println(hits[0].Form, hits[0].PolicyRef)
	// Output:
	// the password is [redacted:pol:passwords]
	// folded pol:passwords
}

// disguises returns the forms in which a value must be found.
func disguises(s string) map[string]string {
	quoted, _ := json.Marshal(s)
	twice, _ := json.Marshal(string(quoted))
	percent := ""
	for i := range len(s) {
		percent += fmt.Sprintf("%%%02x", s[i])
	}
	out := map[string]string{
		"verbatim":       s,
		"upper":          strings.ToUpper(s),
		"lower":          strings.ToLower(s),
		"hex":            hex.EncodeToString([]byte(s)),
		"HEX":            strings.ToUpper(hex.EncodeToString([]byte(s))),
		"query":          url.QueryEscape(s),
		"path":           url.PathEscape(s),
		"percent":        percent,
		"PERCENT":        strings.ToUpper(percent),
		"percent twice":  url.QueryEscape(url.QueryEscape(s)),
		"JSON":           strings.Trim(string(quoted), `"`),
		"JSON twice":     string(twice),
		"JSON, then URL": url.QueryEscape(string(quoted)),
	}
	for shift := range 3 {
		for name, enc := range map[string]*base64.Encoding{
			"std": base64.StdEncoding, "url": base64.URLEncoding, "raw std": base64.RawStdEncoding, "raw url": base64.RawURLEncoding,
		} {
			for tail := range 3 {
				text := strings.Repeat("\xfe", shift) + s + strings.Repeat("\xfd", tail)
				out[fmt.Sprintf("base64 %s %d+%d", name, shift, tail)] = enc.EncodeToString([]byte(text))
			}
		}
	}
	return out
}

func TestDisguises(t *testing.T) {
	t.Parallel()
	g := guard(t, secret, "another value")
	for name, disguise := range disguises(secret) {
		for where, text := range map[string]string{"alone": disguise, "in text": "error: <" + disguise + "> at 3"} {
			masked, hits := g.Mask(text)
			if len(hits) == 0 || strings.Contains(masked, disguise) || !strings.Contains(masked, "[redacted:pol:0]") {
				t.Errorf("%s %s: %d hits, masked %q", name, where, len(hits), masked)
			}
			if again := g.Check(masked); again != nil {
				t.Errorf("%s %s: the masked text has hits: %+v", name, where, again)
			}
			if where == "in text" && (!strings.HasPrefix(masked, "error: <") || !strings.HasSuffix(masked, "> at 3")) {
				t.Errorf("%s: more than the value was masked: %q", name, masked)
			}
		}
	}
	if hits := g.Check("sk-Proj and another valu, 42+Zz"); hits != nil {
		t.Errorf("parts of values count as hits: %+v", hits)
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	g := guard(t, "correct horse")
	for text, want := range map[string]redact.Form{
		"a correct horse":                        redact.Verbatim,
		"a Correct Horse":                        redact.Folded,
		"Y29ycmVjdCBob3JzZQ==":                   redact.Base64,
		"636F727265637420686f727365":             redact.Hex,
		"q=correct+horse":                        redact.URL,
		"q=correct%20horse":                      redact.URL,
		`{\"p\":\"correct\u0020horse\"}`:         redact.Escaped,
		"\u212a correct hor\u017fe":              redact.Folded,
		"q=correct&#32;horse":                    redact.Entity,
		"correct-horse":                          redact.Separated,
		"CorrectHorse":                           redact.Separated,
		"c\u200bor\u00adrect horse":              redact.Separated,
		"\uff43\uff4frrect horse":                redact.Separated,
		"esroh tcerroc":                          redact.Reversed,
		"63:6f:72:72:65:63:74:20:68:6f:72:73:65": redact.Hex,
		"434F5252454354 20484F525345":            redact.Hex, // of upper case
		"Y29ycmVj\ndCBob3JzZQ==":                 redact.Base64,
		"x" + "Y29ycmVjdCBob3JzZQ"[:9] + "\r\n " + "Y29ycmVjdCBob3JzZQ"[9:]: redact.Base64,
		"MNXXE4TFMN2CA2DPOJZWK===": redact.Base32,
	} {
		hits := g.Check(text)
		if len(hits) != 1 || hits[0].Form != want || hits[0].PolicyRef != "pol:0" || hits[0].Reason != "secret" {
			t.Errorf("%q: %+v, want one of form %s", text, hits, want)
		}
	}
}

func TestShortValues(t *testing.T) {
	t.Parallel()
	g := guard(t, "1", "ab", "4711")
	if got, _ := g.Mask("x AB 1 4711"); got != "x [redacted:pol:1] [redacted:pol:0] [redacted:pol:2]" {
		t.Errorf("got %q", got)
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	g := guard(t, "abcdef", "cdefgh", "abcdefghij", "aaaa")
	for text, want := range map[string]string{
		"xabcdefghx":   "x[redacted:pol:0]x",
		"xabcdefghijx": "x[redacted:pol:2]x",
		"xaaaaaaax":    "x[redacted:pol:3]x",
		"aaaaxaaaa":    "[redacted:pol:3]x[redacted:pol:3]",
	} {
		if got, _ := g.Mask(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if hits := g.Check(strings.Repeat("a", 1<<20)); len(hits) != 1 {
		t.Errorf("a repetitive text has %d hits", len(hits))
	}
}

// TestTinyAgents runs T049 and T050 of shared/vectors/tinyagents.json, in which all values
// have one placeholder. Here the placeholder names the policy.
func TestTinyAgents(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is unset: the vectors are needed in CI")
		}
		t.Skip("CTXLEDGER_SHARED is unset: no vectors")
	}
	text, err := os.ReadFile(filepath.Join(shared, "vectors", "tinyagents.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID, Group     string
			Input, Expect json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, c := range file.Cases {
		if c.Group != "redaction" {
			continue
		}
		played++
		var in struct {
			Patterns []string
			Text     string
			Passes   int
		}
		var want struct {
			Text  string
			Count int
		}
		err := json.Unmarshal(c.Input, &in)
		if json.Unmarshal(c.Expect, &want.Text) != nil {
			err = errors.Join(err, json.Unmarshal(c.Expect, &want))
		}
		if err != nil {
			t.Fatal(err)
		}
		g, got, count := guard(t, in.Patterns...), in.Text, 0
		for range max(in.Passes, 1) {
			var hits []redact.Hit
			got, hits = g.Mask(got)
			count += len(hits)
		}
		if placeholder.ReplaceAllString(got, "[REDACTED]") != want.Text || want.Count > 0 && count != want.Count {
			t.Errorf("%s: %q with %d hits, want %+v", c.ID, got, count, want)
		}
	}
	if played != 2 {
		t.Errorf("%d cases were played", played)
	}
}

var placeholder = regexp.MustCompile(`\[redacted:pol:[0-9]+\]`)

// TestPlaceholderMakesValue: a placeholder and the text next to it may form another value.
// Then this value must be masked too.
func TestPlaceholderMakesValue(t *testing.T) {
	t.Parallel()
	g := guard(t, "topsecret", "]tail", "x[red")
	for _, text := range []string{"topsecrettail", "xtopsecret", "xtopsecrettail"} {
		masked, _ := g.Mask(text)
		if hits := g.Check(masked); hits != nil {
			t.Errorf("%q became %q, which has hits", text, masked)
		}
	}
}

func TestForgedPlaceholder(t *testing.T) {
	t.Parallel()
	g := guard(t, "topsecret")
	if hits := g.Check("[redacted:topsecret]"); len(hits) != 1 {
		t.Errorf("a placeholder of no policy hides a value: %+v", hits)
	}
}

func TestNothingShowsTheSecret(t *testing.T) {
	t.Parallel()
	value := redact.Withhold("topsecret", "pol", "secret")
	g, err := redact.New(value)
	if err != nil {
		t.Fatal(err)
	}
	f := fingerprinter(t, "topsecrettopsecrettopsecrettopsecret")
	type holder struct {
		hidden *redact.Guard
		f      fingerprint.Hasher
		byCopy redact.Guard
		value  redact.Value
	}
	var out strings.Builder
	for _, v := range []any{value, &value, g, *g, f, &f, []redact.Value{value}, map[string]any{"g": g, "v": value}, holder{g, f, *g, value}, &holder{g, f, *g, value}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X", "%t", "%p", "%U"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		asJSON, _ := json.Marshal(v)
		asXML, _ := xml.Marshal(v)
		out.Write(asJSON)
		out.Write(asXML)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
	}
	_, err = redact.New(redact.Withhold("topsecret", "", ""))
	out.WriteString(err.Error())
	_, err = redact.New(redact.Withhold("topsecret", "is-TopSecret", "r"))
	out.WriteString(err.Error())
	for _, shown := range []string{"topsecret", hex.EncodeToString([]byte("topsecret")), "116 111 112", "0x74, 0x6f"} {
		if strings.Contains(strings.ToLower(out.String()), shown) {
			t.Errorf("%q is shown", shown)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]redact.Value{
		"zero":              {},
		"no secret":         redact.Withhold("", "p", "r"),
		"no policy":         redact.Withhold("s", "", "r"),
		"no reason":         redact.Withhold("s", "p", ""),
		"ends placeholder":  redact.Withhold("s", "p]", "r"),
		"breaks JSON":       redact.Withhold("s", `p"`, "r"),
		"not UTF-8":         redact.Withhold("s", "p\xff", "r"),
		"names the secret":  redact.Withhold("hunter2", "for-Hunter2", "r"),
		"control character": redact.Withhold("s", "p\n", "r"),
	} {
		var typed *redact.ValueError
		if _, err := redact.New(v); !errors.As(err, &typed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithLeavesTheGuardAlone(t *testing.T) {
	t.Parallel()
	small := guard(t, "topsecret")
	large, err := small.With(redact.Withhold("hunter2", "p2", "r"),
		redact.Withhold("topsecret", "p3", "r"))
	if err != nil {
		t.Fatal(err)
	}
	if small.Len() != 1 || large.Len() != 2 || small.Check("hunter2") != nil || large.Check("topsecret")[0].PolicyRef != "pol:0" {
		t.Errorf("small %v, large %v", small, large)
	}
	var none *redact.Guard
	if got, hits := none.Mask("x"); got != "x" || hits != nil || none.Len() != 0 {
		t.Error("a nil guard does something")
	}
}

// TestHostileText limits the time for texts that are made to take long. The limit is
// generous; a quadratic search takes minutes.
func TestHostileText(t *testing.T) {
	t.Parallel()
	g := guard(t, "red", "act", "a b", secret)
	for name, piece := range map[string]string{
		"placeholders":      "[redacted:pol:1]",
		"open placeholders": "[redacted:",
		"hits":              "red",
		"layers":            `%5c%5c\\\\%2525+`,
		"escapes":           `\u005c`,
	} {
		start := time.Now()
		masked, _ := g.Mask(strings.Repeat(piece, 1<<17/len(piece)))
		if spent := time.Since(start); spent > 20*time.Second {
			t.Errorf("%s took %v", name, spent)
		}
		if hits := g.Check(masked); hits != nil {
			t.Errorf("%s: %d hits are left", name, len(hits))
		}
	}
}
