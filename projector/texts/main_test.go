package texts

import (
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) {
	embedded.Main()
	embeddedtest.ServeNode()
	m.Run()
}
