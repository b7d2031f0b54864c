package producer

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/schema"
)

// A spot is a place in a fact where a producer can put text. The test finds spots from the
// fact's type, so new fields are included automatically.
type spot struct {
	path  string
	put   func(text string) // writes into the fact
	extra bool              // another form of the previous spot, such as a name of a member
}

// spots walks a fact and calls visit for each spot. An empty list gets one element, which
// stays only if visit returns true.
func spots(v reflect.Value, path string, visit func(spot) bool) bool {
	switch v.Kind() {
	case reflect.String:
		return textSpots(v, path, visit)
	case reflect.Pointer:
		if !v.IsNil() {
			return spots(v.Elem(), path, visit)
		}
		fresh := reflect.New(v.Type().Elem())
		if !spots(fresh.Elem(), path, visit) {
			return false
		}
		v.Set(fresh)
		return true
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return false
		}
		put := false
		for i := range v.NumField() {
			field, under := v.Type().Field(i), path
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
				under += "/" + name
			}
			put = spots(v.Field(i), under, visit) || put
		}
		return put
	case reflect.Slice:
		if v.Len() > 0 {
			return spots(v.Index(0), path+"/0", visit)
		}
		one := reflect.MakeSlice(v.Type(), 1, 1)
		if !spots(one.Index(0), path+"/0", visit) {
			return false
		}
		v.Set(one)
		return true
	case reflect.Map:
		return mapSpots(v, path, visit)
	case reflect.Interface:
		a := visit(spot{path, func(s string) { v.Set(reflect.ValueOf(s)) }, false})
		b := visit(spot{path + "/quote", func(s string) { v.Set(reflect.ValueOf(map[string]any{"type": "quote", "quote": s})) }, true})
		return a || b
	}
	return false
}

func textSpots(v reflect.Value, path string, visit func(spot) bool) bool {
	put := visit(spot{path, v.SetString, false})
	if v.Type() == reflect.TypeFor[schema.Ref]() {
		put = visit(spot{path + "/id", func(s string) {
			object, _ := json.Marshal(map[string]string{"id": s})
			v.SetString(string(object))
		}, true}) || put
	}
	return put
}

func mapSpots(v reflect.Value, path string, visit func(spot) bool) bool {
	set := func(name string, value any) {
		if !reflect.TypeOf(value).AssignableTo(v.Type().Elem()) {
			value = reflect.Zero(v.Type().Elem()).Interface()
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), reflect.ValueOf(value))
	}
	put := false
	if reflect.TypeFor[string]().AssignableTo(v.Type().Elem()) {
		put = visit(spot{path + "/note", func(s string) { set("note", s) }, false})
	}
	put = visit(spot{path + "/(name)", func(s string) { set(s, "x") }, true}) || put
	if v.Type().Elem().Kind() == reflect.Interface {
		put = visit(spot{path + "/deep", func(s string) { set("deep", []any{map[string]any{"a": map[string]any{s: []string{s}}}}) }, true}) || put
	}
	return put
}

// golden returns a valid fact of a type.
func golden(t testing.TB, kind schema.Type) schema.Fact {
	t.Helper()
	e, err := schema.ParseStructured(schema.Golden(kind))
	if err != nil {
		t.Fatal(err)
	}
	fact, err := e.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return fact
}

// planting puts a text, or its parts, into a fact.
type planting struct {
	kind  schema.Type
	at    int // the spot; further parts go into the next spots
	path  string
	extra bool
}

func plantings(t testing.TB) []planting {
	var list []planting
	for _, kind := range schema.Types() {
		n := 0
		spots(reflect.ValueOf(golden(t, kind)), "", func(s spot) bool {
			if s.path != "/event_type" { // set by the client
				list = append(list, planting{kind, n, s.path, s.extra})
			}
			n++
			return false
		})
	}
	return list
}

// fact returns the golden fact with the parts planted.
func (p planting) fact(t testing.TB, parts ...string) schema.Fact {
	fact, n := golden(t, p.kind), 0
	spots(reflect.ValueOf(fact), "", func(s spot) bool {
		n++
		if n <= p.at || len(parts) == 0 || n > p.at+1 && s.extra {
			return false
		}
		s.put(parts[0])
		parts = parts[1:]
		return true
	})
	return fact
}

// id reports whether the spot is an id. An id is refused and never masked.
func (p planting) id() bool {
	return strings.HasSuffix(p.path, "_id") && strings.Count(p.path, "/") == 1
}

