package deploy_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// tryFolder has the try of a cluster with replicas, which nobody has run.
const tryFolder = "cluster/try"

// tryServer is a replica or a Keeper of the configuration.
type tryServer struct {
	Host string `xml:"host"`
	Port string `xml:"port"`
}

// TestTryOfReplicas compares the files of the try with each other, and with the versions of the other set-ups.
func TestTryOfReplicas(t *testing.T) {
	t.Parallel()
	type service struct {
		Image, Hostname string
		Environment     map[string]string
		Volumes         []string
	}
	read := func(path string) (services map[string]service) {
		var file struct{ Services map[string]service }
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, &file)
		}
		if err != nil {
			t.Fatal(path, err)
		}
		return file.Services
	}
	services := read(filepath.Join(tryFolder, "compose.yaml"))
	want := strings.Fields("c1a c1b c2a c2b ctl k1 k2 k3 n1 n2 n3 project1 project2")
	if names := slices.Sorted(maps.Keys(services)); !slices.Equal(names, want) {
		t.Fatalf("the services are %v", names)
	}

	var cluster struct {
		Listen      string      `xml:"listen_host"`
		Interserver string      `xml:"interserver_http_port"`
		Keepers     []tryServer `xml:"zookeeper>node"`
		Shards      []struct {
			Replicas []tryServer `xml:"replica"`
		} `xml:"remote_servers>try>shard"`
	}
	readXML(t, "cluster.xml", &cluster)
	var keeper struct {
		Port    string `xml:"keeper_server>tcp_port"`
		Servers []struct {
			ID   string `xml:"id"`
			Host string `xml:"hostname"`
		} `xml:"keeper_server>raft_configuration>server"`
	}
	readXML(t, "keeper.xml", &keeper)

	replicas, keepers := 0, 0
	for i, shard := range cluster.Shards {
		if len(shard.Replicas) != 2 {
			t.Errorf("shard %d has %d replicas", i+1, len(shard.Replicas))
		}
		for _, r := range shard.Replicas {
			own := services[r.Host]
			if r.Port != "9000" || own.Hostname != r.Host || own.Environment["TRY_HOST"] != r.Host || own.Environment["TRY_SHARD"] != fmt.Sprint(i+1) {
				t.Errorf("shard %d has the replica %+v, and its service is %+v", i+1, r, own)
			}
			replicas++
		}
	}
	for i, k := range cluster.Keepers {
		own := services[k.Host]
		if k.Port != keeper.Port || keeper.Servers[i].Host != k.Host || own.Environment["TRY_KEEPER"] != keeper.Servers[i].ID || own.Hostname != k.Host {
			t.Errorf("the Keeper %+v is %+v, and its service is %+v", k, keeper.Servers[i], own)
		}
		keepers++
	}
	if replicas != 4 || keepers != 3 || len(keeper.Servers) != 3 || cluster.Interserver == "" || cluster.Listen == "" {
		t.Errorf("%d replicas, %d and %d Keepers", replicas, keepers, len(keeper.Servers))
	}

	nats, err := os.ReadFile(filepath.Join(tryFolder, "config", "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		if own := services[name]; own.Hostname != name || own.Environment["TRY_HOST"] != name || !strings.Contains(string(nats), `"nats://`+name+`:6222"`) {
			t.Errorf("the service of %s is %+v", name, own)
		}
		if url := services["ctl"].Environment["CTXLEDGER_NATS_URL"]; !strings.Contains(url, "nats://"+name+":4222") {
			t.Errorf("the address is %s", url)
		}
	}

	one := read("compose/compose.yaml")
	version := func(image string) string {
		_, tag, _ := strings.Cut(strings.TrimSuffix(image[strings.LastIndex(image, "/")+1:], "}"), ":")
		return strings.TrimPrefix(tag, "-nats:")
	}
	engine, err := os.ReadFile("embedded/pin.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range services {
		switch name[0] {
		case 'n':
			if version(s.Image) != version(one["nats"].Image) {
				t.Errorf("%s is %s, and compose has %s", name, s.Image, one["nats"].Image)
			}
		case 'k':
			if !strings.HasPrefix(s.Image, "clickhouse/clickhouse-keeper:") {
				t.Errorf("%s is %s", name, s.Image)
			}
			fallthrough
		case 'c':
			tag, _, _ := strings.Cut(version(s.Image), "-")
			if name != "ctl" && !strings.Contains(string(engine), `engineVersion = "`+tag+".") {
				t.Errorf("%s is %s, and the tests have another version", name, s.Image)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if !strings.HasPrefix(source, ".") {
				continue
			}
			if _, err := os.Stat(filepath.Join(tryFolder, source)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", filepath.Join(tryFolder, "try.sh")).CombinedOutput(); err != nil {
		t.Errorf("sh does not parse try.sh: %v %s", err, out)
	}
}

// readXML reads a configuration of the try. The whole file must be well-formed.
func readXML(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tryFolder, "config", name))
	if err == nil {
		err = xml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(name, err)
	}
	d := xml.NewDecoder(strings.NewReader(string(text)))
	for err == nil {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Error(name, err)
	}
}
