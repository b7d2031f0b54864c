package connect

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// variable is an environment variable. One that is set already has a note instead of a
// value.
type variable struct{ name, value, note string }

// list returns the variables that make programs find the same servers.
func (p places) list() (list []variable) {
	if p.Data != "" {
		list = append(list, variable{name: "CTXLEDGER_DATA", value: p.Data})
	}
	if base, ok := strings.CutSuffix(p.Health, "/readyz"); ok { // of the SDKs that use HTTP
		list = append(list, variable{name: "CTXLEDGER_URL", value: base})
	}
	if n := p.NATS; n != nil {
		switch {
		case n.Context != "":
			list = append(list, variable{name: "CTXLEDGER_NATS_CONTEXT", value: n.Context})
		default:
			list = append(list, place("CTXLEDGER_NATS_URL", n.URLFile, n.URL, n.full, n.origin))
		}
	}
	if c := p.ClickHouse; c != nil {
		list = append(list, place("CTXLEDGER_CLICKHOUSE_DSN", c.DSNFile, c.DSN, c.full, c.origin))
	}
	return list
}

// place is the variable of an address: its file, or else where it comes from.
func place(name, file, redacted, full string, origin cli.Origin) variable {
	switch {
	case full != "":
		return variable{name: name, value: full}
	case file != "":
		return variable{name: name + "_FILE", value: file}
	case origin.File != "":
		return variable{name: name + "_FILE", value: absolute(origin.File)}
	case origin.Variable != "":
		return variable{name: name, note: "is set in this environment"}
	case origin.Settings != "":
		return variable{name: "CTXLEDGER_CONFIG", value: absolute(origin.Settings)}
	}
	return variable{name: name, value: redacted} // a flag holds no password
}

// variables are those to set, by name.
func (p places) variables() map[string]string {
	set := make(map[string]string)
	for _, v := range p.list() {
		if v.note == "" {
			set[v.name] = v.value
		}
	}
	return set
}

func (p places) printEnv(w io.Writer) error {
	for _, v := range p.list() {
		line := "export " + v.name + "=" + ui.ShellQuote(v.value)
		if v.note != "" {
			line = "# " + v.name + " " + v.note
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func absolute(path string) string {
	if found, err := filepath.Abs(path); err == nil {
		return found
	}
	return path
}
