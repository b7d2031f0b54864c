package rebuild

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/shadow"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// A Move moves a partition to another shard of a cluster, while everything runs:
//
//	copy     project the streams into a second set of tables on the new shard, up to the last commits of the
//	         old shard; compare the rows of both
//	switch   take the leases of the streams, project the rest, compare it, and compare the logs
//	         ┌─ readers wait, see [cluster.Layout]
//	         │  add the rows of the set to the live tables of the new shard
//	         │  change the map
//	drop     │  remove the rows on the old shard
//	         └─ readers go on
//
// Until the map changes, the old shard has the truth: a move that was interrupted removes what the new
// shard has got, and copies again what the set lacks. After it the new shard has the truth, and a move that
// was interrupted removes what the old shard still has. No process projects the streams from the step
// switching until the map has changed; see [shardmap.Move]. The set never has a message that the old shard
// has not committed, so an answer never goes back.
//
// A partition has one shared stream, and one of each tenant with streams of its own. Messages that have left their
// stream have rows on the old shard only. These are copied. The set has the
// name of the set of a rebuild. An erasure waits for its end, and a rebuild or a retention is refused by the
// lease that they share.
type Move struct {
	JetStream jetstream.JetStream // required
	Shards    *cluster.Ledgers    // required
	Partition int
	To        uint32 // number of the new shard
	// Keys, Ring, Projector, BatchMessages, Timing, Progress and Log are those of a [Rebuild].
	Keys          func() ([]schema.KeyRing, error)
	Ring          func() (proof.Ring, error)
	Projector     func(Target) (Projector, error)
	BatchMessages int
	Timing        lease.Timing
	Progress      func(done, total uint64)
	Log           *slog.Logger
}

var (
	// ErrBusy means that another process has the lease of a move.
	ErrBusy = errors.New("another move, a rebuild or a retention is running: try again after it")
	// ErrMove is wrapped by every error about a move that cannot be. Nothing was changed.
	ErrMove = errors.New("the partition cannot be moved")
)

// Moved is the result of a move.
type Moved struct {
	Streams  []string // of the partition: the shared one, then those of tenants
	From, To uint32
	Already  bool            // the partition was on the shard before
	Resumed  bool            // went on with a move that was interrupted
	Messages uint64          // projected messages
	Compared shadow.Compared // up to the last commit
	// Switching is the time in which nobody projected the streams. Waiting is the part of it in which
	// readers waited.
	Took, Switching, Waiting time.Duration
}

// Run moves the partition. It may be repeated after every error, and then goes on. Errors: [ErrMove],
// [ErrBusy], [ErrDiffer] after which the partition stays where it was, [shardmap.ErrWrongMap], or an error of
// a server.
func (m Move) Run(ctx context.Context) (done Moved, err error) {
	began := time.Now()
	defer func() { done.Took = time.Since(began) }()
	if m.Log == nil {
		m.Log = slog.New(slog.DiscardHandler)
	}
	if m.Timing == (lease.Timing{}) {
		m.Timing = lease.DefaultTiming
	}
	kv, err := lease.OpenBucket(ctx, m.JetStream)
	if err != nil {
		return done, err
	}
	w := &moving{Move: m, kv: kv, owner: uuid.NewString(), done: &done}
	if err := w.look(ctx); err != nil { // nothing waits for a move that cannot be
		return done, err
	}
	lock, held, err := w.claim(lease.RebuildKey).AcquireFree(ctx, ErrBusy)
	if err != nil {
		return done, err
	}
	defer lock.End(ctx, nil)
	w.lock = lock
	if err := w.look(held); err != nil {
		return done, err
	}
	return done, w.run(held)
}

// moving is one run of a move.
type moving struct {
	Move
	kv           jetstream.KeyValue
	owner        string
	lock         *lease.Lease
	now          shardmap.Map
	incarnations []uuid.UUID // of the streams of the partition
	source, into *ledger.Ledger
	done         *Moved
}

// claim returns the claim for a lease.
func (w *moving) claim(key string) lease.Claim {
	return lease.Claim{KV: w.kv, Conn: w.JetStream.Conn(), Key: key, Owner: w.owner, Timing: w.Timing, Log: w.Log}
}

// look reads the map, and checks that the move can be.
func (w *moving) look(ctx context.Context) (err error) {
	if w.now, err = shardmap.Read(ctx, w.JetStream); err != nil {
		return err
	}
	if err := w.now.Check(ctx, w.JetStream, w.Shards); err != nil {
		return err
	}
	if w.Shards.Replicated() {
		return fmt.Errorf("%w: %w", ErrMove, ErrReplicas)
	}
	if w.Partition < 0 || w.Partition >= len(w.now.Shards) {
		return fmt.Errorf("%w: there is no partition %d; the partitions are 0 to %d", ErrMove, w.Partition, len(w.now.Shards)-1)
	}
	if w.into = w.Shards.Of(w.To); w.into == nil {
		return fmt.Errorf("%w: the cluster %s has no shard %d; a new one needs `ctxledger migrate --cluster %[2]s`", ErrMove, w.now.Cluster, w.To)
	}
	from := w.now.Shards[w.Partition]
	if open := w.now.Move; open != nil {
		if open.Partition != w.Partition || open.To != w.To {
			return fmt.Errorf("%w: the move of partition %d to shard %d was interrupted; finish it with `ctxledger shards move --partition %[2]d --to %[3]d`", ErrMove, open.Partition, open.To)
		}
		from = open.From
	}
	w.source = w.Shards.Of(from)
	w.done.From, w.done.To = from, w.To
	if w.source == nil {
		return fmt.Errorf("%w: it is on shard %d, which the cluster %s does not have", ErrMove, from, w.now.Cluster)
	}
	return w.findStreams(ctx)
}

