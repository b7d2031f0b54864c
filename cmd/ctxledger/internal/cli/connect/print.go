package connect

import (
	"embed"
	"io"
	"text/template"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

var indent = jsontext.WithIndent("  ")

//go:embed templates
var templateFiles embed.FS

// The templates quote every value: shell for a POSIX shell, text for a string of Go, Python,
// TypeScript or YAML, safe for a person.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"shell": ui.ShellQuote, "text": quoted, "safe": ui.Safe,
}).ParseFS(templateFiles, "templates/*.tmpl"))

// quoted is a string literal of Go, Python, TypeScript and YAML.
func quoted(s string) string {
	text, _ := jsontext.AppendQuote(nil, s) // a byte that is no UTF-8 is replaced
	return string(text)
}

func (p places) print(w io.Writer, topic string) error {
	switch topic {
	case "":
		return templates.ExecuteTemplate(w, "page.tmpl", p)
	case topicEnv:
		return p.printEnv(w)
	case topicNATS:
		return templates.ExecuteTemplate(w, "nats.tmpl", p.NATS)
	case topicClickHouse:
		return templates.ExecuteTemplate(w, "clickhouse.tmpl", p.ClickHouse)
	}
	return templates.ExecuteTemplate(w, "grafana.tmpl", p.ClickHouse)
}

// DataArgument is the --data argument that other commands need, with a space before it.
func (p places) DataArgument() string { return p.data }
