package ledger

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// parse reads an address. The driver does not know the parameter ca, which names a file with the
// certificates of the only authorities that may have signed the certificate of the server. An
// address with https needs no secure=true.
func parse(dsn string) (*clickhouse.Options, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	query := u.Query()
	file := query.Get("ca")
	query.Del("ca")
	if u.Scheme == "https" {
		query.Set("secure", "true")
	}
	if encoded := query.Encode(); encoded != u.Query().Encode() {
		u.RawQuery = encoded
		dsn = u.String()
	}
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil || file == "" {
		return options, err
	}
	if options.TLS == nil {
		return nil, errors.New("ca names authorities, but the address has no TLS: add secure=true, or use https")
	}
	options.TLS.RootCAs, err = ReadAuthorities(file)
	return options, err
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