// A disguise is a way to write a secret, in one text or in parts.
type disguise struct {
	name       string
	everywhere bool // tried in every spot
	write      func(secret string) []string
}

func one(write func(string) string) func(string) []string {
	return func(s string) []string { return []string{write(s)} }
}

// apart returns text with another text between its characters.
func apart(text, between string) string { return strings.Join(strings.Split(text, ""), between) }

func wrapped(text string, width int, by string) string {
	var lines []string
	for line := range slices.Chunk([]byte(text), width) {
		lines = append(lines, string(line))
	}
	return strings.Join(lines, by)
}

func eachByte(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func mapped(s string, f func(r rune) rune) string { return strings.Map(f, s) }

var disguises = []disguise{
	{"verbatim", true, one(func(s string) string { return s })},
	{"in-an-error", true, one(func(s string) string { return fmt.Sprintf("dial %q: connection refused", s) })},
	{"upper-case", true, one(strings.ToUpper)},
	{"lower-case", false, one(strings.ToLower)},
	{"base64", true, one(func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) })},
	{"base64-url", false, one(func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s + "\n")) })},
	{"base64-wrapped", false, one(func(s string) string { return wrapped(base64.StdEncoding.EncodeToString([]byte("x"+s)), 16, "\r\n") })},
	{"base32", false, one(func(s string) string { return base32.StdEncoding.EncodeToString([]byte("xy" + s)) })},
	{"hex", false, one(func(s string) string { return hex.EncodeToString([]byte(s)) })},
	{"hex-colons", false, one(func(s string) string { return wrapped(strings.ToUpper(hex.EncodeToString([]byte(s))), 2, ":") })},
	{"url", true, one(url.QueryEscape)},
	{"url-every-byte", false, one(func(s string) string { return eachByte(s, "%%%02x") })},
	{"url-twice", false, one(func(s string) string { return url.QueryEscape(url.QueryEscape(s)) })},
	{"json-in-text", false, one(func(s string) string { return `{"v":"` + eachByte(s, `\u%04x`) + `"}` })},
	{"html", false, one(func(s string) string { return eachByte(s, "&#x%x;") })},
	{"spaced", false, one(func(s string) string { return apart(s, " ") })},
	{"zero-width", false, one(func(s string) string { return apart(s, "\u200b") })},
	{"soft-hyphens", false, one(func(s string) string { return apart(s, "\u00ad") })},
	{"full-width", false, one(func(s string) string {
		return mapped(s, func(r rune) rune {
			if '!' <= r && r <= '~' {
				return r - '!' + '\uff01'
			}
			return r
		})
	})},
	{"reversed", false, one(func(s string) string {
		r := []rune(s)
		slices.Reverse(r)
		return string(r)
	})},
	{"split", true, func(s string) []string { return []string{"x " + s[:len(s)/2], s[len(s)/2:] + " y"} }},
	{"split-in-three", false, func(s string) []string {
		return []string{s[:len(s)/3] + "-", s[len(s)/3 : 2*len(s)/3], s[2*len(s)/3:]}
	}},
}

// leakSecrets returns secrets of kinds that agents meet, each with 8 letters and digits or
// more.
func leakSecrets(n int) []string {
	r := rand.New(rand.NewPCG(1, 4))
	letters := func(n int) string {
		const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	first, last := []string{"Anna", "Björn", "Chidi", "Dolores", "Eun-ji"}, []string{"Achterberg", "Okonkwo", "Müller", "Ó Súilleabháin", "Vasquez"}
	list := make([]string, n)
	for i := range list {
		switch i % 6 {
		case 0:
			list[i] = "sk-proj-" + letters(40)
		case 1:
			list[i] = "eyJ" + letters(20) + ".eyJ" + letters(50) + "." + letters(30)
		case 2:
			list[i] = fmt.Sprintf("postgres://app_%d:%s@db.internal:5432/app?x=%s", i, letters(10)+"/+%", letters(3))
		case 3:
			list[i] = fmt.Sprintf("%s %s %s", first[i/6%5], letters(1)+".", last[i/30%5]+"-"+letters(4))
		case 4:
			list[i] = fmt.Sprintf("+49 (0)151 %04d-%04d", i, r.IntN(10_000))
		case 5:
			list[i] = fmt.Sprintf("%04d%06d", i, r.IntN(1_000_000)) // a PIN
		}
	}
	return list
}
