package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/rebuild"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Restore puts a backup into an empty installation. Projectors and producers may run. The steps
// are those of [Restore.Run].
type Restore struct {
	JetStream jetstream.JetStream // required
	Tables    shardmap.Tables     // required; a backup of a cluster needs a cluster with the same numbers of shards
	// Dir is the folder of the backup. Next to it are the backups that an incremental one needs. Required.
	Dir string
	// Staging is ClickHouse's folder of backups, as this process sees it, or one for each shard; see [Create].
	// The tables of the backup are linked to it, or copied between two file systems. Required.
	Staging []string
	// Keys returns the tenants' key rings. Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Ring returns the ledger's key ring. Nil means that there is none.
	Ring func() (proof.Ring, error)
	// Published are signed heads that were published after the backup, at most one for each stream.
	// A log that ends below its head goes on as a new log, whose origin names the head.
	Published [][]byte
	// Projector makes the projectors that fill the tables from the streams. Required.
	Projector func(rebuild.Target) (rebuild.Projector, error)
	// Timing is the timing of the leases. Defaults to [lease.DefaultTiming].
	Timing lease.Timing
	// Progress receives the progress of each step. May be nil.
	Progress Progress
	// Log receives messages for the operator. Nil discards them.
	Log *slog.Logger
	// Steps runs the steps of the restore. Nil runs them in order.
	Steps steps.Walker
}

var (
	// ErrNotEmpty means that an installation has messages or rows. Nothing was changed.
	ErrNotEmpty = errors.New("the installation is not empty, and nothing was changed: restore to servers without data, after `ctxledger migrate`")
	// ErrKeys means that keys of the backed-up installation are missing. Nothing was changed.
	ErrKeys = errors.New("keys of the backed-up installation are missing, and nothing was changed: put its folder keys/ into the data folder first, and name that with --data")
	// ErrNoRoom means that a server has too little room.
	ErrNoRoom = errors.New("the servers have too little room: free room, then run the restore again")
	// ErrPublished means that a head is not one of the logs of the backup. Nothing was changed.
	ErrPublished = errors.New("not a signed head of the backed-up installation, and nothing was changed")
	// ErrOtherLog means that the restored transparency log differs from the one in the manifest.
	ErrOtherLog = errors.New("the restored transparency log is not the one that the manifest names: the backup is damaged, use another one")
)

// Restored is the result of a restore.
type Restored struct {
	Manifest  Manifest
	Committed map[string]uint64 // the last committed sequence by stream
	Finished  bool              // the installation already held the backup: nothing was done
	Took      time.Duration
}

