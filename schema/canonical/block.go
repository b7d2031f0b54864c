// Package canonical brings a block of a request into one form, so that equal blocks have equal digests
// whoever recorded them: the wire, a session log or an SDK. testdata/blocks.json has cases for
// programs in any language. All functions are pure.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Block returns the canonical bytes of a block of a request: a message, a part of a message,
// a tool definition or a system text. Blocks with equal canonical bytes mean the same to the model.
// The bytes are the JSON Canonicalization Scheme (RFC 8785) of the block after two changes:
//
//   - members named cache_control are removed, at every depth
//   - a string in place of the block, or of its member content, becomes one text part:
//     {"text":…,"type":"text"}, in content as the only element of an array
//
// Bytes that are not UTF-8, and lone surrogates, count as U+FFFD. The error means that the block is
// not one JSON value, or has a member twice. The error never holds content.
func Block(block []byte) ([]byte, error) {
	text := jsontext.Value(bytes.Clone(block))
	if err := text.Canonicalize(jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, errBlock
	}
	if bytes.Contains(text, []byte(`"cache_control":`)) {
		text = withoutCacheControl(text)
	}
	switch text.Kind() {
	case '"':
		return textPart(nil, text), nil
	case '{':
		return contentAsParts(text), nil
	}
	return text, nil
}

var errBlock = errors.New("read a block: want one JSON value without a member that occurs twice; send the block as it stands in the request")

// Sum returns the SHA-256 of the block's canonical bytes. A bare hash reveals content of low
// entropy. Facts hold its keyed digest instead, see EqualityDigest of schema.Key. Errors: those of
// [Block].
func Sum(block []byte) (sum [sha256.Size]byte, err error) {
	text, err := Block(block)
	if err != nil {
		return sum, err
	}
	return sha256.Sum256(text), nil
}

// withoutCacheControl removes the members named cache_control from canonical text.
func withoutCacheControl(text jsontext.Value) jsontext.Value {
	var out bytes.Buffer
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	enc := jsontext.NewEncoder(&out)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
		}
		if within, read := dec.StackIndex(dec.StackDepth()); within == '{' && read%2 == 1 && token.String() == "cache_control" {
			dec.SkipValue()
			continue
		}
		enc.WriteToken(token)
	}
}

// contentAsParts writes a text in the member content of a canonical object as one part.
func contentAsParts(text jsontext.Value) []byte {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, _ := dec.ReadToken()
		wanted := name.String() == "content"
		value, err := dec.ReadValue()
		if err != nil {
			break
		}
		if wanted {
			if value.Kind() != '"' {
				break
			}
			end := int(dec.InputOffset())
			out := append(bytes.Clone(text[:end-len(value)]), '[')
			return append(append(textPart(out, value), ']'), text[end:]...)
		}
	}
	return text
}

func textPart(to []byte, text jsontext.Value) []byte {
	return append(append(append(to, `{"text":`...), text...), `,"type":"text"}`...)
}
