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

	"github.com/ctxledger/ctxledger/ledger"
)

//go:embed statements/*.sql
var files embed.FS

// A Shard is a ClickHouse server of a cluster. Clients of the ledger must reach it by the address
// that the other shards use.
type Shard struct {
	Number uint32 // from 1
	Host   string
	Port   uint16 // of the native protocol
}

// String returns the number and the address, for messages.
func (s Shard) String() string { return fmt.Sprintf("shard %d at %s", s.Number, s.address()) }

// Failed returns an error of the shard, which wraps [ErrShard] and names the shard.
func (s Shard) Failed(err error) error { return fmt.Errorf("%w: %s: %w", ErrShard, s, err) }

func (s Shard) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port))) }

// DSN returns the address dsn with the host and port of the shard instead of its own.
func (s Shard) DSN(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the address of ClickHouse is not valid")
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		return "", errors.New("a cluster is reached by the native protocol: give an address that begins with clickhouse://")
	}
	u.Host = s.address()
	return u.String(), nil
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
	for i, number := range numbers {
		m.Shards = append(m.Shards, Shard{number, hosts[i], ports[i]})
	}
	return &m, nil
}

func (m *Membership) equal(o *Membership) bool {
	return o != nil && m.Cluster == o.Cluster && m.Own == o.Own && m.Version == o.Version && slices.Equal(m.Shards, o.Shards)
}
