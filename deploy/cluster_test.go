package deploy_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// TestCluster runs three servers with the files of a cluster, each on an address of loopback with
// the ports of the files. A tenant and the operator sign in to all of them, and a server without
// the certificate stays outside.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs servers: run without -short")
	}
	hosts := []string{"127.77.0.1", "127.77.0.2", "127.77.0.3"}
	cluster, err := deploy.NATSCluster(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	n := write(t, cluster)
	var addresses []net.IP
	for _, host := range hosts {
		addresses = append(addresses, net.ParseIP(host))
	}
	certify(t, filepath.Join(n.dir, "tls"), addresses...)
	for variable, hash := range n.variables(t, "nats-server") {
		t.Setenv(variable, hash)
	}
	t.Chdir("/")
	var servers []*server.Server
	for _, host := range hosts {
		servers = append(servers, startMember(t, n, host, filepath.Join(n.dir, "tls")))
	}
	address := func(user string) string {
		for _, value := range n.variables(t, "nats-"+user) {
			return strings.Trim(value, "'")
		}
		return ""
	}
	for _, host := range hosts {
		if !strings.Contains(address("admin"), "@"+host+":4222") {
			t.Fatalf("the address of the admin lacks %s", host)
		}
	}
	admin := signInTo(t, address("admin"))
	done := ensureReplicas(t, admin)
	if !slices.Contains(done, "created stream CTX") {
		t.Error(done)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		list, err := streamio.ReadReplicas(t.Context(), admin)
		if err == nil && len(list) == 8 && !slices.ContainsFunc(list, func(r streamio.Replicas) bool { return !r.Healthy() || r.Want != 3 }) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(list, err)
		}
	}
	if err := store(t, signInTo(t, address("tenant-acme")), fmt.Sprintf(factOf, "acme")); err != nil {
		t.Error("a tenant: ", err)
	}
	// a server with a certificate of somebody else
	certify(t, filepath.Join(n.dir, "other"), net.IPv4(127, 77, 0, 4))
	other := startMember(t, n, "127.77.0.4", filepath.Join(n.dir, "other"))
	time.Sleep(2 * time.Second)
	if routes := other.NumRoutes(); routes > 0 {
		t.Errorf("a server that the authority does not know has %d routes", routes)
	}
	servers[1].Shutdown()
	servers[1].WaitForShutdown()
	// The stream has no answer until the others have a new leader.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := store(t, signInTo(t, address("tenant-acme")), fmt.Sprintf(factOf, "acme"))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a tenant, without the second server: ", err)
		}
	}
}

// startMember starts a server of the cluster on an address of loopback.
func startMember(t *testing.T, n node, host, certificates string) *server.Server {
	t.Helper()
	t.Setenv("CTXLEDGER_NATS_SERVER", host)
	t.Setenv("CTXLEDGER_NATS_CERT", filepath.Join(certificates, "server.crt"))
	t.Setenv("CTXLEDGER_NATS_KEY", filepath.Join(certificates, "server.key"))
	t.Setenv("CTXLEDGER_NATS_CA", filepath.Join(certificates, "server.crt"))
	options, err := server.ProcessConfigFile(filepath.Join(n.dir, "nats", "server.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if options.ServerName != host || len(options.Routes) != 3 || options.Cluster.Port != 6222 || options.Port != 4222 || !options.SyncAlways {
		t.Errorf("the server understands the files otherwise: %+v", options)
	}
	options.Host, options.Cluster.Host = host, host
	return serve(t, options)
}

// ensureReplicas makes the streams as soon as the servers have found each other.
func ensureReplicas(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		done, err := streamio.Ensure(t.Context(), js, streamio.Layout{Replicas: 3})
		if err == nil {
			return done
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestClusterRefuses(t *testing.T) {
	t.Parallel()
	for _, hosts := range [][]string{nil, {"a"}, {"a", "b"}, {"a", "b", "a"}, {"a", "b", "c:4222"}, {"a", "b", ""}, {"a", "b", "c d"}, {"a", "b", "::1"}, {"a", "b", "-c"}, {"a", "b", "c\n"}} {
		if _, err := deploy.NATSCluster(hosts...); !errors.Is(err, deploy.ErrHost) {
			t.Errorf("%q: %v", hosts, err)
		}
	}
	cluster, err := deploy.NATSCluster("a", "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	n := write(t, cluster)
	before, err := os.ReadFile(filepath.Join(n.dir, "secrets", "nats-admin.env"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Write(n.dir, "", tenants...); err != nil {
		t.Fatal("again: ", err)
	}
	if after, err := os.ReadFile(filepath.Join(n.dir, "secrets", "nats-admin.env")); err != nil || string(after) != string(before) {
		t.Errorf("the addresses changed: %v", err)
	}
	if strings.Count(string(before), "@") != 3 {
		t.Error("a client does not know all servers")
	}
}
