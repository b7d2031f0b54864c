package embeddedtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates of servers in tests.
type Authority struct {
	File string // its certificate, as PEM
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// NewAuthority makes an authority that no system knows.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{File: filepath.Join(tb.TempDir(), "ca.pem"), key: newKey(tb)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ctxledger test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	must(tb, err)
	a.cert, err = x509.ParseCertificate(der)
	must(tb, err)
	writePEM(tb, a.File, "CERTIFICATE", der)
	return a
}

// Issue writes a certificate for names and addresses, which ends at a time, and its key.
func (a *Authority) Issue(tb testing.TB, certificate, key string, end time.Time, names ...string) {
	tb.Helper()
	private := newKey(tb)
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: end}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), a.key)
	must(tb, err)
	writePEM(tb, certificate, "CERTIFICATE", der)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	must(tb, err)
	writePEM(tb, key, "PRIVATE KEY", pkcs8)
}

// Asking makes a server ask its clients for a certificate of a. A nil a asks for none.
func (a *Authority) Asking(c *tls.Config) *tls.Config {
	if a == nil {
		return c
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	c.ClientCAs.AddCert(a.cert)
	return c
}

// IssueClient writes a certificate of a client with its key to one file.
func (a *Authority) IssueClient(tb testing.TB, file string) {
	tb.Helper()
	key := file + ".key"
	a.Issue(tb, file, key, time.Now().Add(time.Hour), "client")
	private, err := os.ReadFile(key)
	must(tb, err)
	certificate, err := os.ReadFile(file)
	must(tb, err)
	must(tb, os.WriteFile(file, append(certificate, private...), 0o600))
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(tb, err)
	return key
}

func writePEM(tb testing.TB, path, kind string, der []byte) {
	tb.Helper()
	must(tb, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Secured puts TLS in front of a port of this machine until the test ends, and returns the port with
// TLS. The engine of the tests has no port with TLS of its own. With an authority of clients, each client
// needs a certificate of it; nil asks for none.
func Secured(tb testing.TB, port string, issue func(certificate, key string), clients *Authority) (secure string) {
	tb.Helper()
	dir := tb.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	issue(certificate, key)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	must(tb, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", clients.Asking(&tls.Config{Certificates: []tls.Certificate{pair}}))
	must(tb, err)
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // the listener is closed
			}
			go pass(client, "127.0.0.1:"+port)
		}
	}()
	_, secure, err = net.SplitHostPort(l.Addr().String())
	must(tb, err)
	return secure
}

// pass copies the bytes of a client to a server and back. A client without a valid handshake sends
// the server nothing.
func pass(client net.Conn, address string) {
	defer client.Close()
	if err := client.(*tls.Conn).Handshake(); err != nil {
		// an end before the client's bytes are read would take the alert away
		raw := client.(*tls.Conn).NetConn()
		_ = raw.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, raw)
		return
	}
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
