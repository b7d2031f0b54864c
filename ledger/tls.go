package ledger

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// parse reads an address. The driver does not know two parameters that name files. ca has the certificates of
// the only authorities that may have signed the certificate of the server, and is read now. cert has the
// certificate and the key of the client, and is read at each connect. An address with https needs no
// secure=true.
func parse(dsn string) (*clickhouse.Options, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	authorities, own := query.Get("ca"), query.Get("cert")
	query.Del("ca")
	query.Del("cert")
	if u.Scheme == "https" {
		query.Set("secure", "true")
	}
	if encoded := query.Encode(); encoded != u.Query().Encode() {
		u.RawQuery = encoded
		dsn = u.String()
	}
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil || authorities == "" && own == "" {
		return options, err
	}
	if options.TLS == nil {
		return nil, errors.New("ca or cert names certificates, but the address has no TLS: add secure=true, or use https")
	}
	if own != "" {
		options.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			certificate, err := ReadClientCertificate(own)
			return &certificate, err
		}
	}
	if authorities != "" {
		options.TLS.RootCAs, err = ReadAuthorities(authorities)
	}
	return options, err
}

// ReadClientCertificate reads a file with a certificate and its key, as PEM.
func ReadClientCertificate(file string) (tls.Certificate, error) {
	certificate, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		return certificate, fmt.Errorf("read the certificate and the key of this client from %s, both as PEM: %w", file, err)
	}
	return certificate, nil
}

// ReadAuthorities reads a file with the certificates of authorities, as PEM.
func ReadAuthorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate of an authority: want PEM, which begins with -----BEGIN CERTIFICATE-----", file)
	}
	return pool, nil
}
