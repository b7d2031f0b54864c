package ask_test

import (
	"testing"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, nil) }
