package cli

import (
	"net/url"
	"path/filepath"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// DataArgument is the --data argument that another command needs to find the same data folder,
// with a space before it. The text is empty if the command finds the folder without it.
func (g *GlobalFlags) DataArgument() string {
	if !g.dataGiven {
		return ""
	}
	return " --data " + ui.ShellQuote(g.DataFolder())
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
