// Command ctxledger records the context windows of AI agents, and answers questions about
// them. Run `ctxledger help`.
package main

import (
	"embed"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
)

// sources are the files that the demo's agent reads: this program's own. They are here because
// only files below the folder of a package can be embedded.
//
//go:embed *.go internal
var sources embed.FS

func main() { root.Main(sources) }
