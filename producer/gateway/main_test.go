package gateway

import (
	"os"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func TestMain(m *testing.M) {
	embedded.Main()
	if child, ok := children[os.Getenv(childKind)]; ok {
		child()
	}
	os.Exit(m.Run())
}
