package pack

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/schema"
)

// A lineScanner reads a record's line from left to right. After the first error, the scanner keeps
// the error and reads nothing more.
type lineScanner struct {
	line []byte
	at   int
	err  error
}

func (s *lineScanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("byte %d: "+format, append([]any{s.at + 1}, args...)...)
	}
}

// is consumes want if want comes next.
func (s *lineScanner) is(want string) bool {
	if s.err != nil || len(s.line)-s.at < len(want) || string(s.line[s.at:s.at+len(want)]) != want {
		return false
	}
	s.at += len(want)
	return true
}

func (s *lineScanner) expect(want string) {
	if !s.is(want) {
		s.fail("want %s", want)
	}
}

// number reads a decimal number below 2^63.
func (s *lineScanner) number() uint64 {
	from := s.at
	for s.at < len(s.line) && s.line[s.at] >= '0' && s.line[s.at] <= '9' {
		s.at++
	}
	n, err := parseIndex(s.line[from:s.at])
	if err != nil {
		s.at = from
		s.fail("want a whole number")
	}
	return uint64(n)
}

// text reads a JSON string. The result can alias the line.
func (s *lineScanner) text() []byte {
	text, _ := s.string()
	return text
}

// string reads a JSON string and reports whether the text aliases the line.
func (s *lineScanner) string() (text []byte, aliases bool) {
	from := s.at
	s.expect(`"`)
	aliases, sound := true, true
	for s.err == nil && s.at < len(s.line) && s.line[s.at] != '"' {
		switch c := s.line[s.at]; {
		case c == '\\':
			aliases = false
			s.at++
		case c < ' ':
			sound = false
		case c >= utf8.RuneSelf:
			aliases = false // possibly invalid UTF-8
		}
		s.at++
	}
	s.expect(`"`)
	if s.err != nil {
		return nil, false
	}
	if aliases && sound {
		return s.line[from+1 : s.at-1], true
	}
	text, err := unquote(s.line[from:s.at])
	if err != nil || !sound {
		s.at = from
		s.fail("want a JSON string")
	}
	return text, false
}

// hex reads hexadecimal digits and fills to with their bytes.
func (s *lineScanner) hex(to []byte) {
	text := s.text()
	if s.err != nil {
		return
	}
	if len(text) != 2*len(to) {
		s.fail("want %d hexadecimal digits before", 2*len(to))
	} else if _, err := hex.Decode(to, text); err != nil {
		s.fail("want hexadecimal digits before")
	}
}

func (s *lineScanner) record() *Record {
	r := &Record{}
	s.expect(`{"log_index":`)
	r.LogIndex = int64(s.number())
	s.expect(`,"stream_seq":`)
	r.StreamSeq = s.number()
	recorded := s.is(`,"recorded_at":`)
	if recorded {
		at, err := time.Parse(time.RFC3339Nano, string(s.text()))
		if err != nil {
			s.fail("want an RFC 3339 time before")
		}
		r.RecordedAt = at.UTC()
	}
	s.expect(`,"leaf":`)
	s.hex(r.Leaf[:])
	switch {
	case !recorded:
		s.expect(`,"erased":`)
		if r.Erased = string(s.text()); r.Erased == "" {
			s.fail("want the id of an erasure before")
		}
	case s.is(`,"withheld":true`):
		r.Withheld = true
	default:
		s.expect(`,"salt":`)
		s.hex(r.Salt[:])
		s.event(r)
	}
	s.expect("}")
	if s.at < len(s.line) {
		s.fail("want the end of the line")
	}
	return r
}

// mostAttributes bounds the attributes of an event, so that a hostile record takes no more
// memory than its line. A lawful event has some dozens.
const mostAttributes = 1024

func (s *lineScanner) event(r *Record) {
	s.expect(`,"attributes":{`)
	list := make([]schema.Attribute, 0, 24)
	for s.err == nil && !s.is("}") {
		if len(list) > 0 {
			s.expect(",")
		}
		if len(list) == mostAttributes {
			s.fail("more than %d attributes", mostAttributes)
			return
		}
		name := string(s.text())
		s.expect(":")
		list = append(list, schema.Attribute{Name: name, Value: string(s.text())})
	}
	var data []byte
	if s.is(`,"data_base64":`) {
		var err error
		if data, err = base64.StdEncoding.AppendDecode(nil, s.text()); err != nil {
			s.fail("want base64 before")
		}
	} else {
		s.expect(`,"data":`)
		var aliases bool
		if data, aliases = s.string(); aliases {
			data = bytes.Clone(data)
		}
	}
	if s.err != nil {
		return
	}
	e, err := schema.FromAttributes(list, data)
	if err != nil {
		s.err = fmt.Errorf("the event: %w", err)
	}
	r.Event = e
}
