package ledger

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// TestClientCertificateIsReadAgain: a renewed certificate of the client is used at the next connect.
func TestClientCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	ca, file := embeddedtest.NewAuthority(t), filepath.Join(t.TempDir(), "client.pem")
	options, err := parse("clickhouse://127.0.0.1:9440/ctxledger?secure=true&cert=" + file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := options.TLS.GetClientCertificate(nil); err == nil {
		t.Error("a file that is not there is no certificate")
	}
	var before []byte
	for range 2 {
		ca.IssueClient(t, file)
		own, err := options.TLS.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(own.Certificate[0], before) {
			t.Error("the certificate is not the renewed one")
		}
		before = own.Certificate[0]
	}
	if _, err := parse("clickhouse://127.0.0.1:9000/ctxledger?cert=" + file); err == nil {
		t.Error("an address without TLS takes a certificate")
	}
}
