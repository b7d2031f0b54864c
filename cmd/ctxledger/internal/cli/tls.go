package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/ledger"
)

// useCertificates reads the files of --ca and --client-cert, and names them in the address of ClickHouse if
// that has TLS.
func (g *GlobalFlags) useCertificates() error {
	if g.CA != "" {
		if _, err := ledger.ReadAuthorities(g.CA); err != nil {
			return UsageError("--ca: %w", err)
		}
	}
	if g.ClientCert != "" {
		if _, err := ledger.ReadClientCertificate(g.ClientCert); err != nil {
			return UsageError("--client-cert: %w", err)
		}
	}
	u, err := url.Parse(g.ClickHouse)
	if err != nil || u.Scheme != "https" && u.Query().Get("secure") != "true" {
		return nil
	}
	separator := "?"
	if u.RawQuery != "" {
		separator = "&"
	}
	for _, own := range []struct{ parameter, file string }{{"ca", g.CA}, {"cert", g.ClientCert}} {
		if own.file != "" && !u.Query().Has(own.parameter) {
			g.ClickHouse += separator + own.parameter + "=" + url.QueryEscape(own.file)
			separator = "&"
		}
	}
	return nil
}

// certificates makes a connection to NATS use the files of --ca and --client-cert, if the server wants TLS.
// The files are read at each connect.
func (g *GlobalFlags) certificates(o *nats.Options) error {
	if g.CA != "" {
		o.RootCAsCB = func() (*x509.CertPool, error) { return ledger.ReadAuthorities(g.CA) }
	}
	if g.ClientCert != "" {
		o.TLSCertCB = func() (tls.Certificate, error) { return ledger.ReadClientCertificate(g.ClientCert) }
	}
	return nil
}

// refusedCertificate matches the alerts of TLS about the certificate of the client, and no other alerts.
var refusedCertificate = regexp.MustCompile("remote error: tls: (.* certificate|unknown certificate authority|access denied)")

// certificateTrouble words the error of a TLS handshake: the end of a sentence that begins with the
// server. It is empty for other errors.
func certificateTrouble(err error) string {
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &unknown):
		return "has a certificate of an authority that is not known here: name the file of the authority with --ca or CTXLEDGER_CA"
	case errors.As(err, &host):
		return fmt.Sprintf("has a certificate for %s, and not for %s: use one of its names in the address", namesOf(host.Certificate), host.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("has a certificate that is valid from %s to %s: renew it, or correct the clock",
			invalid.Cert.NotBefore.UTC().Format("2006-01-02 15:04"), invalid.Cert.NotAfter.UTC().Format("2006-01-02 15:04"))
	case err != nil && strings.Contains(err.Error(), "remote error: tls: certificate required"):
		return "asks for a certificate of this client: name the file with the certificate and its key with --client-cert or CTXLEDGER_CLIENT_CERT"
	case err != nil && refusedCertificate.MatchString(err.Error()): // the types of alerts are not exported
		return "refuses the certificate of this client: check that its authority is one of the server, and its dates"
	case err != nil && strings.Contains(err.Error(), "connection closed by remote after TLS handshake"): // before its alert was read
		return "closes the connection after the handshake, as for a client without a certificate of its authority: check the file of --client-cert or CTXLEDGER_CLIENT_CERT"
	case errors.As(err, &record):
		return "does not speak TLS on this port: use its port with TLS (for ClickHouse 9440, or 8443 for HTTP), or an address without TLS"
	}
	return ""
}

// namesOf lists the names and addresses of a certificate.
func namesOf(c *x509.Certificate) string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name"
	}
	return strings.Join(names, ", ")
}
