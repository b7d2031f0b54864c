package importer

import (
	"fmt"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// claudeUsage is the usage of one message, read from one of its records. The
// log repeats the usage on every content block of a message; the record with
// the most output tokens is the one that counts.
type claudeUsage struct {
	buckets  schema.ProviderUsage
	raw      map[string]any // the numbers as the log has them
	stop     string
	line     int // of the record
	problems []*lineError
}

// outputOf is the number of output tokens that a record tells, -1 when it
// tells none.
func outputOf(m *claudeMessage) int64 {
	if m.Usage.Kind() != '{' {
		return -1
	}
	var u struct {
		Output span `json:"output_tokens"`
	}
	if json.Unmarshal(m.Usage, &u, lenient) != nil {
		return -1
	}
	n, err := strconv.ParseInt(string(u.Output), 10, 64)
	if err != nil || n < 0 || n >= 1<<53 {
		return -1
	}
	return n
}

// parseUsage reads a usage object. A count that is negative or no integer is
// a problem and unknown.
func parseUsage(m *claudeMessage, line int) *claudeUsage {
	u := &claudeUsage{stop: shortText(m.StopReason, 64), line: line}
	if m.Usage.Kind() != '{' {
		return u
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(m.Usage, &members, lenient) != nil {
		u.problems = append(u.problems, &lineError{ReasonBadUsage, "the usage object cannot be read"})
		return u
	}
	u.raw = rawNumbers(members)
	u.buckets.UncachedInput = u.count(members, "input_tokens")
	u.buckets.CacheRead = u.count(members, "cache_read_input_tokens")
	u.buckets.Output = u.count(members, "output_tokens")
	written := u.count(members, "cache_creation_input_tokens")
	var lifetimes map[string]jsontext.Value
	if v := members["cache_creation"]; v.Kind() == '{' && json.Unmarshal(v, &lifetimes, lenient) == nil {
		short, long := u.count(lifetimes, "ephemeral_5m_input_tokens"), u.count(lifetimes, "ephemeral_1h_input_tokens")
		if short != nil && long != nil && (written == nil || *short+*long == *written) {
			u.buckets.CacheWrite5m, u.buckets.CacheWrite1h = short, long
			return u
		}
	}
	u.buckets.CacheWrite = written
	return u
}

func (u *claudeUsage) count(members map[string]jsontext.Value, name string) *int64 {
	value, ok := members[name]
	if !ok || value.Kind() == 'n' {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil || n >= 1<<53:
		u.problems = append(u.problems, &lineError{ReasonBadUsage, name + " is not a count"})
		return nil
	case n < 0:
		u.problems = append(u.problems, &lineError{ReasonNegativeUsage, fmt.Sprintf("%s is %d", name, n)})
		return nil
	}
	return &n
}

// maxRawNumbers bounds what a foreign usage object adds to an event.
const maxRawNumbers = 64

// rawNumbers keeps the numbers of a usage object verbatim, those of nested
// objects too. Everything else stays out.
func rawNumbers(members map[string]jsontext.Value) map[string]any {
	if len(members) > maxRawNumbers {
		return nil
	}
	numbers := make(map[string]any, len(members))
	for name, value := range members {
		if len(name) > 64 || len(value) > 4096 {
			continue
		}
		switch value.Kind() {
		case '0':
			if len(value) <= 32 {
				numbers[name] = value
			}
		case '{':
			var nested map[string]jsontext.Value
			if json.Unmarshal(value, &nested, lenient) != nil {
				continue
			}
			inner := make(map[string]any)
			for name, value := range nested {
				if value.Kind() == '0' && len(name) <= 64 && len(value) <= 32 && len(nested) <= maxRawNumbers {
					inner[name] = value
				}
			}
			if len(inner) > 0 {
				numbers[name] = inner
			}
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return numbers
}
