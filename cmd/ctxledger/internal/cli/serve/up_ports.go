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
type portFlags struct{ nats, clickhouse, clickhouseHTTP, http int }

func (p *portFlags) each(f func(flag string, port *int, first int, help string)) {
	f("nats-port", &p.nats, embedded.DefaultNATSPort, "port of NATS")
	f("clickhouse-port", &p.clickhouse, embedded.DefaultClickHousePort, "port of ClickHouse's native protocol")
	f("clickhouse-http-port", &p.clickhouseHTTP, embedded.DefaultClickHouseHTTPPort, "port of ClickHouse over HTTP")
	f("http-port", &p.http, embedded.DefaultHTTPPort, "port of the explorer, /readyz, /healthz and /metrics")
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

// listenHTTP returns the listener of the program's own HTTP server: given, or one on the port
// that was asked for. The port is kept for the next start and for other commands. The result is
// the moves of all servers.
func listenHTTP(i *instance.Instance, dir string, given net.Listener, asked int) (_ net.Listener, moves []embedded.Move, err error) {
	if i.Servers != nil {
		moves = i.Servers.Moves()
	}
	open := given
	if open == nil {
		var move *embedded.Move
		if open, move, err = embedded.Listen(dir, asked); err != nil {
			return nil, nil, err
		}
		if move != nil {
			moves = append(moves, *move)
		}
	}
	if tcp, ok := open.Addr().(*net.TCPAddr); ok && asked != 0 {
		err = embedded.KeepHTTPPort(dir, tcp.Port)
	}
	if err == nil && i.Servers != nil {
		err = i.Servers.Announce("http://" + open.Addr().String())
	}
	if err != nil {
		open.Close()
	}
	return open, moves, err
}
