package clitest

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
)

// Readyz asks whether a server is ready.
func Readyz(t *testing.T, url string) (code int, body status.Readiness) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.UnmarshalRead(response.Body, &body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// Password returns the password in an address.
func Password(t *testing.T, address string) string {
	t.Helper()
	u, err := cli.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := u.User.Password()
	return secret
}
