package producertest

import (
	"os"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	os.Exit(m.Run())
}
