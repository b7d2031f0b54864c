package embeddedtest

import (
	"encoding/json"
	"errors"
	"fmt"
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
// its number and the ports of all; nil takes [ShardConfig]. Files are more files of each server, by their path
// below its folder clickhouse. The servers end with the test.
func NewShards(tb testing.TB, n int, configure func(number int, ports []int) string, files ...map[string]string) []*Servers {
	tb.Helper()
	needsServers(tb)
	if configure == nil {
		configure = ShardConfig
	}
	var ports []int
	for range n {
		ports = append(ports, freePort(tb))
	}
	credentials, err := json.Marshal(map[string]string{"clickhouse_writer": "writer", "clickhouse_reader": "reader", "nats": "nats"})
	if err != nil {
		tb.Fatal(err)
	}
	shards := make([]*Servers, n)
	for i := range shards {
		dir := tb.TempDir()
		texts := map[string]string{"credentials.json": string(credentials), "clickhouse/config.d/cluster.xml": configure(i+1, ports)}
		for _, more := range files {
			for path, text := range more {
				texts[filepath.Join("clickhouse", path)] = text
			}
		}
		for path, text := range texts {
			path = filepath.Join(dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
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
	return fmt.Sprintf("<clickhouse><remote_servers><%s><secret>between shards</secret>%s</%[1]s></remote_servers><macros><shard>%[3]d</shard></macros></clickhouse>\n",
		ClusterName, shards.String(), number)
}