// findStreams finds the streams of the partition, and refuses rows of streams that were made again: their
// sessions may be of any partition.
func (w *moving) findStreams(ctx context.Context) error {
	streams, err := streamio.ReadStreams(ctx, w.JetStream)
	if err != nil {
		return err
	}
	committed, err := w.source.Committed(ctx)
	if err != nil {
		return w.failed(w.source, err)
	}
	w.done.Streams, w.incarnations = nil, nil
	for _, s := range streams {
		_, incarnation, err := streamio.OpenStream(ctx, w.JetStream, s.Name)
		if err != nil {
			return err
		}
		delete(committed, incarnation)
		if shardmap.PartitionOf(s.Name) == w.Partition {
			w.done.Streams, w.incarnations = append(w.done.Streams, s.Name), append(w.incarnations, incarnation)
		}
	}
	if len(committed) > 0 {
		return fmt.Errorf("%w: shard %d has rows of streams that were made again since, and these rows name no partition", ErrMove, w.done.From)
	}
	return nil
}

// failed names the shard of an error.
func (w *moving) failed(l *ledger.Ledger, err error) error {
	if err == nil {
		return nil
	}
	return w.Shards.Shards[slices.Index(w.Shards.All(), l)].Failed(err)
}

func (w *moving) run(ctx context.Context) error {
	if w.now.Move == nil && w.done.From == w.To {
		w.done.Already = true
		return w.removeStrays(ctx)
	}
	w.done.Resumed = w.now.Move != nil
	if w.done.Resumed && w.now.Move.Step == shardmap.Dropping {
		return w.finish(ctx)
	}
	if err := w.begin(ctx); err != nil {
		return err
	}
	differ := w.copy(ctx)
	if errors.Is(differ, errStale) { // an erasure or a retention came since an earlier run
		differ = w.copy(ctx)
	}
	if !errors.Is(differ, ErrDiffer) {
		return differ
	}
	w.now.Move = nil
	return errors.Join(differ, w.now.Save(ctx, w.JetStream))
}

// begin records the move. What an interrupted switch has brought to the new shard is removed.
func (w *moving) begin(ctx context.Context) error {
	open := w.now.Move != nil && w.now.Move.Step == shardmap.Switching
	for _, l := range []*ledger.Ledger{w.source, w.into} {
		if _, err := shadow.Of(l).FinishSwap(ctx); err != nil {
			return w.failed(l, err)
		}
	}
	if err := w.remove(ctx, w.into); err != nil {
		return err
	}
	if open {
		if err := w.Shards.EndMove(ctx, w.Partition, w.done.From, w.To); err != nil {
			return w.failed(w.source, err)
		}
	}
	w.now.Move = &shardmap.Move{Partition: w.Partition, From: w.done.From, To: w.To, Step: shardmap.Copying}
	return w.now.Save(ctx, w.JetStream)
}

// remove removes all rows of the partition from a shard that must not have them.
func (w *moving) remove(ctx context.Context, l *ledger.Ledger) error {
	there, err := shadow.Of(l).Holds(ctx, w.incarnations)
	if err == nil && there {
		if _, err = w.lock.Advance(ctx); err == nil { // another process may have the lease
			err = shadow.Of(l).Remove(ctx, w.incarnations)
		}
	}
	return w.failed(l, err)
}

