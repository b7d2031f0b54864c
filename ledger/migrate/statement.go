package migrate

import (
	"embed"
	"strings"
)

//go:embed statements/*.sql
var statementFiles embed.FS

// statement returns the SQL of a file in statements/. A missing file is a
// programming error.
func statement(name string) string {
	text, err := statementFiles.ReadFile("statements/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(text))
}

// Split cuts a file at its semicolons and leaves out comments. A
// semicolon or a comment's mark within quotes is text.
func Split(text string) []string {
	var statements []string
	var current strings.Builder
	end := func() {
		if s := strings.TrimSpace(current.String()); s != "" {
			statements = append(statements, s)
		}
		current.Reset()
	}
	for text != "" {
		n := 1
		switch {
		case text[0] == ';':
			end()
			text = text[1:]
			continue
		case strings.HasPrefix(text, "--"):
			text = text[lengthTo(text, "\n"):]
			continue
		case strings.HasPrefix(text, "/*"):
			text = text[2+lengthTo(text[2:], "*/"):]
			text = strings.TrimPrefix(text, "*/")
			continue
		case strings.ContainsRune("'\"`", rune(text[0])):
			n = quoted(text)
		}
		current.WriteString(text[:n])
		text = text[n:]
	}
	end()
	return statements
}

func lengthTo(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i
	}
	return len(text)
}

// quoted returns the length of the quoted text that text begins with. A doubled quote reads as
// two texts in a row, with the same result.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return len(text)
}
