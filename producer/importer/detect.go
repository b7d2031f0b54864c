package importer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/producer/importer/claudecode"
	"github.com/ctxledger/ctxledger/producer/importer/codex"
	"github.com/ctxledger/ctxledger/producer/importer/internal/jsonscan"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/importer/openhands"
	"github.com/ctxledger/ctxledger/producer/importer/sweagent"
	"github.com/go-json-experiment/json/jsontext"
)

// Detect recognises the format of a log by the names of the members of its first records. The
// file name does not matter. Detect reads the first lines, or a document up to the first name
// that decides, and leaves r at its start. For a log of an unknown format f is "" and looked
// names the expected members and the actual content. The error is an error of r.
func Detect(r io.ReadSeeker) (f model.Format, looked string, err error) {
	head, err := model.ReadHead(r, model.SniffBytes)
	if err != nil {
		return "", "", err
	}
	if f, err = detect(r, model.IsSpread(head)); err != nil {
		return "", "", err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return "", "", err
	}
	if f == "" {
		looked = lookedFor + "; found " + describe(head)
	}
	return f, looked, nil
}

const lookedFor = "the log has none of the known formats: claude-code (JSON lines with sessionId, or uuid and parentUuid), codex (JSON lines with type and payload, the first a session_meta), " +
	"swe-agent (a JSON document with a trajectory, or a history of messages with a role), openhands (a JSON document, or lines of documents, with a history of events, or events with an action, an observation or a kind)"

// logs holds the recogniser of each format, in the order of the queries.
var logs = []model.Recogniser{codex.Recogniser, openhands.Recogniser, claudecode.Recogniser, sweagent.Recogniser}

// detectLines is the number of lines that are examined. The first lines can be broken, or of a
// type that all formats have.
const detectLines = 50

func detect(r io.Reader, spread bool) (model.Format, error) {
	lines := bufio.NewReaderSize(r, model.ReadBufferBytes)
	for range detectLines {
		if _, err := lines.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return "", nil
			}
			return "", err
		}
		source := io.Reader(&model.LineSource{R: lines})
		if spread {
			source = lines
		}
		if f := detectValue(jsontext.NewDecoder(&markSkipper{r: source}, jsonscan.Streamed)); f != "" || spread {
			return f, nil
		}
		if _, err := io.Copy(io.Discard, source); err != nil {
			return "", err
		}
	}
	return "", nil
}

// markSkipper drops a byte order mark.
type markSkipper struct {
	r     io.Reader
	begun bool
}

func (m *markSkipper) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if !m.begun && n > 0 {
		m.begun = true
		if bytes.HasPrefix(p[:n], model.ByteOrderMark) {
			n = copy(p, p[len(model.ByteOrderMark):n])
		}
	}
	return n, err
}

// detectValue reads the names of an object until one decides the format. If the value is an
// array, detectValue reads the first element.
func detectValue(dec *jsontext.Decoder) model.Format {
	if dec.PeekKind() == '[' {
		if _, err := dec.ReadToken(); err != nil {
			return ""
		}
		return detectElement(dec)
	}
	if dec.PeekKind() != '{' {
		return ""
	}
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	seen := make(model.Members)
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		name := token.String()
		seen[name] = ""
		if name == "history" {
			return detectHistory(dec)
		}
		for _, l := range logs {
			if l.Tells(name, seen) {
				return l.Format
			}
		}
		if dec.PeekKind() == '"' {
			token, err := dec.ReadToken()
			if err != nil {
				return ""
			}
			seen[name] = model.ShortText(token.String(), 64)
			continue
		}
		if err := dec.SkipValue(); err != nil {
			break
		}
	}
	return byMembers(seen)
}

// byMembers queries each format with all members of an object.
func byMembers(seen model.Members) model.Format {
	for _, l := range logs {
		if l.Recognises(seen) {
			return l.Format
		}
	}
	return ""
}

// detectHistory examines the first element of a history.
func detectHistory(dec *jsontext.Decoder) model.Format {
	if dec.PeekKind() != '[' {
		return ""
	}
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	if dec.PeekKind() == ']' {
		return model.FormatOpenHands // a run that failed before its first event
	}
	return detectElement(dec)
}

// detectElement distinguishes events from messages.
func detectElement(dec *jsontext.Decoder) model.Format {
	if dec.PeekKind() == '[' { // an action and its observation
		if _, err := dec.ReadToken(); err != nil {
			return ""
		}
	}
	if dec.PeekKind() != '{' {
		return ""
	}
	if _, err := dec.ReadToken(); err != nil {
		return ""
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return ""
		}
		switch token.String() {
		case "role":
			return model.FormatSWEAgent
		case "action", "observation", "args", "cause", "llm_message", "llm_response_id", "system_prompt":
			return model.FormatOpenHands
		}
		if dec.SkipValue() != nil {
			return ""
		}
	}
	return ""
}

// describe returns the kind of bytes that a file begins with. describe does not quote them.
func describe(head []byte) string {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(head, model.ByteOrderMark))
	for mark, name := range map[string]string{
		"\x1f\x8b": "a gzip file: unpack it first", "PK\x03\x04": "a zip file: unpack it first", "\x28\xb5\x2f\xfd": "a zstd file: unpack it first",
		"SQLite format 3": "an SQLite database", "\xff\xfe": "UTF-16 text", "\xfe\xff": "UTF-16 text", "%PDF": "a PDF file", "\x7fELF": "a program",
	} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return name
		}
	}
	switch {
	case len(head) == 0:
		return "an empty file"
	case len(trimmed) == 0:
		return "white space"
	case bytes.IndexByte(head, 0) >= 0:
		return "a binary file"
	case !utf8.Valid(head[:max(len(head)-utf8.UTFMax, 0)]):
		return "text that is not UTF-8"
	case trimmed[0] == '{' || trimmed[0] == '[':
		kind := map[byte]string{'{': "a JSON object", '[': "a JSON array"}[trimmed[0]]
		if strings.Contains(string(trimmed[:min(len(trimmed), 64)]), "\n") {
			kind += " over several lines"
		}
		return kind + " that has none of these names or is cut off before them"
	}
	return fmt.Sprintf("text that is not JSON and begins with byte %#02x", trimmed[0])
}
