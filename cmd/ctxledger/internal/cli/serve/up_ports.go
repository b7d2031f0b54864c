package serve

import (
	"net"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/instance"
	"github.com/ctxledger/ctxledger/deploy/embedded"
)

const portsHelp = `The servers listen on the same addresses each time. A data folder keeps its
ports in ports.json. If a port is taken, the next free one is used and kept, and
a line reports it. A port that a flag names is kept, too; if it is taken, nothing
starts. Port 0 takes any free port, which is not kept.`

// portFlags are the ports that `up` listens on.
type portFlags struct{ nats, clickhouse, clickhouseHTTP, http, capture int }

func (p *portFlags) each(f func(flag string, port *int, first int, help string)) {
	f("nats-port", &p.nats, embedded.DefaultNATSPort, "port of NATS")
	f("clickhouse-port", &p.clickhouse, embedded.DefaultClickHousePort, "port of ClickHouse's native protocol")
	f("clickhouse-http-port", &p.clickhouseHTTP, embedded.DefaultClickHouseHTTPPort, "port of ClickHouse over HTTP")
	f("http-port", &p.http, embedded.DefaultHTTPPort, "port of the explorer, /readyz, /healthz and /metrics")
	f("capture-port", &p.capture, embedded.DefaultCapturePort, "port that records agents that take a base URL")
}

func (p *portFlags) register(f *pflag.FlagSet) {
	p.each(func(flag string, port *int, first int, help string) { f.IntVar(port, flag, first, help) })
}

// complete sets each port without a flag to the last port of the folder.
func (p *portFlags) complete(f *pflag.FlagSet) (err error) {
	p.each(func(flag string, port *int, _ int, _ string) {
		switch {
		case !f.Changed(flag):
			*port = embedded.KeptPort
		case err == nil && (*port < 0 || *port > 65535):
			err = cli.UsageError("--%s %d is no port: use 1 to 65535, or 0 for any free port", flag, *port)
		}
	})
	return err
}

// doors are the listeners of the program's own servers.
type doors struct {
	http, capture net.Listener
	moves         []embedded.Move // of all servers whose kept port was taken
}

func (d *doors) Close() {
	for _, l := range []net.Listener{d.http, d.capture} {
		if l != nil {
			l.Close()
		}
	}
}

// keepPort keeps a port for the next start, unless any port was asked for.
func keepPort(dir string, server embedded.Listener, asked int, open net.Listener) error {
	if tcp, ok := open.Addr().(*net.TCPAddr); ok && asked != 0 {
		return embedded.KeepPort(dir, server, tcp.Port)
	}
	return nil
}

// given opens the ports that flags name, before anything starts: a taken one ends the command.
func (p *portFlags) given(dir string) (d *doors, err error) {
	d = &doors{}
	if p.http > 0 {
		if d.http, _, err = embedded.Listen(dir, embedded.HTTP, p.http); err != nil {
			return d, err
		}
	}
	if p.capture > 0 {
		d.capture, _, err = embedded.Listen(dir, embedded.Capture, p.capture)
	}
	return d, err
}

// open opens the other ports, keeps all for the next start and for other commands, and announces
// the address of HTTP.
func (d *doors) open(i *instance.Instance, dir string, p portFlags) (err error) {
	if i.Servers != nil {
		d.moves = append(d.moves, i.Servers.Moves()...)
	}
	for _, door := range []struct {
		server embedded.Listener
		asked  int
		open   *net.Listener
	}{{embedded.HTTP, p.http, &d.http}, {embedded.Capture, p.capture, &d.capture}} {
		if *door.open == nil {
			var move *embedded.Move
			if *door.open, move, err = embedded.Listen(dir, door.server, door.asked); err != nil {
				return err
			}
			if move != nil {
				d.moves = append(d.moves, *move)
			}
		}
		if err := keepPort(dir, door.server, door.asked, *door.open); err != nil {
			return err
		}
	}
	if i.Servers == nil {
		return nil
	}
	return i.Servers.Announce("http://" + d.http.Addr().String())
}
