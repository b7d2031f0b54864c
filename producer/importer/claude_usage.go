package importer

import (
	"fmt"
	"strconv"

	"github.com/ctxledger/ctxledger/schema"
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
	var output span
	decode(m.Usage, func(c *cursor) bool {
		return c.members(func(name []byte) bool {
			if string(name) == "output_tokens" {
				return c.span(&output)
			}
			return c.skip()
		})
	})
	n, err := strconv.ParseInt(string(output), 10, 64)
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
	u.raw = rawNumbers(m.Usage, true)
	var input, cacheRead, output, allWritten, lifetimes, short, long span
	decode(m.Usage, func(c *cursor) bool {
		return c.members(func(name []byte) bool {
			switch string(name) {
			case "input_tokens":
				return c.span(&input)
			case "cache_read_input_tokens":
				return c.span(&cacheRead)
			case "output_tokens":
				return c.span(&output)
			case "cache_creation_input_tokens":
				return c.span(&allWritten)
			case "cache_creation":
				return c.span(&lifetimes)
			}
			return c.skip()
		})
	})
	u.buckets.UncachedInput = u.count("input_tokens", input)
	u.buckets.CacheRead = u.count("cache_read_input_tokens", cacheRead)
	u.buckets.Output = u.count("output_tokens", output)
	written := u.count("cache_creation_input_tokens", allWritten)
	if lifetimes.Kind() == '{' {
		decode(lifetimes, func(c *cursor) bool {
			return c.members(func(name []byte) bool {
				switch string(name) {
				case "ephemeral_5m_input_tokens":
					return c.span(&short)
				case "ephemeral_1h_input_tokens":
					return c.span(&long)
				}
				return c.skip()
			})
		})
		short, long := u.count("ephemeral_5m_input_tokens", short), u.count("ephemeral_1h_input_tokens", long)
		if short != nil && long != nil && (written == nil || *short+*long == *written) {
			u.buckets.CacheWrite5m, u.buckets.CacheWrite1h = short, long
			return u
		}
	}
	u.buckets.CacheWrite = written
	return u
}

func (u *claudeUsage) count(name string, value span) *int64 {
	if value == nil || value.Kind() == 'n' {
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

// rawNumbers keeps the numbers of a usage object verbatim, those of the objects in it,
// too, where nested is set. Everything else stays out.
func rawNumbers(object span, nested bool) map[string]any {
	numbers, members := make(map[string]any), 0
	decode(object, func(c *cursor) bool {
		return c.members(func(name []byte) bool {
			if members++; members > maxRawNumbers {
				return false // so many are no usage
			}
			value := c.value()
			if len(name) > 64 || len(value) > 4096 {
				return true
			}
			switch kind := value.Kind(); {
			case kind == '0' && len(value) <= 32:
				numbers[string(name)] = jsontext.Value(value)
			case kind == '{' && nested:
				if inner := rawNumbers(value, false); inner != nil {
					numbers[string(name)] = inner
				}
			}
			return true
		})
	})
	if members > maxRawNumbers || len(numbers) == 0 {
		return nil
	}
	return numbers
}
