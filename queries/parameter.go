package queries

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Parameter is one parameter of a query.
type Parameter struct {
	Name     string
	Type     string // ClickHouse type: String, Int64, UInt32, UInt64 or Float64
	Unit     string // days, tokens, id, text, …; a String with the unit time is an RFC 3339 time or ''
	Default  string // value if the caller gives none; meaningless if Required
	Required bool
	Min, Max string   // allowed range of a number, both included; empty for none
	Choices  []string // allowed values of a string; empty for any
	About    string
}

// ErrParameter is wrapped by every error of [Query.Bind].
var ErrParameter = errors.New("wrong parameter")

// ParameterError names the wrong parameter and the allowed values. ParameterError wraps
// [ErrParameter].
type ParameterError struct {
	Query     string
	Parameter string
	Problem   string
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("query %s: parameter %s: %s", e.Query, e.Parameter, e.Problem)
}

func (e *ParameterError) Unwrap() error { return ErrParameter }

var numberTypes = map[string][2]float64{ // minimum and maximum of the type
	"Int64":   {math.MinInt64, math.MaxInt64},
	"UInt32":  {0, math.MaxUint32},
	"UInt64":  {0, math.MaxUint64},
	"Float64": {-math.MaxFloat64, math.MaxFloat64},
}

var (
	rangeForm  = regexp.MustCompile(`^\[(\S+)\.\.(\S+)\]$`)
	choiceForm = regexp.MustCompile(`^\{(\S+)\}$`)
)

func parseParameter(line string) (Parameter, error) {
	fields := fieldGap.Split(line, 6)
	if len(fields) < 5 {
		return Parameter{}, fmt.Errorf("parameter %q: want name, type, unit, default and meaning", line)
	}
	p := Parameter{Name: fields[0], Type: fields[1], Unit: fields[2]}
	_, isNumber := numberTypes[p.Type]
	value, hasDefault := strings.CutPrefix(fields[3], "= ")
	p.Default, p.Required = strings.Trim(value, "'"), fields[3] == "required"
	rest := fields[4:]
	if m := rangeForm.FindStringSubmatch(rest[0]); m != nil && len(rest) == 2 {
		p.Min, p.Max, rest = m[1], m[2], rest[1:]
	} else if m := choiceForm.FindStringSubmatch(rest[0]); m != nil && len(rest) == 2 {
		p.Choices, rest = strings.Split(m[1], "|"), rest[1:]
	}
	p.About = strings.Join(rest, " ")
	switch {
	case !identifier.MatchString(p.Name):
		return p, fmt.Errorf("parameter %q: a name is lower-case letters, digits and underscores", p.Name)
	case !isNumber && p.Type != "String":
		return p, fmt.Errorf("parameter %s: type %q is not supported", p.Name, p.Type)
	case !hasDefault && !p.Required:
		return p, fmt.Errorf("parameter %s: %q is neither a default nor the word required", p.Name, fields[3])
	case isNumber && p.Min == "":
		return p, fmt.Errorf("parameter %s: a number needs a range", p.Name)
	}
	if hasDefault {
		if _, err := p.check(p.Default); err != nil {
			return p, fmt.Errorf("parameter %s: default: %w", p.Name, err)
		}
	}
	return p, nil
}

// Allowed describes the allowed values of p in words.
func (p Parameter) Allowed() string {
	switch {
	case len(p.Choices) > 0:
		return "one of " + strings.Join(p.Choices, ", ")
	case p.Unit == "time":
		return "a time such as 2026-11-21T08:00:00Z"
	case p.Type == "Float64":
		return fmt.Sprintf("a number from %s to %s", p.Min, p.Max)
	case p.Min != "":
		return fmt.Sprintf("a whole number from %s to %s", p.Min, p.Max)
	}
	return "any text"
}

// check returns value in the form that the server reads.
func (p Parameter) check(value string) (string, error) {
	wrong := func() (string, error) {
		return "", fmt.Errorf("%q is not allowed, want %s", value, p.Allowed())
	}
	switch {
	case len(p.Choices) > 0:
		if !slices.Contains(p.Choices, value) {
			return wrong()
		}
		return value, nil
	case p.Unit == "time":
		if value == "" {
			return value, nil
		}
		t, err := time.Parse(time.RFC3339Nano, value)
		if err != nil || t.UTC().Year() < 1900 || t.UTC().Year() > 2261 {
			return wrong()
		}
		return t.UTC().Format("2006-01-02 15:04:05.999999999"), nil
	case p.Type == "String":
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			return "", errors.New("the text is not valid UTF-8 or holds a zero byte")
		}
		return value, nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err == nil && p.Type != "Float64" {
		_, err = strconv.ParseInt(value, 10, 64)
	}
	least, _ := strconv.ParseFloat(p.Min, 64)
	most, _ := strconv.ParseFloat(p.Max, 64)
	limits := numberTypes[p.Type]
	if err != nil || math.IsNaN(n) || n < max(least, limits[0]) || n > min(most, limits[1]) {
		return wrong()
	}
	return value, nil
}

// Bind checks arguments and returns the value of every parameter of q as a server parameter. A
// parameter without an argument gets its default. The error is a [*ParameterError] for an unknown
// argument, a missing argument, a wrong type or a value out of range. Of several errors, the
// first by name is reported.
func (q Query) Bind(arguments map[string]string) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if !slices.ContainsFunc(q.Parameters, func(p Parameter) bool { return p.Name == name }) {
			return nil, &ParameterError{q.Name, name, "the query has no such parameter; it has " + q.parameterNames() + q.nearestParameter(name)}
		}
	}
	values := make(map[string]string, len(q.Parameters))
	for _, p := range slices.SortedFunc(slices.Values(q.Parameters), func(a, b Parameter) int { return cmp.Compare(a.Name, b.Name) }) {
		value, given := arguments[p.Name]
		if p.Required && value == "" {
			return nil, &ParameterError{q.Name, p.Name, "is missing; give --param " + p.Name + "=…, " + p.About}
		}
		if !given {
			value = p.Default
		}
		checked, err := p.check(value)
		if err != nil {
			return nil, &ParameterError{q.Name, p.Name, err.Error()}
		}
		values[p.Name] = checked
	}
	return values, nil
}

// nearestParameter returns a question with the parameter name that differs from name by a few
// typing errors. Without a similar name, nearestParameter returns "".
func (q Query) nearestParameter(name string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, p := range q.Parameters {
		if d := editDistance(strings.ToLower(name), p.Name); d < least {
			best, least = p.Name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

func (q Query) parameterNames() string {
	if len(q.Parameters) == 0 {
		return "none"
	}
	names := make([]string, len(q.Parameters))
	for i, p := range q.Parameters {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}
