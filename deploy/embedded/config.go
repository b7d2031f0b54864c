package embedded

import (
	"log/slog"
	"runtime"
	"strings"
	"time"
)

// Config configures the servers. Start from DefaultConfig and set Dir.
type Config struct {
	// Dir holds all data, the generated configuration, the passwords (0600) and the engine's log.
	// Start creates a missing Dir and locks it. Required.
	Dir string

	// NoNATS turns NATS off, for users with another NATS server. Defaults to false.
	NoNATS bool
	// NoClickHouse turns ClickHouse off, for users with another server. Defaults to false.
	NoClickHouse bool

	// The ports on 127.0.0.1; HTTPPort is ClickHouse's. 0 means any free port. KeptPort means the
	// last port of the folder. Every port except 0 is kept for the next start. Default to 0.
	NATSPort, ClickHousePort, HTTPPort int

	// Database is the database of the DSNs. Start creates it in ClickHouse. The name has
	// lower-case letters, digits and underscores and begins with "ctxledger", because the
	// reader's grants require this prefix. Defaults to "ctxledger".
	Database string

	// SyncAlways makes both servers fsync every write before the acknowledgement. Acknowledged
	// writes then survive power loss. Without SyncAlways a kill -9 of the process loses nothing,
	// and a power cut loses up to two minutes. Defaults to false.
	SyncAlways bool
	// JetStreamMaxStore is the largest size of JetStream's files, in bytes. 0 means the server's
	// default, three quarters of the free disk. Defaults to 0.
	JetStreamMaxStore int64
	// MaxMemory is the most memory that ClickHouse allocates for all queries, in bytes.
	// The mapped code of the engine is not included. Defaults to 2 GiB.
	MaxMemory int64

	// CacheDir is the folder of the engine library, which all data folders share. Empty means
	// CTXLEDGER_CACHE, or else ctxledger in the user's cache folder. Defaults to empty.
	CacheDir string

	// StartTimeout limits one start of the engine, without the fetch. Defaults to 30 s.
	StartTimeout time.Duration
	// StopTimeout limits Close. After this time the engine is killed, which loses no acknowledged
	// write. The engine waits up to 5 s for open client connections, so close the clients first.
	// Defaults to 30 s, since a machine under load ends an engine slowly.
	StopTimeout time.Duration

	// Progress receives the progress of the fetch, the only long step. Nil reports nothing.
	Progress Progress
	// Log receives the messages of the supervisor and of NATS. Nil discards them.
	Log *slog.Logger

	// RemoveDir makes the engine remove Dir when the engine ends. RemoveDir is for servers that
	// are never closed. Defaults to false.
	RemoveDir bool
}

// DefaultConfig returns a Config for both servers in dir, on free ports.
func DefaultConfig(dir string) Config {
	return Config{
		Dir:          dir,
		Database:     "ctxledger",
		MaxMemory:    2 << 30,
		StartTimeout: 30 * time.Second,
		StopTimeout:  30 * time.Second,
	}
}

// validate returns an ErrConfig for the first error in c. validate changes nothing.
func (c Config) validate() error {
	bad := func(format string, args ...any) error { return fail(ErrConfig, nil, format, args...) }
	if c.Dir == "" {
		return bad("Config.Dir is empty: set it to a data folder")
	}
	if c.NoNATS && c.NoClickHouse {
		return bad("there is nothing to start, because NoNATS and NoClickHouse are both set: unset one of them")
	}
	taken := map[int]string{}
	for _, p := range []struct {
		name string
		port int
	}{{"NATS", c.NATSPort}, {"ClickHouse", c.ClickHousePort}, {"ClickHouse HTTP", c.HTTPPort}} {
		if p.port < KeptPort || p.port > 65535 {
			return bad("%s port %d is not a valid port: use 1 to 65535, or 0 for any free port", p.name, p.port)
		}
		if other, ok := taken[p.port]; ok && p.port > 0 {
			return bad("%s and %s have the same port %d: use different ports", other, p.name, p.port)
		}
		taken[p.port] = p.name
	}
	if !validDatabase(c.Database) {
		return bad("the database name %q is not valid: use ctxledger, or ctxledger followed by lower-case letters, digits and underscores", c.Database)
	}
	if c.MaxMemory < 256<<20 {
		return bad("MaxMemory %d is too small for ClickHouse: use at least 268435456 (256 MiB)", c.MaxMemory)
	}
	if c.JetStreamMaxStore < 0 {
		return bad("JetStreamMaxStore %d is negative: use a number of bytes, or 0 for the server's default", c.JetStreamMaxStore)
	}
	if c.StartTimeout <= 0 || c.StopTimeout <= 0 {
		return bad("StartTimeout and StopTimeout must be greater than zero")
	}
	return nil
}

func (c Config) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

func validDatabase(name string) bool {
	rest, ok := strings.CutPrefix(name, "ctxledger")
	return ok && len(name) <= 64 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func platform() string { return runtime.GOOS + "-" + runtime.GOARCH }
