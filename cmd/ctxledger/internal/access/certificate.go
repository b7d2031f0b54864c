package access

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Certificate is a certificate in two files that is read again after a change. Safe for concurrent
// use.
type Certificate struct {
	certificate, key string
	log              *slog.Logger

	mu     sync.Mutex // guards the fields below
	loaded *tls.Certificate
	looked time.Time
	states [2]state
}

// OpenCertificate reads a certificate with its chain, and its key, in PEM.
func OpenCertificate(certificate, key string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{certificate: certificate, key: key, log: log, looked: time.Now()}
	c.states = c.look()
	loaded, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	c.loaded = &loaded
	return c, nil
}

func (c *Certificate) look() [2]state { return [2]state{stateOf(c.certificate), stateOf(c.key)} }

// Config returns a configuration of TLS 1.2 or newer with this certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// get returns the certificate for a handshake. While the files do not fit together, the last good
// certificate is used.
func (c *Certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAgain {
		return c.loaded, nil
	}
	c.looked = time.Now()
	states := c.look()
	if states == c.states {
		return c.loaded, nil
	}
	loaded, err := tls.LoadX509KeyPair(c.certificate, c.key)
	if err != nil { // perhaps one of the files is new: look again
		c.log.Error("the certificate has an error: the last good one stays in use", "event", "certificate_malformed", "error", err)
		return c.loaded, nil
	}
	c.loaded, c.states = &loaded, states
	c.log.Info("the certificate was read again", "event", "certificate_read")
	return c.loaded, nil
}
