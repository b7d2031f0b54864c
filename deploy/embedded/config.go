package embedded

import (
	"log/slog"
	"runtime"
	"strings"
	"time"
)

// Config says what to run and where. Start from DefaultConfig and set Dir.
type Config struct {
	// Dir holds all data, the generated configuration, the passwords (0600) and
	// the engine's log. Created where missing. One Start at a time holds it.
	// Required.
	Dir string

	// NoNATS leaves NATS out, for when the user named an address of their own.
	// Defaults to false.
	NoNATS bool
	// NoClickHouse leaves ClickHouse out, likewise. Defaults to false.
	NoClickHouse bool

	// Ports on 127.0.0.1; HTTPPort is ClickHouse's. 0 takes any free one; KeptPort takes
	// the one that the folder had last. Every port but 0 is kept for the next start.
	// Default to 0.
	NATSPort, ClickHousePort, HTTPPort int

	// Database exists in ClickHouse once Start returns, and is the one in the
	// DSNs. Lower-case letters, digits and underscores, beginning with
	// "ctxledger", because the reader's grants end there. Defaults to
	// "ctxledger".
	Database string

	// SyncAlways makes both servers fsync every write before they acknowledge it,
	// so that what is acknowledged survives power loss. Without it a kill -9 of
	// the process loses nothing, a power cut up to two minutes. Defaults to false.
	SyncAlways bool
	// JetStreamMaxStore caps JetStream's files, in bytes; 0 means what the server
	// chooses, three quarters of the free disk. Defaults to 0.
	JetStreamMaxStore int64
	// MaxMemory caps what ClickHouse allocates for all queries, in bytes, beside
	// the 170 MB of its mapped code. Defaults to 2 GiB.
	MaxMemory int64

	// CacheDir keeps the engine library, shared by all data folders. Empty means
	// CTXLEDGER_CACHE, or else ctxledger in the user's cache folder. Defaults to
	// empty.
	CacheDir string

	// StartTimeout bounds one start of the engine, without the fetch. Defaults
	// to 30 s.
	StartTimeout time.Duration
	// StopTimeout bounds Close; after it the engine is killed, which loses
	// nothing acknowledged. The engine itself waits up to 5 s for connections
	// that clients hold open, so close those first. Defaults to 10 s.
	StopTimeout time.Duration

	// Progress is told about the fetch, the only long step. Nil is quiet.
	Progress Progress
	// Log gets what the supervisor and NATS have to say. Nil discards it.
	Log *slog.Logger

	// RemoveDir makes the engine remove Dir when it ends, for servers that nobody
	// closes. Defaults to false.
	RemoveDir bool
}

// DefaultConfig runs both servers in dir, on any free ports.
func DefaultConfig(dir string) Config {
	return Config{
		Dir:          dir,
		Database:     "ctxledger",
		MaxMemory:    2 << 30,
		StartTimeout: 30 * time.Second,
		StopTimeout:  10 * time.Second,
	}
}

// validate says what is wrong with c, as an ErrConfig, and changes nothing.
func (c Config) validate() error {
	bad := func(format string, args ...any) error { return fail(ErrConfig, nil, format, args...) }
	if c.Dir == "" {
		return bad("no data folder was given: set Config.Dir")
	}
	if c.NoNATS && c.NoClickHouse {
		return bad("nothing to start: both NoNATS and NoClickHouse are set")
	}
	taken := map[int]string{}
	for _, p := range []struct {
		name string
		port int
	}{{"NATS", c.NATSPort}, {"ClickHouse", c.ClickHousePort}, {"ClickHouse HTTP", c.HTTPPort}} {
		if p.port < KeptPort || p.port > 65535 {
			return bad("%s port %d is no port: use 1 to 65535, or 0 for any free port", p.name, p.port)
		}
		if other, ok := taken[p.port]; ok && p.port > 0 {
			return bad("%s and %s both ask for port %d: give each its own", other, p.name, p.port)
		}
		taken[p.port] = p.name
	}
	if !validDatabase(c.Database) {
		return bad("database %q: use ctxledger, or ctxledger followed by lower-case letters, digits and underscores", c.Database)
	}
	if c.MaxMemory < 256<<20 {
		return bad("MaxMemory %d is too little for ClickHouse: give at least 256 MiB", c.MaxMemory)
	}
	if c.JetStreamMaxStore < 0 {
		return bad("JetStreamMaxStore %d is negative: use bytes, or 0 for the server's choice", c.JetStreamMaxStore)
	}
	if c.StartTimeout <= 0 || c.StopTimeout <= 0 {
		return bad("StartTimeout and StopTimeout must be above zero")
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
