package clitest

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/serve"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/ledger"
)

// Certify writes a certificate for 127.0.0.1 with its key, and returns a client that trusts it.
func Certify(t *testing.T, certificate, key string) *http.Client {
	t.Helper()
	ca := embeddedtest.NewAuthority(t)
	ca.Issue(t, certificate, key, time.Now().Add(time.Hour), "127.0.0.1")
	pool, err := ledger.ReadAuthorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// FreeAddress returns an address that no server listens on.
func FreeAddress(t *testing.T) string {
	t.Helper()
	listener, err := serve.ListenStatus("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Post posts a body, with headers as pairs of a name and a value.
func Post(t *testing.T, address string, body []byte, header ...string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, answer
}

// OverHTTP returns an address with the port of HTTP.
func OverHTTP(t *testing.T, dsn, httpURL string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	Must(t, err)
	http, err := url.Parse(httpURL)
	Must(t, err)
	u.Host = http.Host
	return u.String()
}

// Get asks for a page without following redirects.
func Get(t *testing.T, address string, header ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if request.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			request.Host = header[i+1]
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// Page returns the page of an address.
func Page(t *testing.T, address string) string {
	t.Helper()
	answer, text := Get(t, address)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d: %s", address, answer.StatusCode, text)
	}
	return text
}
