package cli

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// ShellQuote returns s as one word of a POSIX shell. A control character or a byte that is
// no UTF-8 makes it a word of the form $'…', which bash, zsh and ksh read.
func ShellQuote(s string) string {
	const safe = "/._-+=:,@%^"
	plain := s != ""
	for _, r := range s {
		if !(r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || strings.ContainsRune(safe, r)) {
			plain = false
		}
	}
	switch {
	case plain:
		return s
	case utf8.ValidString(s) && ui.Safe(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

// DataArgument is the --data argument that another command needs to find the same data folder,
// with a space before it. The text is empty if the command finds the folder without it.
func (g *GlobalFlags) DataArgument() string {
	if !g.dataGiven {
		return ""
	}
	return " --data " + ShellQuote(g.DataFolder())
}

// DataFolder is the absolute path of the data folder.
func (g *GlobalFlags) DataFolder() string {
	if path, err := filepath.Abs(g.Data); err == nil {
		return path
	}
	return g.Data
}

// WithoutPassword returns an address of the embedded servers without its password, for pasting.
func WithoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = url.User(u.User.Username())
	return u.String()
}
