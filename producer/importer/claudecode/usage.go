package claudecode

import (
	"fmt"
	"strconv"

	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// claudeUsage is the usage of one message, read from one of its records. The log repeats the
// usage on every content block of a message. The record with the most output tokens counts.
type claudeUsage struct {
	buckets  schema.ProviderUsage
	raw      map[string]any // the numbers of the log, unchanged
	stop     string
	line     int // line of the record
	problems []*model.LineError
}

// outputOf returns the number of output tokens in a record, -1 when unknown.
func outputOf(m *claudeMessage) int64 {
	if m.Usage.Kind() != '{' {
		return -1
	}
	var output jsonscan.Span
	jsonscan.Decode(m.Usage, func(c *jsonscan.Cursor) bool {
		return c.Members(func(name []byte) bool {
			if string(name) == "output_tokens" {
				return c.Span(&output)
			}
			return c.Skip()
		})
	})
	n, err := strconv.ParseInt(string(output), 10, 64)
	if err != nil || n < 0 || n >= 1<<53 {
		return -1
	}
	return n
}

// parseUsage reads a usage object. A count that is negative or not an integer is a problem, and
// the count is unknown.
func parseUsage(m *claudeMessage, line int) *claudeUsage {
	u := &claudeUsage{stop: model.ShortText(m.StopReason, 64), line: line}
	if m.Usage.Kind() != '{' {
		return u
	}
	u.raw = rawNumbers(m.Usage, true)
	var input, cacheRead, output, allWritten, lifetimes, short, long jsonscan.Span
	jsonscan.Decode(m.Usage, func(c *jsonscan.Cursor) bool {
		return c.Members(func(name []byte) bool {
			switch string(name) {
			case "input_tokens":
				return c.Span(&input)
			case "cache_read_input_tokens":
				return c.Span(&cacheRead)
			case "output_tokens":
				return c.Span(&output)
			case "cache_creation_input_tokens":
				return c.Span(&allWritten)
			case "cache_creation":
				return c.Span(&lifetimes)
			}
			return c.Skip()
		})
	})
	u.buckets.UncachedInput = u.Count("input_tokens", input)
	u.buckets.CacheRead = u.Count("cache_read_input_tokens", cacheRead)
	u.buckets.Output = u.Count("output_tokens", output)
	written := u.Count("cache_creation_input_tokens", allWritten)
	if lifetimes.Kind() == '{' {
		jsonscan.Decode(lifetimes, func(c *jsonscan.Cursor) bool {
			return c.Members(func(name []byte) bool {
				switch string(name) {
				case "ephemeral_5m_input_tokens":
					return c.Span(&short)
				case "ephemeral_1h_input_tokens":
					return c.Span(&long)
				}
				return c.Skip()
			})
		})
		short, long := u.Count("ephemeral_5m_input_tokens", short), u.Count("ephemeral_1h_input_tokens", long)
		if short != nil && long != nil && (written == nil || *short+*long == *written) {
			u.buckets.CacheWrite5m, u.buckets.CacheWrite1h = short, long
			return u
		}
	}
	u.buckets.CacheWrite = written
	return u
}

func (u *claudeUsage) Count(name string, value jsonscan.Span) *int64 {
	if value == nil || value.Kind() == 'n' {
		return nil
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	switch {
	case err != nil || n >= 1<<53:
		u.problems = append(u.problems, model.NewLineError(model.ReasonBadUsage, name+" is not a count"))
		return nil
	case n < 0:
		u.problems = append(u.problems, model.NewLineError(model.ReasonNegativeUsage, fmt.Sprintf("%s is %d", name, n)))
		return nil
	}
	return &n
}

// maxRawNumbers limits the numbers that an event takes from an unknown usage object.
const maxRawNumbers = 64

// rawNumbers returns the numbers of a usage object, unchanged. If nested is set, rawNumbers
// includes the numbers of nested objects. Other values are left out.
func rawNumbers(object jsonscan.Span, nested bool) map[string]any {
	numbers, members := make(map[string]any), 0
	jsonscan.Decode(object, func(c *jsonscan.Cursor) bool {
		return c.Members(func(name []byte) bool {
			if members++; members > maxRawNumbers {
				return false // too many numbers for a usage object
			}
			value := c.Value()
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
