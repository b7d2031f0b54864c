package verify

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// escapesWithin is the number of nested JSON strings to unescape. The data of a record is a string,
// and can quote a tool's output in JSON.
const escapesWithin = 4

// scanFiles searches every file and every file name for redacted values.
func (v *verifier) scanFiles(scanners []scanner) error {
	group, ctx := errgroup.WithContext(v.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, e := range v.pack.Files() {
		v.scan(scanners, e.Path, 0, []byte(e.Path))
		group.Go(func() error {
			if !strings.Contains(pack.MediaType(e.Path), "json") && e.Size <= wholeText {
				if text, err := v.pack.ReadFile(e.Path); err == nil {
					v.scan(scanners, e.Path, 0, text)
				}
				return ctx.Err()
			}
			lines, err := v.pack.Lines(e.Path)
			if err != nil {
				v.unreadable(e.Path, 0, err)
				return nil
			}
			defer lines.Close()
			for ctx.Err() == nil {
				text, err := lines.Next()
				if err == io.EOF {
					return nil
				}
				if err != nil {
					v.unreadable(e.Path, lines.Number(), err)
					return nil
				}
				v.scan(scanners, e.Path, lines.Number(), text)
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// wholeText is the size in bytes up to which a text for people is searched as a whole. A value can
// span several lines.
const wholeText = 32 << 20

// scan reports each redacted value in text, in plain form or within JSON strings. The report never
// repeats the value.
func (v *verifier) scan(scanners []scanner, path string, number int64, text []byte) {
	for range escapesWithin {
		v.scanPlain(scanners, path, number, text)
		if at := bytes.Index(text, []byte(`"data_base64":"`)); at >= 0 && path == pack.EventsFile {
			if r, err := pack.ParseRecord(text); err == nil && r.Event != nil {
				v.scanPlain(scanners, path, number, r.Event.Data)
			}
		}
		if bytes.IndexByte(text, '\\') < 0 {
			return
		}
		text = unescape(text)
	}
}

func (v *verifier) scanPlain(scanners []scanner, path string, number int64, text []byte) {
	for _, s := range scanners {
		for _, m := range s.Scan(text) {
			p := s.prints[m.Fingerprint]
			v.found.faultf(Redaction, path, number, "contains a value that redaction %s withholds (record at line %d)", quote(p.redaction), p.line)
		}
	}
}

// unescape replaces the escapes of JSON strings by their characters, anywhere in text. Other bytes
// remain unchanged.
func unescape(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out = append(out, text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := unescapeRune(text[i+1:])
			if n == 0 {
				out = append(out, '\\', c)
			} else {
				out = utf8.AppendRune(out, r)
				i += n
			}
		default:
			out = append(out, '\\', c)
		}
	}
	return out
}

// unescapeRune reads the digits after \u, and the second half of a surrogate pair. The result
// includes the number of bytes read, 0 without digits.
func unescapeRune(text []byte) (rune, int) {
	unit, ok := hexUnit(text)
	if !ok {
		return 0, 0
	}
	if unit >= 0xd800 && unit < 0xdc00 && len(text) >= 10 && text[4] == '\\' && text[5] == 'u' {
		if low, ok := hexUnit(text[6:]); ok && low >= 0xdc00 && low < 0xe000 {
			return (unit-0xd800)<<10 + (low - 0xdc00) + 0x10000, 10
		}
	}
	return unit, 4
}

func hexUnit(text []byte) (n rune, ok bool) {
	if len(text) < 4 {
		return 0, false
	}
	for _, c := range text[:4] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