// removeStrays removes rows that a projector wrote to another shard after the end of its lease, because its
// process was suspended.
func (w *moving) removeStrays(ctx context.Context) error {
	for _, l := range w.Shards.All() {
		if l != w.into {
			if err := w.remove(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// errStale means that the set of an earlier run differs.
var errStale = errors.New("the rows of an earlier copy differ")

// copy projects the streams into the second set on the new shard, compares it, and switches.
func (w *moving) copy(ctx context.Context) error {
	set, err := shadow.Of(w.into).BesideFor(ctx, w.source)
	if err != nil {
		return w.failed(w.into, err)
	}
	r := Rebuild{
		JetStream: w.JetStream, Ledger: w.source, Streams: w.done.Streams, Shards: w.Shards.All(), Keys: w.Keys, Ring: w.Ring,
		Projector: w.Projector, BatchMessages: w.BatchMessages, Timing: w.Timing, Progress: w.Progress, Log: w.Log,
		Steps: steps.InOrder{}, CompareOnly: true, // it deletes no message
	}
	c, err := r.prepare(ctx, w.kv, w.owner, set)
	if err != nil {
		return err
	}
	defer c.set.Close()
	var compared []shadow.Stretch
	catchUp := func(ctx context.Context, compare bool) (err error) {
		if c.upTo, err = c.levels(ctx); err != nil {
			return w.failed(w.source, err)
		}
		var part Rebuilt
		if err := c.catchUp(ctx, &part); err != nil {
			return err
		}
		w.done.Messages += part.Messages
		if !compare {
			return nil
		}
		for i, s := range compared {
			c.upTo[i].After = s.Through
		}
		more, err := c.set.Compare(ctx, c.upTo, false)
		w.done.Compared.Tables, compared = more.Tables, c.upTo
		w.done.Compared.Rows += more.Rows
		w.done.Compared.Took += more.Took
		w.done.Compared.Differences = append(w.done.Compared.Differences, more.Differences...)
		return err
	}
	err = catchUp(ctx, true)
	if c.resumed && (errors.Is(err, streamio.ErrEventsExpired) || errors.Is(err, streamio.ErrStreamForked)) {
		return w.differs(ctx, c)
	}
	if err != nil {
		return err
	}
	if len(w.done.Compared.Differences) > 0 {
		return w.differs(ctx, c)
	}
	if err := catchUp(ctx, false); err != nil { // the stream grew during the comparison
		return err
	}
	held, began := ctx, time.Now()
	defer func() { w.done.Switching = time.Since(began) }()
	var leases []*lease.Lease
	for _, stream := range w.done.Streams {
		own, next, err := w.claim(lease.KeyOf(stream)).Request(held)
		if err != nil {
			return err
		}
		defer own.End(ctx, nil)
		leases, held = append(leases, own), next
	}
	for _, incarnation := range w.incarnations {
		if err := w.source.KillInserts(held, incarnation); err != nil {
			return w.failed(w.source, err)
		}
	}
	if err := catchUp(held, true); err != nil {
		return err
	}
	if len(w.done.Compared.Differences) > 0 {
		return w.differs(ctx, c)
	}
	for i := range w.done.Streams {
		if err := w.sameLog(held, c, i); err != nil {
			return err
		}
	}
	return w.toSwitch(ctx, held, leases, c.set)
}

// differs drops a set that differs.
func (w *moving) differs(ctx context.Context, c *rebuilding) error {
	if err := c.set.Drop(ctx); err != nil {
		return w.failed(w.into, err)
	}
	if c.resumed {
		w.done.Compared = shadow.Compared{}
		return errStale
	}
	return ErrDiffer
}

// sameLog compares the transparency logs of a stream on both shards.
func (w *moving) sameLog(ctx context.Context, c *rebuilding, stream int) error {
	of, through := w.incarnations[stream], c.upTo[stream].Through
	if through == 0 {
		return nil
	}
	was, err := translog.Of(w.source).LogAt(ctx, of, through)
	if err != nil {
		return w.failed(w.source, err)
	}
	is, err := translog.Of(c.set.Ledger).LogAt(ctx, of, through)
	if err != nil {
		return w.failed(w.into, err)
	}
	if was.Root != is.Root || was.Tree.Size != is.Tree.Size {
		return fmt.Errorf("the transparency log of stream %s has %d leaves on shard %d and %d in its copy, or other ones: %w",
			w.done.Streams[stream], was.Tree.Size, w.done.From, is.Tree.Size, w.differs(ctx, c))
	}
	return nil
}

// toSwitch brings the rows to the new shard and changes the map. held ends with the first lease of a stream that ends.
func (w *moving) toSwitch(ctx, held context.Context, leases []*lease.Lease, set *shadow.Set) error {
	w.now.Move.Step = shardmap.Switching
	if err := w.now.Save(held, w.JetStream); err != nil {
		return err
	}
	// A projector that takes the lease from here on reads the step. One that took it before has it now.
	for _, own := range leases {
		if _, err := own.Advance(held); err != nil {
			return err
		}
	}
	began := time.Now()
	defer func() { w.done.Waiting = time.Since(began) }()
	if err := w.Shards.BeginMove(ctx, w.Partition, w.done.From, w.To); err != nil {
		return w.failed(w.source, err)
	}
	if err := shadow.Of(w.into).Adopt(ctx, set, w.incarnations); err != nil {
		return w.failed(w.into, err)
	}
	w.now.Shards = slices.Clone(w.now.Shards)
	w.now.Shards[w.Partition], w.now.Move.Step = w.To, shardmap.Dropping
	if err := w.now.Save(ctx, w.JetStream); err != nil {
		return err
	}
	return w.finish(ctx)
}

// finish removes the rows on the old shard, lets readers go on, and drops the set.
func (w *moving) finish(ctx context.Context) error {
	if err := w.remove(ctx, w.source); err != nil {
		return err
	}
	if err := w.Shards.EndMove(ctx, w.Partition, w.done.From, w.To); err != nil {
		return w.failed(w.source, err)
	}
	set, err := shadow.Of(w.into).Beside(ctx)
	if err == nil {
		err = set.Drop(ctx)
	}
	if err != nil {
		return w.failed(w.into, err)
	}
	w.now.Move = nil
	return w.now.Save(ctx, w.JetStream)
}
