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

// startTest is embeddedtest.Start for this package, which embeddedtest imports.
func startTest(t *testing.T, options ...func(*Config)) *Servers {
	t.Helper()
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
	c := DefaultConfig(t.TempDir())
	for _, option := range options {
		option(&c)
	}
	s, err := Start(t.Context(), c)
	if err != nil {
		giveUp(t, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the embedded servers: %v", err)
		}
	})
	return s
}

func startClickHouse(t *testing.T) *Servers {
	t.Helper()
	return startTest(t, func(c *Config) { c.NoNATS = true })
}

func giveUp(t *testing.T, err error) {
	t.Helper()
	if Unavailable(err) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	t.Fatal(err)
}
