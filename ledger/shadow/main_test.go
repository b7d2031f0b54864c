package shadow_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	m.Run()
}
