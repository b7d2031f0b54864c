package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// additive compares two JSON Schemas. It lists the places where current refuses data that
// released accepted, or reads the data otherwise, with one line per finding. New members, wider
// types and limits, and new descriptions pass. An unknown keyword passes only unchanged.
func additive(released, current any) []string {
	c := comparison{old: schemaRoot(released), new: schemaRoot(current), seen: map[[2]string]bool{}}
	c.schemas("", released, current)
	return c.found
}

func schemaRoot(s any) object { o, _ := s.(object); return o }

type comparison struct {
	old, new object
	seen     map[[2]string]bool // pairs of references, so that recursion ends
	found    []string
}

func (c *comparison) refuse(at, format string, args ...any) {
	c.found = append(c.found, or(at, "/")+": "+fmt.Sprintf(format, args...))
}

// prose are the keywords that assert nothing and may change.
var prose = []string{"description", "examples", "default", "$comment", "$defs", "deprecated"}

// nested are the keywords whose text may stay while a definition changes.
var nested = []string{"properties", "items", "additionalProperties", "propertyNames", "contains", "anyOf"}

// limits maps each limit to the direction in which it widens.
var limits = map[string]int{
	"minimum": -1, "exclusiveMinimum": -1, "minLength": -1, "minItems": -1, "minProperties": -1, "minContains": -1,
	"maximum": 1, "exclusiveMaximum": 1, "maxLength": 1, "maxItems": 1, "maxProperties": 1,
}

func (c *comparison) schemas(at string, old, new any) {
	if refs := [2]string{refOf(old), refOf(new)}; refs[0] != "" && refs[1] != "" {
		if c.seen[refs] {
			return
		}
		c.seen[refs] = true
	}
	if new == false && old != false {
		c.refuse(at, "nothing is accepted any more")
		return
	}
	o, n := c.resolve(c.old, old), c.resolve(c.new, new) // nil for true: no keywords
	for _, keyword := range slices.Sorted(maps.Keys(union(o, n))) {
		was, had := o[keyword]
		is, has := n[keyword]
		if !slices.Contains(prose, keyword) && !reflect.DeepEqual(was, is) || slices.Contains(nested, keyword) {
			c.keyword(at, keyword, was, is, had, has)
		}
	}
}

func (c *comparison) keyword(at, keyword string, was, is any, had, has bool) {
	direction, isLimit := limits[keyword]
	switch {
	case isLimit:
		if has && (!had || number(is)*float64(direction) < number(was)*float64(direction)) {
			c.refuse(at, "%s narrowed from %v to %v", keyword, was, is)
		}
	case keyword == "type":
		for _, t := range words(was, has && !had) {
			if has && !slices.Contains(words(is, false), t) && !(t == "integer" && slices.Contains(words(is, false), "number")) {
				c.refuse(at, "type %s is no longer accepted", t)
			}
		}
	case keyword == "required":
		for _, name := range words(is, false) {
			if !slices.Contains(words(was, false), name) {
				c.refuse(at, "%s is required now", name)
			}
		}
	case keyword == "enum":
		c.enum(at, was, is, had, has)
	case keyword == "properties":
		c.properties(at, was, is)
	case keyword == "anyOf":
		c.anyOf(at, was, is, had, has)
	case slices.Contains(nested, keyword):
		if has {
			c.schemas(at+"/"+keyword, orTrue(was, had), is)
		}
	case slices.Contains([]string{"pattern", "format", "multipleOf", "uniqueItems", "const"}, keyword):
		if has {
			c.refuse(at, "%s changed from %v to %v", keyword, was, is)
		}
	case keyword == "$ref": // resolved above
	default: // title and unit among them: they say what a value means
		c.refuse(at, "%s changed from %v to %v", keyword, was, is)
	}
}

func (c *comparison) enum(at string, was, is any, had, has bool) {
	if has && !had {
		c.refuse(at, "enum closes what was open")
	}
	if !has || !had {
		return
	}
	for _, value := range was.([]any) {
		if !slices.ContainsFunc(is.([]any), func(v any) bool { return reflect.DeepEqual(v, value) }) {
			c.refuse(at, "enum no longer has %v", value)
		}
	}
}

func (c *comparison) properties(at string, was, is any) {
	old, _ := was.(object)
	new, _ := is.(object)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, has := new[name]; !has {
			c.refuse(at, "property %s is gone", name)
			continue
		}
		c.schemas(at+"/"+name, old[name], new[name])
	}
}

// anyOf asks of each old branch that some new one takes all of it.
func (c *comparison) anyOf(at string, was, is any, had, has bool) {
	if has && !had {
		c.refuse(at, "anyOf closes what was open")
	}
	if !has || !had {
		return
	}
	for i, branch := range was.([]any) {
		if !slices.ContainsFunc(is.([]any), func(b any) bool {
			one := comparison{old: c.old, new: c.new, seen: map[[2]string]bool{}}
			one.schemas(at, branch, b)
			return len(one.found) == 0
		}) {
			c.refuse(at, "anyOf no longer takes branch %d", i)
		}
	}
}

// resolve follows references within the document; nil is a boolean schema.
func (c *comparison) resolve(root object, s any) object {
	for {
		o, isObject := s.(object)
		ref := refOf(s)
		if !isObject || ref == "" {
			return o
		}
		target, ok := root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object)
		if !ok {
			return o
		}
		merged := union(target, o)
		delete(merged, "$ref")
		if next := refOf(target); next != "" {
			merged["$ref"] = next
		}
		s = merged
	}
}

func refOf(s any) string {
	o, _ := s.(object)
	ref, _ := o["$ref"].(string)
	return ref
}

func union(a, b object) object {
	u := make(object)
	maps.Copy(u, a)
	maps.Copy(u, b)
	return u
}

func orTrue(s any, have bool) any {
	if !have {
		return true
	}
	return s
}

// words are the strings of a string or a list; every JSON type where anything
// was allowed.
func words(v any, all bool) (list []string) {
	if all {
		return []string{"object", "array", "string", "number", "boolean", "null"}
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, word := range v {
			list = append(list, fmt.Sprint(word))
		}
	}
	return list
}

func number(v any) float64 {
	n, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return n
}
