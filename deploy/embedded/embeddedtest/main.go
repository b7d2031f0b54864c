package embeddedtest

import (
	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest/inmemory"
)

// Main must be the first statement of TestMain in a package whose tests start servers. A process
// that the tests started as a server runs it and never returns. In any other process Main makes the
// tests cheaper, see [inmemory.Tests].
func Main() {
	embedded.Main()
	serveNode()
	inmemory.Tests()
}
