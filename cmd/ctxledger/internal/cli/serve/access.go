package serve

import (
	"crypto/tls"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

// accessFlags say who may ask a server, and how.
type accessFlags struct {
	tokens, certificate, key string
	insecure                 bool
	hosts, origins           []string
}

func (f *accessFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.tokens, "tokens", "", "file of tokens; see `ctxledger token --help`")
	set.StringVar(&f.certificate, "tls-cert", "", "certificate with its chain, in PEM; read again after a change")
	set.StringVar(&f.key, "tls-key", "", "key of the certificate, in PEM")
	set.BoolVar(&f.insecure, "insecure", false, "allow an address outside loopback without TLS: anyone on the way can read the tokens")
	set.StringArrayVar(&f.hosts, "host", nil, "name of this server in addresses, without a port; may be given several times")
	set.StringArrayVar(&f.origins, "allow-origin", nil, "origin whose scripts may ask the read API, such as https://dashboard.example; may be given several times")
}

// check refuses flags that contradict each other, or the address.
func (f *accessFlags) check(address string) error {
	host, _, err := net.SplitHostPort(address)
	if address != "" && err != nil {
		return cli.UsageError("--listen %q: want an address such as 127.0.0.1:7070", address)
	}
	ip := net.ParseIP(host)
	outside := address != "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) // an empty address is on loopback
	switch {
	case (f.certificate == "") != (f.key == ""):
		return cli.UsageError("--tls-cert and --tls-key: give both")
	case outside && f.tokens == "":
		return cli.UsageError("--listen %q is not on loopback: give --tokens with a file of `ctxledger token create`", address)
	case outside && f.certificate == "" && !f.insecure:
		return cli.UsageError("--listen %q is not on loopback: give --tls-cert and --tls-key, or --insecure behind a proxy with TLS", address)
	case f.insecure && f.certificate != "":
		return cli.UsageError("--insecure and --tls-cert: give one of them")
	}
	for _, name := range f.hosts {
		if name == "" || strings.ContainsAny(name, ":/ *") {
			return cli.UsageError("--host %q: want a name without a port, such as ledger.example", name)
		}
	}
	for _, origin := range f.origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
			return cli.UsageError("--allow-origin %q: want an origin such as https://dashboard.example", origin)
		}
	}
	if ip != nil && !ip.IsUnspecified() {
		f.hosts = append(f.hosts, ip.String())
	} else if outside && ip == nil && host != "" {
		f.hosts = append(f.hosts, host)
	}
	if outside && len(f.hosts) == 0 {
		return cli.UsageError("--listen %q listens on all addresses: give --host with the name that browsers and programs use", address)
	}
	return nil
}

// openTokens reads the tokens file, nil without one.
func (f accessFlags) openTokens(a *cli.App) (*access.File, error) {
	if f.tokens == "" {
		return nil, nil
	}
	return access.Open(f.tokens, a.Log())
}

// tlsConfig reads the certificate, nil without one.
func (f accessFlags) tlsConfig(a *cli.App) (*tls.Config, error) {
	if f.certificate == "" {
		return nil, nil
	}
	certificate, err := access.OpenCertificate(f.certificate, f.key, a.Log())
	if err != nil {
		return nil, err
	}
	return certificate.Config(), nil
}

func guardOf(a *cli.App, f accessFlags, tokens *access.File) *access.Guard {
	c := access.DefaultConfig()
	c.Hosts, c.Origins, c.Tokens, c.Log = f.hosts, f.origins, tokens, a.Log()
	return access.New(c)
}
