package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/archive"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Create makes a backup. Projectors and producers may run.
type Create struct {
	JetStream jetstream.JetStream // required
	Tables    shardmap.Tables     // required; they must be migrated
	// Target is the folder that gets the backup. Create makes a missing one. Required.
	Target string
	// Staging is ClickHouse's folder of backups, as this process sees it. On a cluster each shard has one, in
	// the order of the numbers of the shards, or all share one. A rename from Staging to Target is fast on one
	// file system; between two the files are copied. Required.
	Staging []string
	// Base is the folder of the backup that an incremental backup continues. Next to it are the backups that
	// the base continues. Create reads only their manifests. Empty means a full backup.
	Base string
	// Store receives the finished backup. Nil leaves it in Target. With a Store, unfinished and finished
	// backups in Target are work that the next call removes.
	Store Store
	// Keys returns the tenants' key rings, whose names the manifest gets. Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Seal encrypts the key files into the backup. Without recipients they are left out.
	Seal Seal
	// Version is the version of the program.
	Version string
	// Timing is the timing of the lease. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Progress receives the progress of each step. May be nil.
	Progress Progress
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger
}

// A Store keeps backups in another place than a folder of this machine.
type Store interface {
	// Has reports whether the store has a whole backup of this name.
	Has(ctx context.Context, name string) (bool, error)
	// Put stores the backup in the folder dir. The call may be repeated after every error.
	Put(ctx context.Context, dir string) error
}

var (
	// ErrBusy means that another backup is being made or restored, or a retention removes messages. Wait
	// for its end, or for 20 s after its death.
	ErrBusy = errors.New("another backup, a restore or a retention is running: wait for its end, then run this one again")
	// ErrFull means that the target has too little room. Nothing of the backup is left.
	ErrFull = errors.New("the target has too little room, and nothing of the backup is left: free room there, or name another folder")
	// ErrStaging means that this process cannot see ClickHouse's folder of backups.
	ErrStaging = errors.New("the folder of backups of ClickHouse is not there: name it as this machine sees it with --clickhouse-backups")
)

// staged begins the names of folders in Staging. Ledgers in other databases of the server have other
// names.
func staged(l *ledger.Ledger) string { return "ctxledger-backup-" + l.SQL(nil).Database + "-" }

// Run makes the backup and returns its manifest. Run leaves nothing in Target after an error. A
// killed Run leaves the folder .partial, which the next Run removes. Errors: [ErrBusy],
// [ErrFull], [ErrStaging], [ErrReplicas], [archive.ErrNoFolder], [shardmap.ErrMoves], [shardmap.ErrMoved], or an
// error of a server; for an incremental backup also those of [ReadChain], [ErrOtherBase], [ErrPurged],
// [ErrUpgraded] and [ErrFormat].
func (c Create) Run(ctx context.Context) (m Manifest, err error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Timing == (lease.Timing{}) {
		c.Timing = lease.DefaultTiming
	}
	parts, err := partsOf(c.Tables, c.Staging)
	if err != nil {
		return m, err
	}
	if err := os.MkdirAll(c.Target, 0o700); err != nil {
		return m, fmt.Errorf("make the target: %w", err)
	}
	lock := flock.New(filepath.Join(c.Target, ".lock"))
	switch got, err := lock.TryLock(); {
	case err != nil:
		return m, fmt.Errorf("lock the target: %w", err)
	case !got:
		return m, ErrBusy
	}
	defer lock.Unlock()
	var chain Chain
	if c.Base != "" {
		var err error
		if chain, err = ReadChain(c.Base); err != nil {
			return m, err
		}
	}
	kv, err := lease.OpenBucket(ctx, c.JetStream)
	if err != nil {
		return m, err
	}
	owner, err := c.owner()
	if err != nil {
		return m, err
	}
	own, held, err := claim(ctx, kv, owner, c.Timing, c.Log)
	if err != nil {
		return m, err
	}
	defer own.End(ctx, nil)
	partial := filepath.Join(c.Target, partialFolder)
	if err := c.clear(held, parts, partial); err != nil {
		return m, err
	}
	m, err = c.make(held, parts, chain, partial)
	if err == nil {
		err = context.Cause(held)
	}
	if err == nil {
		err = finish(partial, c.Target, m.Name)
	}
	if err == nil && c.Store != nil {
		dir := filepath.Join(c.Target, m.Name)
		err = errors.Join(c.Store.Put(held, dir), os.RemoveAll(dir))
	}
	if err == nil {
		// The tables of the full backup are those that a restore has. Later messages must stay in the streams,
		// so that the next incremental backup knows which of them were erased.
		err = retention.BackedUp(ctx, kv, append(chain, Link{Manifest: m}).full().through())
	}
	if err != nil {
		err = errors.Join(err, c.clear(context.WithoutCancel(ctx), parts, partial))
	}
	return m, withoutRoom(ErrFull, err)
}

