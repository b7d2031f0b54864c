package producer

import (
	"net/url"
	"os"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
)

func TestMain(m *testing.M) {
	embeddedtest.Main()
	if child, ok := children[os.Getenv(childKind)]; ok {
		child()
	}
	os.Exit(m.Run())
}

func portOf(t testing.TB, natsURL string) string {
	t.Helper()
	u, err := url.Parse(natsURL)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}

func newClient(t testing.TB, b *bustest.Bus, options ...func(*Config)) *Client {
	t.Helper()
	c := DefaultConfig(b.NC)
	c.Instance = "test"
	for _, option := range options {
		option(&c)
	}
	client, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
