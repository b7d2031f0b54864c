package pack

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// clip shortens what a message quotes and escapes what does not print.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "…"
	}
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "�"))
	return string(quoted[1 : len(quoted)-1])
}