// claim takes the lease of backups and restores, or returns [ErrBusy]. The owner of a backup is this
// machine with the target, whose lock the caller holds: a backup that was killed on this target is
// replaced at once. A backup that was killed on another target keeps the lease until it expires.
func claim(ctx context.Context, kv jetstream.KeyValue, owner string, timing lease.Timing, log *slog.Logger) (*lease.Lease, context.Context, error) {
	return lease.Claim{KV: kv, Key: lease.BackupKey, Owner: owner, Timing: timing, Log: log}.AcquireFree(ctx, ErrBusy)
}

func (c Create) owner() (string, error) {
	target, err := filepath.Abs(c.Target)
	if err != nil {
		return "", fmt.Errorf("find the target: %w", err)
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("ask for the name of this machine: %w", err)
	}
	return machine + ":" + target, nil
}

// clear removes what a killed backup left.
func (c Create) clear(ctx context.Context, parts []part, partial string) error {
	if err := clearStaging(ctx, parts); err != nil {
		return err
	}
	left := []string{partial}
	if c.Store != nil {
		sent, err := filepath.Glob(filepath.Join(c.Target, NamePrefix+"*"))
		if err != nil {
			return err
		}
		left = append(left, sent...)
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove an unfinished backup: %w", err)
		}
	}
	return nil
}

// clearStaging has ClickHouse stop the work of a killed run, and removes its files.
func clearStaging(ctx context.Context, parts []part) error {
	for _, p := range parts {
		if err := archive.Of(p.Ledger).Quiesce(ctx, staged(p.Ledger)); err != nil {
			return p.failed(err)
		}
	}
	for _, p := range parts {
		left, err := filepath.Glob(filepath.Join(p.staging, staged(p.Ledger)+"*"))
		if err != nil {
			return err
		}
		for _, dir := range left {
			if err := os.RemoveAll(dir); err != nil {
				return fmt.Errorf("remove the files of a killed run: %w", err)
			}
		}
	}
	return nil
}

