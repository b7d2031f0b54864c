package pack

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// clip shortens text for a message and escapes characters that do not print.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "�"))
	return string(quoted[1 : len(quoted)-1])
}

// appendText appends text as a JSON string. Bytes that are not UTF-8 are replaced.
func appendText[T []byte | string](b []byte, text T) []byte {
	start, ascii := len(b), true
	b = append(b, '"')
	from := 0
	for at := range len(text) {
		c := text[at]
		if c >= ' ' && c != '"' && c != '\\' {
			ascii = ascii && c < utf8.RuneSelf
			continue
		}
		b = append(b, text[from:at]...)
		from = at + 1
		if letter := escapeLetters[c]; letter != 0 {
			b = append(b, '\\', letter)
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	b = append(append(b, text[from:]...), '"')
	if !ascii && !utf8.Valid(b[start:]) {
		b, _ = jsontext.AppendQuote(b[:start], text) // the error means replaced bytes
	}
	return b
}

// escapeLetters are the letters of short escapes, by byte.
var escapeLetters = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const hexDigits = "0123456789abcdef"

// unescapes are the bytes of short escapes, by letter.
var unescapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) ([]byte, error) {
	rest := quoted[1 : len(quoted)-1]
	text := make([]byte, 0, len(rest))
	for valid := utf8.Valid(rest); valid; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			return append(text, rest...), nil
		}
		c := unescapes[rest[at+1]]
		if c == 0 {
			break // an escape of a code point, or an invalid escape
		}
		text = append(append(text, rest[:at]...), c)
		rest = rest[at+2:]
	}
	return jsontext.AppendUnquote(text[:0], quoted)
}
