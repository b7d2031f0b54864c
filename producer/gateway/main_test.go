package gateway

import (
	"os"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func TestMain(m *testing.M) {
	embedded.Main()
	os.Exit(m.Run())
}