func (c Create) make(ctx context.Context, parts []part, chain Chain, partial string) (m Manifest, err error) {
	m = Manifest{
		Format: formatFull, Version: c.Version, Migration: migrate.Latest(), NATS: c.JetStream.Conn().ConnectedServerVersion(),
		Keys: keysLeftOut,
	}
	if c.Tables.OnCluster() {
		m.Format = Format
	}
	if err := c.Tables.AtRest(ctx, c.JetStream); err != nil {
		return m, err
	}
	if m.KeyNames, err = keyNames(c.Keys); err != nil {
		return m, err
	}
	if m.ClickHouse, err = parts[0].Ledger.Version(); err != nil {
		return m, err
	}
	if m.Streams, err = c.positions(ctx, parts); err != nil {
		return m, err
	}
	var events []string
	for _, s := range m.Streams {
		if s.HoldsEvents() {
			events = append(events, s.Name)
		}
	}
	m.Shards = shardsOf(parts, events)
	if len(chain) > 0 {
		if err := c.follow(ctx, parts, chain, &m); err != nil {
			return m, err
		}
	}
	if err := c.roomFor(ctx, parts, m.Streams); err != nil {
		return m, err
	}
	if err := os.MkdirAll(filepath.Join(partial, streamsFolder), 0o700); err != nil {
		return m, fmt.Errorf("make the folder of the backup: %w", err)
	}
	m.Tables = archive.Of(parts[0].Ledger).Names()
	if m.Incremental() {
		m.Tables = shadow.KeptTables()
	}
	for _, p := range parts {
		if err := c.copyTables(ctx, p, m.Tables, filepath.Join(partial, filepath.FromSlash(tablesOf(p.Number)))); err != nil {
			return m, p.failed(err)
		}
	}
	if err := c.Tables.AtRest(ctx, c.JetStream); err != nil {
		return m, err
	}
	for i := range m.Streams {
		copyOf := c.copyStream
		if m.Streams[i].After > 0 {
			copyOf = c.copyLater
		}
		if err := copyOf(ctx, &m.Streams[i], filepath.Join(partial, streamsFolder, m.Streams[i].Name)); err != nil {
			return m, fmt.Errorf("copy stream %s: %w", m.Streams[i].Name, err)
		}
	}
	if len(c.Seal.Recipients) > 0 {
		m.Keys = keysSealed
		if err := c.Seal.write(filepath.Join(partial, KeysFile)); err != nil {
			return m, fmt.Errorf("encrypt the keys: %w", err)
		}
	}
	if m.Files, err = hashFiles(ctx, partial, 0, c.Progress); err != nil {
		return m, fmt.Errorf("read the files of the backup: %w", err)
	}
	m.MadeAt = time.Now().UTC().Truncate(time.Second)
	if m.Name, err = c.freeName(ctx, m.MadeAt); err != nil {
		return m, err
	}
	return m, m.write(partial)
}

// freeName returns a name that neither Target, nor the folder of Base, nor the store has. Backups of one
// second have numbers, in the order in which they were made.
func (c Create) freeName(ctx context.Context, at time.Time) (string, error) {
	name := NamePrefix + at.Format("20060102T150405Z")
	free := name
	for n := 2; ; n++ {
		taken := exists(filepath.Join(c.Target, free)) || c.Base != "" && exists(filepath.Join(filepath.Dir(c.Base), free))
		if !taken && c.Store != nil {
			var err error
			if taken, err = c.Store.Has(ctx, free); err != nil {
				return "", fmt.Errorf("look for a free name: %w", err)
			}
		}
		if !taken {
			return free, nil
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// finish makes the backup durable and gives it its name.
func finish(partial, target, name string) error {
	err := filepath.WalkDir(partial, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncPath(path)
	})
	if err == nil {
		err = os.Rename(partial, filepath.Join(target, name))
	}
	if err == nil {
		err = syncPath(target)
	}
	if err != nil {
		return fmt.Errorf("finish the backup: %w", err)
	}
	return nil
}

// syncPath writes a file or a folder to disk.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// positions returns the streams in the order of the copies, with the positions of the tables.
func (c Create) positions(ctx context.Context, parts []part) ([]Stream, error) {
	streams, err := streamio.ReadStreams(ctx, c.JetStream)
	if err != nil {
		return nil, err
	}
	list := []Stream{{Name: schema.CheckpointStream}}
	for _, s := range streams {
		_, incarnation, err := streamio.OpenStream(ctx, c.JetStream, s.Name)
		if err != nil {
			return nil, err
		}
		p, err := of(parts, s.Name)
		if err != nil {
			return nil, err
		}
		last, _, err := p.Ledger.LastCommit(ctx, incarnation)
		if err != nil {
			return nil, p.failed(err)
		}
		at := Stream{Name: s.Name, Incarnation: incarnation, Committed: last.Last}
		log, err := translog.Of(p.Ledger).LogAt(ctx, incarnation, last.Last)
		if err != nil {
			return nil, err
		}
		if !log.IsZero() {
			at.LogSize, at.LogRoot = log.Tree.Size, hex.EncodeToString(log.Root[:])
			head, found, err := translog.Of(p.Ledger).LastHead(ctx, incarnation, log.Tree.Size)
			if err != nil {
				return nil, err
			}
			if found {
				at.Head = string(head.Note)
			}
		}
		list = append(list, at)
	}
	return append(list, Stream{Name: schema.LastingStream}, Stream{Name: schema.QuarantineStream}, Stream{Name: schema.NoticeStream}, Stream{Name: streamio.TextsStream}), nil
}
