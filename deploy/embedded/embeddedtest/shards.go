package embeddedtest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// ClusterName is the name of the cluster that [ShardConfig] configures.
const ClusterName = "shards"

// NewShards starts n ClickHouse servers that know each other as the shards of one cluster. All have
// the same passwords. The first is shard 1. configure returns the configuration of a server from
// its number and the ports of all; nil takes [ShardConfig]. The servers end with the test.
func NewShards(tb testing.TB, n int, configure func(number int, ports []int) string) []*Servers {
	tb.Helper()
	needsServers(tb)
	if configure == nil {
		configure = ShardConfig
	}
	var ports []int
	var held []net.Listener
	for range n {
		port, l := freePort(tb)
		ports, held = append(ports, port), append(held, l)
	}
	for _, l := range held {
		l.Close()
	}
	credentials, err := json.Marshal(map[string]string{"clickhouse_writer": "writer", "clickhouse_reader": "reader", "nats": "nats"})
	if err != nil {
		tb.Fatal(err)
	}
	shards := make([]*Servers, n)
	for i := range shards {
		dir := tb.TempDir()
		folder := filepath.Join(dir, "clickhouse", "config.d")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			tb.Fatal(err)
		}
		for path, text := range map[string][]byte{
			filepath.Join(dir, "credentials.json"): credentials,
			filepath.Join(folder, "cluster.xml"):   []byte(configure(i+1, ports)),
		} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				tb.Fatal(err)
			}
		}
		shards[i] = Start(tb, func(c *embedded.Config) { c.Dir, c.NoNATS, c.ClickHousePort = dir, true, ports[i] })
	}
	return shards
}

// ShardConfig returns the configuration of the shard of that number: the cluster [ClusterName] with
// one server for each port, and the macro shard.
func ShardConfig(number int, ports []int) string {
	var shards strings.Builder
	for _, port := range ports {
		fmt.Fprintf(&shards, "<shard><replica><host>127.0.0.1</host><port>%d</port></replica></shard>", port)
	}
	return fmt.Sprintf("<clickhouse><remote_servers><%s>%s</%[1]s></remote_servers><macros><shard>%[3]d</shard></macros></clickhouse>\n",
		ClusterName, shards.String(), number)
}
