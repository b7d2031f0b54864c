// Package title makes the titles of items: a tool's name with the argument that tells one call from
// another, such as "Read src/app.go", or the first words of a prompt.
//
// A title is a part of a text. A detector therefore sees the text before it is cut, because a rule
// does not recognise half of a secret. What the detector finds is replaced in the title by its
// policy.
//
// The package is pure: no I/O, no clock, no state.
package title

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/producer/redact"
)

// MaxCharacters is the length of the longest title, in Unicode code points.
const MaxCharacters = 80

// maxText is the size of the longest text, in bytes, that a detector searches for a title. An item
// with a longer text has no title of its own.
const maxText = 64 << 10

// Maker makes titles. Safe for concurrent use if the detector is.
type Maker struct {
	// Detector finds secrets, for example by package secrets.
	Detector interface {
		Detect(ctx context.Context, text string) []redact.Value
	}
}

// Call returns the title of a tool call: the name, and the argument that says most. arguments is the
// call's JSON object or its text. Paths below folder are relative to it; folder may be "". The title is
// "" if no argument is suitable.
func (m *Maker) Call(name, arguments, folder string) string {
	what, path := argument(arguments)
	if len(folder) > 1 {
		folder = strings.TrimSuffix(folder, "/") + "/"
		what, path = strings.ReplaceAll(what, folder, ""), strings.ReplaceAll(path, folder, "")
	}
	name, what, path = oneLine(visible(name)), m.line(what), m.line(path)
	room := MaxCharacters - 1 - utf8.RuneCountInString(name)
	if name == "" || what == "" && path == "" || room < MaxCharacters/2 {
		return ""
	}
	if what == name || strings.HasPrefix(what, name+" ") { // a command line
		return beginning(what, MaxCharacters)
	}
	if path == "" {
		return name + " " + beginning(what, room)
	}
	if what != "" {
		what = beginning(what, room/2) + " "
	}
	return name + " " + what + end(path, room-utf8.RuneCountInString(what))
}

// Prompt returns the first words of a prompt. The title is "" if the prompt has none.
func (m *Maker) Prompt(text string) string {
	if strings.HasPrefix(text, "<command-") || strings.HasPrefix(text, "<local-command-") { // a slash command of Claude Code, in elements
		text = commandElement.ReplaceAllString(commandMessage.ReplaceAllString(text, " "), " ")
	}
	return beginning(m.line(text), MaxCharacters)
}

var (
	commandMessage = regexp.MustCompile(`(?s)<command-message>.*?</command-message>`) // the name again
	commandElement = regexp.MustCompile(`</?(local-)?command-[a-z]+>`)
	// control are the control sequences of a terminal, such as those of colours and of links (ECMA-48).
	control = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?)")
)

// line returns a text in one line, without secrets. The line is "" if the secrets cannot be masked.
func (m *Maker) line(text string) string {
	if len(text) > maxText {
		return ""
	}
	text = visible(text) // before the search: a secret with an invisible character in it is found then
	if values := m.Detector.Detect(context.Background(), text); len(values) > 0 {
		guard, err := redact.New(values...)
		if err != nil {
			return ""
		}
		text, _ = guard.Mask(text)
	}
	return oneLine(text)
}

// oneLine replaces white space by single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// visible leaves out what has no shape, such as control sequences of a terminal and marks of the writing
// direction.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return -1
	}, control.ReplaceAllString(text, ""))
}

// beginning returns the first words of a line, with an ellipsis if the line is longer than limit. It
// cuts a word only if the words before it take less than half of the limit.
func beginning(line string, limit int) string {
	runes := []rune(line)
	if len(runes) <= limit {
		return line
	}
	head := string(runes[:limit-1])
	if at := strings.LastIndexByte(head, ' '); at > limit/2 && runes[limit-1] != ' ' {
		head = head[:at]
	}
	return strings.TrimRight(head, " ") + "…"
}

// end returns the last folders and the file of a path, with an ellipsis if the path is longer than limit.
func end(path string, limit int) string {
	runes := []rune(path)
	if len(runes) <= limit {
		return path
	}
	tail := string(runes[len(runes)-limit+1:])
	if at := strings.IndexByte(tail, '/'); at >= 0 && at < len(tail)-1 {
		tail = tail[at:]
	}
	return "…" + tail
}

// given are the names of arguments that tell one call of a tool from another. The first one that a
// call has counts. The names are those of Claude Code, Codex, OpenHands, SWE-agent and common MCP
// servers.
var given = []string{
	"command", "cmd", "action", "pattern", "query", "q", "url", "uri", "file_path", "path", "notebook_path", "filename",
	"skill", "title", "description", "subject", "prompt", "name",
}

// paths are the arguments that are a path.
var paths = map[string]bool{"file_path": true, "path": true, "notebook_path": true, "filename": true}

// argument returns the argument of a call that says most: a text, a path, or both.
func argument(arguments string) (what, path string) {
	if file := patched(arguments); file != "" {
		return "", file
	}
	if !strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") {
		line, _, _ := strings.Cut(strings.TrimSpace(arguments), "\n")
		return line, ""
	}
	has := members(arguments)
	for _, name := range given {
		switch text := has[name]; {
		case text == "":
		case patched(text) != "":
			return "", patched(text)
		case paths[name]:
			return "", text
		case name == "command" || name == "pattern":
			return text, has["path"]
		default:
			return text, ""
		}
	}
	return "", ""
}

// members returns the members of a JSON object that have a text. They are those before the first fault.
func members(object string) map[string]string {
	has := make(map[string]string)
	dec := jsontext.NewDecoder(strings.NewReader(object), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return has
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return has
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return has
		}
		has[name] = textOf(value)
	}
	return has
}

// patchedFile is the line of a patch, in the format of Codex, that names a file.
var patchedFile = regexp.MustCompile(`(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$`)

// patched returns the first file of a patch, "" if the text holds none.
func patched(text string) string {
	if !strings.Contains(text, "*** Begin Patch\n") {
		return ""
	}
	if found := patchedFile.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// textOf returns a JSON string, or a list of strings as a command line. For bash -c, the command line
// is the script. Other values have no text.
func textOf(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return ""
		}
		return string(text)
	case '[':
		var list []string
		if json.Unmarshal(value, &list) != nil {
			return ""
		}
		if len(list) == 3 && (list[1] == "-c" || list[1] == "-lc") {
			return list[2]
		}
		return strings.Join(list, " ")
	}
	return ""
}
