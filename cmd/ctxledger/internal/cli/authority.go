package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/ledger"
)

// useAuthorities reads the file of --ca, and names it in the address of ClickHouse if that has TLS.
func (g *GlobalFlags) useAuthorities() error {
	if g.CA == "" {
		return nil
	}
	if _, err := ledger.ReadAuthorities(g.CA); err != nil {
		return UsageError("--ca: %w", err)
	}
	u, err := url.Parse(g.ClickHouse)
	if err != nil || u.Query().Has("ca") || u.Scheme != "https" && u.Query().Get("secure") != "true" {
		return nil
	}
	separator := "?"
	if u.RawQuery != "" {
		separator = "&"
	}
	g.ClickHouse += separator + "ca=" + url.QueryEscape(g.CA)
	return nil
}

// authorities makes a connection to NATS use the authorities of --ca, if the server wants TLS. The
// file is read at each connect.
func (g *GlobalFlags) authorities(o *nats.Options) error {
	if g.CA != "" {
		o.RootCAsCB = func() (*x509.CertPool, error) { return ledger.ReadAuthorities(g.CA) }
	}
	return nil
}

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
