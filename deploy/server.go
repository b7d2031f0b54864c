package deploy

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/crypto/bcrypt"
)

//go:embed nats clickhouse systemd
var folders embed.FS

var templates = template.Must(template.ParseFS(folders, "nats/*.tmpl", "clickhouse/users.d/*.tmpl"))

// A File is one file of a configuration.
type File struct {
	Path string // below the node's folder, with slashes
	Text string
}

// A Server is one of the two servers of a node: [NATS] or [ClickHouse]. The zero value is not a
// server.
type Server struct {
	folder  string
	files   []string // paths below folder; templates without .tmpl
	port    int
	scheme  string
	client  string   // the variable in which a client expects its address
	users   []user   // users in addition to the tenants' users
	cluster []string // hosts of the servers of a cluster; nil for one server
	// of returns the user of a tenant.
	of   func(tenant) user
	hash func(password string) (string, error)
}

// A user is a login of a server.
type user struct {
	name     string // login name
	role     string // part of the name of its file in secrets/
	variable string // variable of the server's environment that holds the password's hash
	path     string // path of its address
}

// NATS is the server of the streams. Each tenant has a separate account that can publish the
// tenant's facts and has no other right.
func NATS() Server {
	return Server{
		folder: "nats", files: []string{"server.conf", "accounts.conf", "tls.conf"},
		port: 4222, scheme: "nats", client: "CTXLEDGER_NATS_URL",
		users: []user{{"admin", "admin", "CTXLEDGER_NATS_ADMIN", ""}, {"projector", "projector", "CTXLEDGER_NATS_PROJECTOR", ""}},
		of: func(t tenant) user {
			return user{"tenant_" + t.Name, "tenant-" + t.Name, "CTXLEDGER_NATS_TENANT_" + t.Variable, ""}
		},
		hash: func(password string) (string, error) {
			hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
			return string(hash), err
		},
	}
}

// leastServers is the number of servers of the smallest cluster: it keeps a majority when one stops.
const leastServers = 3

// NATSCluster is [NATS] on several hosts, which keep replicas of the streams. All hosts have the same
// files. Clients get the addresses of all hosts. The only error is ErrHost: fewer than three hosts, a
// host twice, or one with a port.
func NATSCluster(hosts ...string) (Server, error) {
	s := NATS()
	s.files = append(s.files, "cluster.conf")
	if len(hosts) < leastServers {
		return s, fmt.Errorf("%w: a cluster of %d: want at least %d hosts, so that most of them are left when one stops", ErrHost, len(hosts), leastServers)
	}
	for i, host := range hosts {
		if !clusterHost.MatchString(host) {
			return s, fmt.Errorf("%w %q: set the name of each host of the cluster, without a port", ErrHost, host)
		}
		if slices.Contains(hosts[:i], host) {
			return s, fmt.Errorf("%w %q: it is in the cluster twice", ErrHost, host)
		}
	}
	s.cluster = hosts
	return s, nil
}

// clusterHost is a name, or an address of IPv4: a server also has it as its name.
var clusterHost = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// ClickHouse is the server of the tables. Each tenant has a reader, which may read only the
// tenant's own database. `ctxledger migrate --reader` makes it.
func ClickHouse() Server {
	return Server{
		folder: "clickhouse",
		files: []string{
			"config.d/ctxledger.xml", "config.d/durable.xml", "config.d/production.xml",
			"users.d/ctxledger.xml", "users.d/production.xml", "users.d/tenants.xml", "tls.xml",
		},
		port: 9000, scheme: "clickhouse", client: "CTXLEDGER_CLICKHOUSE_DSN",
		users: []user{{"ctxledger", "writer", WriterHash, "/ctxledger"}, {"reader", "reader", ReaderHash, "/ctxledger"}},
		of: func(t tenant) user {
			return user{"reader_" + t.Name, "reader-" + t.Name, "CTXLEDGER_READER_" + t.Variable + "_SHA256", "/ctxledger_of_" + t.Name}
		},
		hash: func(password string) (string, error) {
			sum := sha256.Sum256([]byte(password))
			return hex.EncodeToString(sum[:]), nil
		},
	}
}

// The variables of ClickHouse's environment that hold the SHA-256 of the
// passwords of its two users, in hexadecimal digits.
const (
	WriterHash = "CTXLEDGER_WRITER_SHA256"
	ReaderHash = "CTXLEDGER_READER_SHA256"
)

// Files returns the configuration of the server for these tenants only. The files hold no secret.
// The only error is ErrTenant.
func (s Server) Files(tenants ...string) ([]File, error) {
	list, err := parseTenants(tenants)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(s.files))
	for i, name := range s.files {
		files[i] = File{path.Join(s.folder, name), s.text(name, list)}
	}
	return files, nil
}

// text returns one file. text panics on an error, because the files are embedded: an error is an
// error of the program.
func (s Server) text(name string, tenants []tenant) string {
	if t := templates.Lookup(path.Base(name) + ".tmpl"); t != nil {
		var b bytes.Buffer
		if err := t.Execute(&b, map[string]any{"Cluster": s.cluster, "Tenants": tenants, "Older": len(tenants) == 1, "Tables": tenantTables, "Shared": sharedTables, "Views": tenantViews}); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		return b.String()
	}
	text, err := folders.ReadFile(path.Join(s.folder, name))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// all returns every user of the server.
func (s Server) all(tenants []tenant) []user {
	list := s.users[:len(s.users):len(s.users)]
	for _, t := range tenants {
		list = append(list, s.of(t))
	}
	return list
}

// The relations that the definer of a tenant's views may read. The tables have a column tenant,
// which selects the rows. The views read only those tables, with the definer's rights.
var (
	tenantTables = strings.Fields(`events quarantine duplicates scopes items decisions windows placements
		replacements redactions missing calls log_items reintroductions rechecks replays retold`)
	tenantViews = strings.Fields(`recorded_events erased_records ledger_head refused_events repeated_events quarantine_replays model_calls log_entries
		item_versions item_parts selections surfaces budgets pressure_steps assemblies assembly_bases kept_blocks based_assemblies injections compactions elisions summaries
		redaction_trail revocations gap_steps scope_records turn_candidates omissions layer_usage turn_window cache_breaks corrected_windows
		compaction_lineage gaps open_gaps run_tree session_summary
		check_conservation check_injected_without_assembly check_redaction_reintroduced check_lost_runtime_ids
		check_sequence_gaps check_unsealed_scopes check_reasoning_reinjected check_compaction_dropped_open_gap
		check_references_elsewhere check_references_elsewhere_of
		check_conservation_of check_injected_without_assembly_of check_redaction_reintroduced_of check_lost_runtime_ids_of
		check_sequence_gaps_of check_unsealed_scopes_of check_reasoning_reinjected_of check_compaction_dropped_open_gap_of
		built_in_models price_list limit_list model_limits model_prices model_rates call_costs cache_bill call_layers`)
	// sharedTables have no tenant. All definers may read them. The last two are on a cluster only: a reader
	// of one shard needs them to find the others.
	sharedTables = []string{"prices", "limits", "cluster_shards", "cluster_moves"}
)
