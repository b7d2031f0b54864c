package connect

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// places are the servers to connect to. A server that is nil was neither named nor started.
type places struct {
	Data       string           `json:"data,omitempty"` // the folder of the instance
	NATS       *natsPlace       `json:"nats,omitempty"`
	ClickHouse *clickhousePlace `json:"clickhouse,omitempty"`
	Health     string           `json:"health_url,omitempty"`
	Metrics    string           `json:"metrics_url,omitempty"`

	data string // the folder as it was given to find the keys, "" for the default one
}

// secret is a password and where it is. A server of the instance has a file for it; one
// that was named has an origin.
type secret struct {
	PasswordFile string `json:"password_file,omitempty"`
	PasswordFrom string `json:"password_from,omitempty"`
	Password     string `json:"password,omitempty"` // on request only
}

// natsPlace is a NATS server.
type natsPlace struct {
	URL     string `json:"url,omitempty"` // without a password
	User    string `json:"user,omitempty"`
	URLFile string `json:"url_file,omitempty"` // holds the URL with user and password
	Context string `json:"context,omitempty"`  // of the nats command line, instead of a URL
	secret

	origin cli.Origin
	full   string // the address with its password, on request only
}

// clickhousePlace is a ClickHouse server.
type clickhousePlace struct {
	Native   string `json:"native"`             // host:port
	HTTP     string `json:"http_url,omitempty"` // not known of a server that was named
	JDBC     string `json:"jdbc_url,omitempty"`
	DSN      string `json:"dsn"` // without a password
	User     string `json:"user"`
	Database string `json:"database"`
	DSNFile  string `json:"dsn_file,omitempty"` // holds the DSN with its password
	secret

	origin cli.Origin
	full   string
}

// find returns the named servers, and the servers of the instance on the data folder.
func find(a *cli.App, showSecrets bool) (places, error) {
	var p places
	found, err := a.Addresses()
	if err != nil {
		return p, err
	}
	files := embedded.ClientFilesOf(a.Flags.DataFolder())
	switch name, from := a.Flags.NATSContext(); {
	case a.Flags.NATS != "":
		p.NATS = namedNATS(a.Flags.NATS, a.Flags.NATSOrigin(), showSecrets)
	case name != "":
		p.NATS = &natsPlace{Context: name, origin: from, secret: secret{PasswordFrom: "the context " + name + " of the nats command line"}}
	case found.NATSURL != "":
		p.NATS = ownNATS(found.NATSURL, files, showSecrets)
	}
	switch {
	case a.Flags.ClickHouse != "":
		if p.ClickHouse, err = namedClickHouse(a.Flags.ClickHouse, a.Flags.ClickHouseOrigin(), showSecrets); err != nil {
			return p, err
		}
	case found.ReaderDSN != "":
		p.ClickHouse = ownClickHouse(found, files, showSecrets)
	}
	if found.PID != 0 {
		p.Data = a.Flags.DataFolder()
	}
	if found.ProgramURL != "" {
		p.Health, p.Metrics = found.ProgramURL+"/readyz", found.ProgramURL+"/metrics"
	}
	p.data = a.Flags.DataArgument()
	return p, nil
}

// splitUser takes user and password out of an address.
func splitUser(address string) (bare, user, password string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", ""
	}
	user = u.User.Username()
	password, _ = u.User.Password()
	u.User = nil
	return u.String(), user, password
}

func ownNATS(address string, files embedded.ClientFiles, showSecrets bool) *natsPlace {
	n := &natsPlace{URLFile: files.NATSURL, secret: secret{PasswordFile: files.NATSPassword}}
	var password string
	if n.URL, n.User, password = splitUser(address); showSecrets {
		n.Password, n.full = password, address
	}
	return n
}

func ownClickHouse(found embedded.Addresses, files embedded.ClientFiles, showSecrets bool) *clickhousePlace {
	c := &clickhousePlace{
		HTTP: found.HTTPURL, DSN: cli.WithoutPassword(found.ReaderDSN),
		DSNFile: files.ReaderDSN, secret: secret{PasswordFile: files.ReaderPassword},
	}
	bare, user, password := splitUser(found.ReaderDSN)
	host, database, _ := strings.Cut(strings.TrimPrefix(bare, "clickhouse://"), "/")
	c.Native, c.User, c.Database = host, user, database
	c.JDBC = "jdbc:" + strings.Replace(c.HTTP, "http://", "clickhouse://", 1) + "/" + database
	if showSecrets {
		c.Password, c.full = password, found.ReaderDSN
	}
	return c
}

func namedNATS(addresses string, origin cli.Origin, showSecrets bool) *natsPlace {
	n := &natsPlace{URL: cli.Redacted(addresses), origin: origin}
	if !cli.HoldsSecret(addresses) {
		return n
	}
	n.PasswordFrom = origin.String()
	if showSecrets {
		n.full = addresses
	}
	if u, err := cli.ParseAddress(addresses); err == nil {
		password, has := u.User.Password()
		if has {
			n.User = u.User.Username()
		} else {
			password = u.User.Username() // a token
		}
		if showSecrets {
			n.Password = password
		}
	}
	return n
}

func namedClickHouse(dsn string, origin cli.Origin, showSecrets bool) (*clickhousePlace, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return nil, cli.UsageError("the ClickHouse address is none: want clickhouse://user@host:9000/ctxledger, with the password in CTXLEDGER_CLICKHOUSE_DSN only")
	}
	c := &clickhousePlace{
		Native: strings.Join(options.Addr, ","), DSN: cli.Redacted(dsn), User: cmp.Or(options.Auth.Username, "default"),
		Database: cmp.Or(options.Auth.Database, "default"), origin: origin,
	}
	if options.Auth.Password != "" {
		c.PasswordFrom = origin.String()
		if showSecrets {
			c.Password, c.full = options.Auth.Password, dsn
		}
	}
	return c, nil
}

// hostPort splits the address of the first server.
func (c *clickhousePlace) hostPort() (host, port string) {
	first, _, _ := strings.Cut(c.Native, ",")
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		return first, "9000"
	}
	return host, port
}

// HTTPPort is the port of the HTTP address.
func (c *clickhousePlace) HTTPPort() string {
	_, port, _ := strings.Cut(strings.TrimPrefix(c.HTTP, "http://"), ":")
	return port
}

// QueryURL is where a query goes over HTTP.
func (c *clickhousePlace) QueryURL() string {
	return c.HTTP + "/?database=" + url.QueryEscape(c.Database)
}

// Host is that of the native address.
func (c *clickhousePlace) Host() string {
	host, _ := c.hostPort()
	return host
}

// Port is that of the native address.
func (c *clickhousePlace) Port() string {
	_, port := c.hostPort()
	return port
}

// Own reports whether the server is one of the instance.
func (n *natsPlace) Own() bool { return n.URLFile != "" }

// Own reports whether the server is one of the instance.
func (c *clickhousePlace) Own() bool { return c.DSNFile != "" }
