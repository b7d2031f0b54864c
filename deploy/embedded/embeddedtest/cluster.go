package embeddedtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// nodeConfig is the variable with the configuration file of a node. Its value starts the node.
const nodeConfig = "CTXLEDGER_TEST_NATS_NODE"

// serveNode runs a NATS server and never returns, in a process that [NewCluster] started.
func serveNode() {
	path := os.Getenv(nodeConfig)
	if path == "" {
		return
	}
	err := runNode(path)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// runNode runs a NATS server until standard input ends, which the end of the test process does.
func runNode(path string) error {
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		return err
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		return fmt.Errorf("%s is not ready", options.ServerName)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	s.WaitForShutdown()
	os.Exit(0)
	return nil
}

// Node is a NATS server of a cluster. Its ports and its folder do not change.
type Node struct {
	Name            string
	Dir             string // folder of the node
	Port, RoutePort int
	tb              testing.TB
	environment     []string
	process         *exec.Cmd // nil while the node is down
	input           io.Closer
}

// Cluster is a cluster of NATS servers, each in a process that a test can kill. A kill does not stop
// clients that are connected to other nodes. Not safe for concurrent use.
type Cluster struct {
	Nodes []*Node
	tb    testing.TB
}

// NewCluster starts n servers. configure returns the configuration of a node, and may write other
// files into its folder. A nil configure takes one without users and without TLS, which syncs every
// write.
func NewCluster(tb testing.TB, n int, configure func(node *Node, all []*Node) string, environment ...string) *Cluster {
	tb.Helper()
	needsServers(tb)
	if configure == nil {
		configure = plain
	}
	c := &Cluster{tb: tb}
	for i := range n {
		node := &Node{Name: fmt.Sprintf("n%d", i+1), Dir: tb.TempDir(), Port: freePort(tb), RoutePort: freePort(tb), tb: tb}
		node.environment = append(os.Environ(), environment...)
		c.Nodes = append(c.Nodes, node)
	}
	for _, node := range c.Nodes {
		if err := os.WriteFile(filepath.Join(node.Dir, "server.conf"), []byte(configure(node, c.Nodes)), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for _, node := range c.Nodes {
		node.Start()
	}
	return c
}

func plain(node *Node, all []*Node) string {
	var routes []string
	for _, n := range all {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", n.RoutePort))
	}
	return fmt.Sprintf(`server_name: %s
listen: "127.0.0.1:%d"
jetstream { store_dir: %q, sync_interval: always }
cluster { name: three, listen: "127.0.0.1:%d", routes: [ %s ] }
logfile: %q
`, node.Name, node.Port, filepath.Join(node.Dir, "jetstream"), node.RoutePort, strings.Join(routes, ", "), filepath.Join(node.Dir, "log"))
}

// URL returns the addresses of all nodes.
func (c *Cluster) URL() string {
	var list []string
	for _, n := range c.Nodes {
		list = append(list, fmt.Sprintf("nats://127.0.0.1:%d", n.Port))
	}
	return strings.Join(list, ",")
}

// JetStream connects to the cluster until the test ends, and waits until JetStream answers.
func (c *Cluster) JetStream(options ...nats.Option) jetstream.JetStream {
	c.tb.Helper()
	options = append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond)}, options...)
	nc, err := nats.Connect(c.URL(), options...)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.tb.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		c.tb.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(c.tb.Context(), time.Second)
		_, err := js.AccountInfo(ctx)
		cancel()
		if err == nil {
			return js
		}
		if time.Now().After(deadline) {
			c.tb.Fatal("JetStream does not answer: ", err)
		}
	}
}

// Start starts a node that is down, and returns when clients can connect.
func (n *Node) Start() {
	n.tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(n.environment, nodeConfig+"="+filepath.Join(n.Dir, "server.conf"))
	cmd.Stderr = n.tb.Output()
	out, err := cmd.StdoutPipe()
	if err == nil {
		n.input, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.tb.Fatal(err)
	}
	n.process = cmd
	n.tb.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		log, _ := os.ReadFile(filepath.Join(n.Dir, "log"))
		n.tb.Fatalf("%s did not start: %v\n%s", n.Name, err, log)
	}
}

// Kill kills a node with kill -9, and does nothing to a node that is down.
func (n *Node) Kill() {
	if n.process != nil {
		_ = n.process.Process.Kill()
		_ = n.process.Wait()
		n.process = nil
	}
}

// Up reports whether the node was started and not killed.
func (n *Node) Up() bool { return n.process != nil }
