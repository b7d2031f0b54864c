package serve

import (
	"net"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
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

// A door is a listener of one of the program's own servers.
type door struct {
	server embedded.Listener
	asked  int          // port, as in embedded.Config
	open   net.Listener // nil until it is open
}

// listen opens the door. The move is nil unless the kept port was taken.
func (d *door) listen(dir string) (move *embedded.Move, err error) {
	d.open, move, err = embedded.Listen(dir, d.server, d.asked)
	return move, err
}

// doors are the listeners of the program's own servers.
type doors []*door

func (list doors) close() {
	for _, d := range list {
		if d.open != nil {
			d.open.Close()
		}
	}
}

// openAsked opens the ports that flags name, before anything starts: a taken one ends the command.
func (list doors) openAsked(dir string) error {
	for _, d := range list {
		if d.asked <= 0 {
			continue
		}
		if _, err := d.listen(dir); err != nil {
			return err
		}
	}
	return nil
}

// openRest opens the other ports, and keeps all for the next start and for other commands. Call it
// after the start of the servers, which locks the folder. It returns the ports that were taken.
func (list doors) openRest(dir string) (moves []embedded.Move, err error) {
	for _, d := range list {
		if d.open == nil {
			move, err := d.listen(dir)
			if err != nil {
				return moves, err
			}
			if move != nil {
				moves = append(moves, *move)
			}
		}
		if tcp, ok := d.open.Addr().(*net.TCPAddr); ok && d.asked != 0 {
			if err := embedded.KeepPort(dir, d.server, tcp.Port); err != nil {
				return moves, err
			}
		}
	}
	return moves, nil
}