// Run restores. Run may be repeated after every error and after a kill, with the same backup.
//
//  1. The files are compared with the manifests. The keys must be there, and the servers empty.
//  2. The live tables are migrated. The second set of tables gets the state restoring, after which
//     no writer changes the live tables. Run takes the leases of the streams, so that projectors
//     wait. Run closes the streams of events: a publisher gets no acknowledgement from here on. On a cluster the
//     partitions go to the shards that the full backup names.
//  3. ClickHouse restores the tables into the set. Rows after the commit that the manifest names are
//     deleted: the tables are exact up to this commit. An incremental backup begins with the tables of
//     its full one.
//  4. JetStream restores the streams, closed to producers. The messages of an incremental backup follow
//     those of the backups that it needs, without the messages that were deleted meanwhile. A stream is
//     opened after its last sequence and its messages were compared with the manifest. The stream of
//     heads gets the published heads.
//  5. The rows of messages that were erased since the copy of the tables are erased.
//  6. A projector brings the set level with the streams.
//  7. The transparency log is compared with the manifest.
//  8. The set takes the place of the live tables; see [shadow.Set.Swap]. On a cluster the shards do so one after
//     the other. No projector writes before the last one has, since each needs the redactions of all.
//  9. The streams get the newest rules; see [streamio.EnsureRules].
//
// After an error before step 4 the installation is empty and open again. After a later error or a kill it
// stays closed to projectors until the restore is run again.
//
// Errors: [ErrNoBackup], [ErrLater], [ErrChanged], [ErrChain], [ErrNotEmpty], [ErrKeys], [ErrBusy], [ErrStaging],
// [ErrNoRoom], [ErrPublished], [ErrOtherLog], [ErrShards], [ErrReplicas], [shardmap.ErrMoves],
// [shadow.ErrOtherRestore], or an error of a server.
func (r Restore) Run(ctx context.Context) (done Restored, err error) {
	began := time.Now()
	defer func() { done.Took = time.Since(began) }()
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	if r.Timing == (lease.Timing{}) {
		r.Timing = lease.DefaultTiming
	}
	if r.Steps == nil {
		r.Steps = steps.InOrder{}
	}
	parts, err := partsOf(r.Tables, r.Staging)
	if err != nil {
		return done, err
	}
	if done.Manifest, err = Verify(ctx, r.Dir, r.Progress); err != nil {
		return done, err
	}
	chain, err := ReadChain(r.Dir)
	if err != nil {
		return done, err
	}
	if done.Manifest.Migration > migrate.Latest() {
		return done, fmt.Errorf("%w: its tables are at %s, this program knows %s", ErrLater, done.Manifest.Migration, migrate.Latest())
	}
	if err := fits(chain.full().Manifest, parts); err != nil {
		return done, err
	}
	if err := r.findKeys(done.Manifest); err != nil {
		return done, err
	}
	published, err := r.publishedHeads(done.Manifest)
	if err != nil {
		return done, err
	}
	if err := r.put(ctx, parts, chain, published, &done); err != nil {
		return done, withoutRoom(ErrNoRoom, err)
	}
	// A backup of an earlier version has streams with earlier rules. Programs that were started
	// during the restore left them alone.
	for _, p := range parts {
		for _, s := range streamsOf(done.Manifest, chain.full().Manifest, p.Number) {
			if _, err := streamio.EnsureStreamRules(ctx, r.JetStream, p.Ledger, s.Name, "", r.Log); err != nil {
				return done, p.failed(err)
			}
		}
	}
	return done, nil
}

// put brings the tables and the streams into the installation.
func (r Restore) put(ctx context.Context, parts []part, chain Chain, published map[string][]byte, done *Restored) error {
	w, held, err := r.begin(ctx, parts, done.Manifest)
	if err != nil {
		return err
	}
	w.chain, w.published = chain, published
	for _, p := range w.parts {
		p.streams = streamsOf(done.Manifest, chain.full().Manifest, p.Number)
	}
	defer w.end(ctx)
	if done.Finished, err = w.already(held); err != nil || done.Finished {
		return err
	}
	if err := w.work(held, done); err != nil {
		return err
	}
	return context.Cause(held)
}

// restoring is one restore with the leases that it holds.
type restoring struct {
	Restore
	m        Manifest
	chain    Chain     // m and the backups that it needs
	id       uuid.UUID // of the backup
	owner    string
	kv       jetstream.KeyValue
	parts    restoredParts
	leases   []*lease.Lease
	resumed  bool // an earlier restore was interrupted
	restored bool // streams may be restored: nothing may be dropped
	// published are the heads of Published by stream.
	published map[string][]byte
}

// restoredPart is a part of an installation, and the set of tables that gets its rows.
type restoredPart struct {
	part
	set      *shadow.Set
	streams  []Stream // of events, with rows in the part
	resumed  bool     // an earlier restore was interrupted before the swap
	finished bool     // an earlier restore has swapped the tables
}

// tables returns the tables with the rows of the backup.
func (p *restoredPart) tables() *ledger.Ledger {
	if p.finished {
		return p.Ledger
	}
	return p.set.Ledger
}

// fits returns [ErrShards] unless the parts have the numbers of the shards of a backup.
func fits(m Manifest, parts []part) error {
	have, want := numbers(shardsOf(parts, nil)), numbers(m.Shards)
	switch {
	case slices.Equal(have, want):
		return nil
	case len(want) == 0:
		return fmt.Errorf("%w: restore the backup of one machine to one machine", ErrShards)
	case len(have) == 0:
		return fmt.Errorf("%w: restore to a cluster with the shards %v, after `ctxledger migrate --cluster NAME`", ErrShards, want)
	}
	return fmt.Errorf("%w: it is of the shards %v, and the cluster has the shards %v", ErrShards, want, have)
}

