package cluster

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ctxledger/ctxledger/ledger"
)

//go:embed statements/*.sql
var files embed.FS

// A Server is a ClickHouse server of a cluster. Clients of the ledger must reach it by the address
// that the other servers use.
type Server struct {
	Shard uint32 // its number, from 1
	Host  string
	Port  uint16 // of the native protocol
}

// String returns the shard and the address, for messages.
func (s Server) String() string { return fmt.Sprintf("shard %d at %s", s.Shard, s.address()) }

func (s Server) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))) }

// DSN returns the address dsn with the host and port of the server instead of its own. An address over HTTP
// becomes one of the native protocol, because the port is one.
func (s Server) DSN(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the address of ClickHouse is not valid")
	}
	if u.Scheme == "https" {
		secure := u.Query()
		secure.Set("secure", "true")
		u.RawQuery = secure.Encode()
	}
	u.Scheme = "clickhouse"
	u.Host = s.address()
	return u.String(), nil
}

// A Shard is one server, or several that have the same rows: its replicas.
type Shard struct {
	Number  uint32 // from 1
	Servers []Server
}

// String returns the number and the addresses, for messages.
func (s Shard) String() string {
	return fmt.Sprintf("shard %d at %s", s.Number, strings.Join(s.addresses(), " and "))
}

func (s Shard) addresses() (list []string) {
	for _, server := range s.Servers {
		list = append(list, server.address())
	}
	return list
}

// Failed returns an error of the shard, which wraps [ErrShard] and names the shard.
func (s Shard) Failed(err error) error { return fmt.Errorf("%w: %s: %w", ErrShard, s, err) }

func (s Shard) equal(o Shard) bool {
	return s.Number == o.Number && slices.Equal(s.Servers, o.Servers)
}

// open connects to the shard with the user and the database of dsn. One of several replicas answers.
func (s Shard) open(ctx context.Context, dsn string) (*ledger.Ledger, error) {
	own, err := s.Servers[0].DSN(dsn)
	if err != nil {
		return nil, err
	}
	if n := len(s.Servers); n > 1 {
		return ledger.OpenReplicas(ctx, own, n, s.addresses()...)
	}
	return ledger.Open(ctx, own)
}

// group returns the shards of servers that are in the order of their shards.
func group(servers []Server) (shards []Shard) {
	for _, s := range servers {
		if n := len(shards); n > 0 && shards[n-1].Number == s.Shard {
			shards[n-1].Servers = append(shards[n-1].Servers, s)
			continue
		}
		shards = append(shards, Shard{s.Shard, []Server{s}})
	}
	return shards
}

// A Membership is what a shard knows of its cluster.
type Membership struct {
	Cluster string
	Own     uint32 // the number of this shard
	Version string // the newest change of the tables
	Shards  []Shard

	revision uint64 // of the row of cluster_shards
}

// Of reads the membership of a database. It is nil for a plain ledger.
func Of(ctx context.Context, l *ledger.Ledger) (*Membership, error) {
	db := l.SQL(files)
	var there uint8
	if err := db.Row(ctx, "has_record", nil).Scan(&there); err != nil {
		if ledger.AccessDenied(err) {
			err = fmt.Errorf("%w: grant this user SELECT on the table cluster_shards, which need not exist", err)
		}
		return nil, fmt.Errorf("ask whether the ledger is on a cluster: %w", err)
	}
	if there == 0 {
		return nil, nil
	}
	var m Membership
	var numbers []uint32
	var hosts []string
	var ports []uint16
	found, err := db.First(ctx, "read_record", nil, &m.revision, &m.Cluster, &m.Own, &m.Version, &numbers, &hosts, &ports)
	if err != nil {
		return nil, fmt.Errorf("read the shards of the cluster: %w", err)
	}
	if !found {
		return nil, nil // a migration was cut off before its last step
	}
	var servers []Server
	for i, number := range numbers {
		servers = append(servers, Server{number, hosts[i], ports[i]})
	}
	m.Shards = group(servers)
	return &m, nil
}

// Replicated reports whether each shard has several servers with the same rows.
func (m *Membership) Replicated() bool { return replicated(m.Shards) }

func replicated(shards []Shard) bool { return len(shards) > 0 && len(shards[0].Servers) > 1 }

func (m *Membership) equal(o *Membership) bool {
	return o != nil && m.Cluster == o.Cluster && m.Own == o.Own && m.Version == o.Version && slices.EqualFunc(m.Shards, o.Shards, Shard.equal)
}
