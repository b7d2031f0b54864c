package embedded

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	if dir := os.Getenv(holdDir); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}