// begin takes the leases that only one backup, restore or rebuild holds.
func (r Restore) begin(ctx context.Context, parts []part, m Manifest) (w *restoring, held context.Context, err error) {
	w = &restoring{Restore: r, m: m, owner: uuid.NewString()}
	text, err := os.ReadFile(filepath.Join(r.Dir, manifestFile))
	if err != nil {
		return nil, nil, err
	}
	w.id = uuid.NewSHA1(uuid.Nil, text)
	if w.kv, err = lease.OpenBucket(ctx, r.JetStream); err != nil {
		return nil, nil, err
	}
	own, held, err := claim(ctx, w.kv, w.owner, r.Timing, r.Log)
	if err != nil {
		return nil, nil, err
	}
	w.leases = append(w.leases, own)
	held, err = w.request(held, lease.RebuildKey)
	for _, p := range parts {
		if err == nil {
			var set *shadow.Set
			set, err = shadow.Of(p.Ledger).Beside(held)
			w.parts = append(w.parts, &restoredPart{part: p, set: set})
		}
	}
	if err != nil {
		w.end(ctx)
		return nil, nil, err
	}
	return w, held, nil
}

// request takes a lease from its holder.
func (w *restoring) request(ctx context.Context, key string) (context.Context, error) {
	own, held, err := lease.Claim{KV: w.kv, Key: key, Owner: w.owner, Timing: w.Timing, Log: w.Log}.Request(ctx)
	if err != nil {
		return nil, err
	}
	w.leases = append(w.leases, own)
	return held, nil
}

// end gives everything back.
func (w *restoring) end(ctx context.Context) {
	for _, own := range w.leases {
		own.End(ctx, nil)
	}
	for _, p := range w.parts {
		if p.set != nil {
			_ = p.set.Close()
		}
	}
}

// already reports whether the installation holds the backup, and otherwise checks that it is empty. Shards that
// an interrupted restore has finished hold it already.
func (w *restoring) already(ctx context.Context) (bool, error) {
	for _, p := range w.parts {
		_, err := shadow.Of(p.Ledger).FinishSwap(ctx)
		if p.resumed = errors.Is(err, shadow.ErrRestoring); err != nil && !p.resumed {
			return false, p.failed(err)
		}
		if !p.resumed {
			continue
		}
		w.resumed = true
		switch other, err := p.set.Backup(ctx); {
		case err != nil:
			return false, p.failed(err)
		case other != w.id:
			return false, p.failed(shadow.ErrOtherRestore)
		}
	}
	all := true
	for _, p := range w.parts {
		rows, err := shadow.Of(p.Ledger).Rows(ctx)
		if err != nil {
			return false, p.failed(err)
		}
		if rows > 0 || !p.resumed { // the backup of a projector that is behind may have no rows
			if p.finished, err = w.holds(ctx, p); err != nil {
				return false, p.failed(err)
			}
		}
		if rows > 0 && !p.finished {
			return false, p.failed(fmt.Errorf("%w: its tables have %d rows", ErrNotEmpty, rows))
		}
		all = all && p.finished
	}
	if all {
		return true, nil
	}
	list, err := w.streams(ctx)
	if err != nil {
		return false, err
	}
	for name, info := range list {
		switch events := info.Config.Metadata[streamio.IncarnationKey] != ""; {
		case w.isRestored(info):
			w.restored = true
		case events && info.State.LastSeq > 0: // an empty installation may have a signed head
			return false, fmt.Errorf("%w: stream %s has messages up to sequence %d", ErrNotEmpty, name, info.State.LastSeq)
		}
	}
	return false, nil
}

