package verify

import (
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest/inmemory"
)

func TestMain(m *testing.M) {
	inmemory.Tests()
	m.Run()
}
