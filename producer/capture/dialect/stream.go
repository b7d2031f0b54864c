package dialect

import (
	"bytes"
	"strings"

	"github.com/ctxledger/ctxledger/schema"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxAnswerBytes is the largest response that a Reader keeps: a response as a whole, or one
// event of a stream. The rest of a larger one is counted as a problem.
const MaxAnswerBytes = 64 << 20

// Reader reads a response as it comes. Write never fails, so a Reader can stand in any copy.
// A Reader is for one goroutine at a time.
type Reader struct {
	answer Answer
	grow   grower // nil for a response that is no stream
	whole  func(a *Answer, body []byte)

	body     bytes.Buffer // the response, or the data of the current event
	line     bytes.Buffer // the current line of a stream
	afterCR  bool         // the last byte ended a line as a carriage return
	began    bool         // the first line was read
	tooLarge bool
}

// grower builds an answer from the events of a stream.
type grower interface {
	event(a *Answer, f fields)
	end(a *Answer)
}

// NewReader returns the reader of a response with this status and content type.
func (d Dialect) NewReader(status int, contentType string) *Reader {
	r := &Reader{answer: Answer{Status: status}}
	stream := strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/event-stream")
	switch d {
	case AnthropicMessages:
		r.whole = anthropicAnswer
		if stream {
			r.grow = &anthropicStream{}
		}
	case OpenAIChat:
		r.whole = chatAnswer
		if stream {
			r.grow = &chatStream{}
		}
	case OpenAIResponses:
		r.whole = responsesAnswer
		if stream {
			r.grow = &responsesStream{}
		}
	}
	return r
}

// Write reads the next bytes of the response after its content encoding is undone.
func (r *Reader) Write(p []byte) (int, error) {
	if r.grow == nil {
		r.keep(&r.body, p)
		return len(p), nil
	}
	for rest := p; len(rest) > 0; {
		if r.afterCR && rest[0] == '\n' {
			rest = rest[1:]
			r.afterCR = false
			continue
		}
		r.afterCR = false
		at := bytes.IndexAny(rest, "\r\n")
		if at < 0 {
			r.keep(&r.line, rest)
			break
		}
		r.keep(&r.line, rest[:at])
		r.afterCR = rest[at] == '\r'
		rest = rest[at+1:]
		r.endLine()
	}
	return len(p), nil
}

func (r *Reader) keep(to *bytes.Buffer, p []byte) {
	if to.Len()+len(p) > MaxAnswerBytes {
		r.tooLarge = true
		return
	}
	to.Write(p)
}

// endLine reads a line of a stream: data lines belong to the event that an empty line ends.
func (r *Reader) endLine() {
	line := r.line.Bytes()
	if !r.began {
		r.began = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) == 0 {
		r.endEvent()
	} else if name, value, _ := bytes.Cut(line, []byte(":")); string(name) == "data" {
		if r.body.Len() > 0 {
			r.keep(&r.body, []byte("\n"))
		}
		r.keep(&r.body, bytes.TrimPrefix(value, []byte(" ")))
	}
	r.line.Reset()
}

func (r *Reader) endEvent() {
	data := bytes.TrimSpace(r.body.Bytes())
	switch {
	case len(data) == 0:
	case r.tooLarge:
		r.answer.Problems++
		r.tooLarge = false
	case string(data) == "[DONE]":
		r.answer.Complete = true
	default:
		r.Event(data)
	}
	r.body.Reset()
}

// Event reads one event of a stream that another transport carries, such as a WebSocket.
func (r *Reader) Event(data []byte) {
	if f, ok := members(bytes.Clone(data)); ok && r.grow != nil {
		r.grow.event(&r.answer, f)
	} else {
		r.answer.Problems++
	}
}

// Answer ends the response and returns what arrived. An event without its empty line does not
// count, as the format demands. Call Answer once.
func (r *Reader) Answer() Answer {
	if r.grow != nil {
		if r.line.Len() > 0 || r.body.Len() > 0 {
			r.answer.Problems++
		}
		r.grow.end(&r.answer)
		return r.answer
	}
	if r.tooLarge {
		r.answer.Problems++
		return r.answer
	}
	if body := bytes.TrimSpace(r.body.Bytes()); len(body) > 0 && r.whole != nil {
		r.whole(&r.answer, body)
	}
	return r.answer
}

// failed notes the error that a provider answers with. failed returns false if f is no error.
func (a *Answer) failed(f fields) bool {
	e, ok := members(f.get("error"))
	if !ok {
		return false
	}
	if a.Error = blockName(e.text("type")); a.Error == "unknown" {
		a.Error = blockName(e.text("code"))
	}
	return true
}

// numbers returns the numbers of a usage object, and those of the objects in it.
func numbers(f fields, nested bool) map[string]any {
	const most = 64
	out := make(map[string]any)
	for _, m := range f[:min(len(f), most)] {
		if len(m.name) > 64 {
			continue
		}
		switch m.value.Kind() {
		case '0':
			if n := bytes.TrimSpace(m.value); len(n) <= 32 {
				out[m.name] = jsontext.Value(n)
			}
		case '{':
			if inner, ok := members(m.value); ok && nested {
				if n := numbers(inner, false); len(n) > 0 {
					out[m.name] = n
				}
			}
		}
	}
	return out
}

// use notes the usage of a response. read computes the buckets.
func (a *Answer) use(value jsontext.Value, read func(f fields) schema.ProviderUsage) {
	if f, ok := members(value); ok {
		a.Raw, a.Usage = numbers(f, true), read(f)
		if len(a.Raw) == 0 {
			a.Raw = nil
		}
	}
}

// less returns whole without part. An unknown part is no part. A part that is larger than the
// whole leaves the whole unknown.
func less(whole, part *int64) *int64 {
	if whole == nil || part == nil {
		return whole
	}
	if *part > *whole {
		return nil
	}
	rest := *whole - *part
	return &rest
}