// holds reports whether the streams of a part are those of the backup, and the tables have its commits. A shard
// without streams holds what the others hold.
func (w *restoring) holds(ctx context.Context, p *restoredPart) (bool, error) {
	found := false
	for _, s := range p.streams {
		found = true
		_, incarnation, err := streamio.OpenStream(ctx, w.JetStream, s.Name)
		if errors.Is(err, streamio.ErrNoStream) || err == nil && incarnation != s.Incarnation {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		last, _, err := p.Ledger.LastCommit(ctx, incarnation)
		if err != nil || last.Last < s.Committed {
			return false, err
		}
	}
	return found || !w.resumed, nil
}

// streamsOf returns the streams of events of a backup with rows on a shard, or of a plain ledger, whose number is 0.
// The rows are where the full backup has them, because a restore begins with its tables.
func streamsOf(m, full Manifest, shard uint32) (list []Stream) {
	for _, s := range m.Streams {
		if s.HoldsEvents() && full.ShardOf(s.Name) == shard {
			list = append(list, s)
		}
	}
	return list
}

// restoredParts are all parts of an installation.
type restoredParts []*restoredPart

// others returns the tables of the other parts.
func (all restoredParts) others(but *restoredPart) (list []*ledger.Ledger) {
	for _, p := range all {
		if p != but {
			list = append(list, p.tables())
		}
	}
	return list
}

// each does the same in every part whose tables an earlier restore has not swapped.
func (all restoredParts) each(do func(*restoredPart) error) error {
	for _, p := range all {
		if p.finished {
			continue
		}
		if err := do(p); err != nil {
			return p.failed(err)
		}
	}
	return nil
}

func (w *restoring) work(ctx context.Context, done *Restored) (err error) {
	defer func() {
		if err != nil && !w.restored {
			after := context.WithoutCancel(ctx)
			dropped := w.parts.each(func(p *restoredPart) error { return p.set.Drop(after) })
			err = errors.Join(err, w.clear(after), dropped, w.reopen(after))
		}
	}()
	held := ctx
	walk := func(verb string, do func(context.Context) error) {
		if err == nil {
			err = w.Steps.Walk(held, []steps.Step{{Verb: verb, Do: do}}, steps.Take)
		}
	}
	parts := func(do func(context.Context, *restoredPart) error) func(context.Context) error {
		return func(ctx context.Context) error {
			return w.parts.each(func(p *restoredPart) error { return do(ctx, p) })
		}
	}
	walk("begin", parts(func(ctx context.Context, p *restoredPart) error { return p.set.BeginRestore(ctx, w.m.Name, w.id) }))
	walk("hold the leases", func(context.Context) error {
		names, err := w.names(held)
		for _, name := range names {
			if err == nil {
				held, err = w.request(held, lease.KeyOf(name))
			}
		}
		return err
	})
	walk("assign the partitions", w.assign)
	walk("close the streams", w.closeStreams)
	walk("restore the tables", parts(w.restoreTables))
	walk("delete later rows", parts(w.trim))
	walk("restore the streams", w.restoreStreams)
	walk("erase", parts(w.erase))
	done.Committed = make(map[string]uint64)
	walk("project", parts(func(ctx context.Context, p *restoredPart) error { return w.project(ctx, p, done) }))
	walk("compare", parts(w.compare))
	walk("keep", parts(func(ctx context.Context, p *restoredPart) error { return p.set.Keep(ctx) }))
	reached := func(point string) {
		_ = w.Steps.Walk(held, []steps.Step{{Verb: point, Do: func(context.Context) error { return nil }}}, steps.Take)
	}
	if err == nil {
		err = context.Cause(held)
	}
	if err == nil {
		swapped := 0
		err = w.parts.each(func(p *restoredPart) error {
			if err := p.set.Swap(held, reached); err != nil {
				return err
			}
			swapped++
			w.Progress.tell("swapping the tables", int64(swapped), int64(len(w.parts)))
			return nil
		})
	}
	return err
}

// assign gives the partitions the shards that the full backup names.
func (w *restoring) assign(ctx context.Context) error {
	if len(w.m.Shards) == 0 {
		return nil
	}
	var shards []uint32
	for _, s := range w.chain.full().Streams { // in the order of the partitions
		if tenant, _, _ := schema.ParseStreamName(s.Name); s.HoldsEvents() && tenant == "" {
			shards = append(shards, w.chain.full().ShardOf(s.Name))
		}
	}
	return w.Tables.Assign(ctx, w.JetStream, shards)
}
