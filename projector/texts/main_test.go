package texts

import (
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func TestMain(m *testing.M) {
	embedded.Main()
	m.Run()
}
