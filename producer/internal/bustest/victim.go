package bustest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The test binary is also a NATS server, and a server of HTTP, that a test can kill. The process
// prints its address, and ends when its standard input ends.
const (
	childKind   = "BUSTEST_CHILD"
	childFolder = "BUSTEST_FOLDER" // of NATS
	childPort   = "BUSTEST_PORT"   // 0 for any port
	childNATS   = "BUSTEST_NATS"   // address, for the server of HTTP
)

// ServeVictim runs this process as the child of a test, if it is one, and does not return then.
// TestMain calls it. The function makes the handler of a server of HTTP.
func ServeVictim(handler func(jetstream.JetStream) (http.Handler, error)) {
	switch os.Getenv(childKind) {
	case "nats":
		serveNATS()
	case "http":
		serveHTTP(handler)
	}
}

func serveNATS() {
	config := embedded.DefaultConfig(os.Getenv(childFolder))
	config.NoClickHouse = true
	config.NATSPort, _ = strconv.Atoi(os.Getenv(childPort))
	s, err := embedded.Start(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	untilOrphaned(s.NATSURL())
}

func serveHTTP(handler func(jetstream.JetStream) (http.Handler, error)) {
	nc, err := nats.Connect(os.Getenv(childNATS), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		log.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	h, err := handler(js)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv(childPort))
	if err != nil {
		log.Fatal(err)
	}
	go http.Serve(listener, h)
	untilOrphaned("http://" + listener.Addr().String())
}

func untilOrphaned(address string) {
	fmt.Println(address)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// Victim is a child that is killed, and started again at its address.
type Victim struct {
	Address string
	kind    string
	env     []string
	cmd     *exec.Cmd
}

// StartNATS returns a NATS server with files of its own.
func StartNATS(t testing.TB) *Victim {
	t.Helper()
	return startVictim(t, "nats", childFolder+"="+t.TempDir())
}

// StartHTTP returns a server of HTTP that uses the NATS server at an address.
func StartHTTP(t testing.TB, natsURL string) *Victim {
	t.Helper()
	return startVictim(t, "http", childNATS+"="+natsURL)
}

func startVictim(t testing.TB, kind string, env ...string) *Victim {
	t.Helper()
	v := &Victim{kind: kind, env: env}
	t.Cleanup(func() { v.kill() })
	v.start(t, "0")
	return v
}

func (v *Victim) start(t testing.TB, port string) {
	t.Helper()
	v.cmd = exec.Command(os.Args[0])
	v.cmd.Env = append(append(os.Environ(), childKind+"="+v.kind, childPort+"="+port), v.env...)
	v.cmd.Stderr = os.Stderr
	out, err := v.cmd.StdoutPipe()
	if err == nil {
		_, err = v.cmd.StdinPipe() // ends with this process
	}
	if err == nil {
		err = v.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the %s server said no address: %v", v.kind, err)
	}
	v.Address = line[:len(line)-1]
}

func (v *Victim) kill() {
	v.cmd.Process.Kill()
	v.cmd.Wait()
}

// Restart kills the child and starts it again at its address.
func (v *Victim) Restart(t testing.TB) {
	t.Helper()
	at, err := url.Parse(v.Address)
	if err != nil {
		t.Fatal(err)
	}
	v.kill()
	v.start(t, at.Port())
}
