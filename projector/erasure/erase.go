package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Erasure erases the content of a subject: from the streams, where the messages are
// overwritten, from every table, and the copies in CTX_QUARANTINE. What it leaves is
// what the log needs: the leaves, which without their salts say nothing. See the package
// comment. Run may be repeated, and must be where it was cut off, until it has returned
// without an error; two at once do no harm.
type Erasure struct {
	JetStream jetstream.JetStream // required
	Ledger    *ledger.Ledger      // required
	Subject   ledger.Subject      // required
	// Tenant is whose events these are. Empty is any tenant's.
	Tenant string
	// Reason and PolicyRefs are for the fact, and stay for ever: they should not name
	// what is erased. Both are required by Run.
	Reason     string
	PolicyRefs []string
	// Log is as in Config.
	Log *slog.Logger

	// Patience is how long the ledger may make no progress before nobody seems to
	// project. Defaults to 15 s.
	Patience time.Duration
	// Steps takes the steps of the erasure. Nil takes them in their order.
	Steps steps.Walker
}

// ErrNotProjected means that the facts of an erasure are in the stream and do not get
// into the tables, and that nothing was erased yet: run a projector, and then the
// erasure again.
var ErrNotProjected = errors.New("nothing is erased yet: its fact is in the stream, and no projector brings it into the tables; start one (`ctxledger project`) and run the erasure again")

// ErrRebuilding means that there is a second set of the tables, which has what is to be
// erased: let the rebuild that makes it end, or run one that goes on with it.
var ErrRebuilding = errors.New("a rebuild is going on, or one was cut off and left its tables: let it end with `ctxledger rebuild`, then run the erasure again")

// Erased is what an erasure has done.
type Erased struct {
	Erasable
	ErasureIDs []string `json:"erasure_ids"` // of the facts, one a tenant; empty where an earlier run has told all
}

// Run erases. It returns once nothing of the subject is left of what was committed when
// it began; what producers send after that is for another erasure. Errors: [ErrNotProjected],
// [ErrRebuilding], or one of the servers, after all of which it is to be run again.
func (e Erasure) Run(ctx context.Context) (done Erased, err error) {
	if e.Subject.IsZero() || e.Reason == "" || len(e.PolicyRefs) == 0 {
		return done, errors.New("projector: an erasure needs a subject, a reason and a policy ref")
	}
	e.Log = cmp.Or(e.Log, slog.New(slog.DiscardHandler))
	// Once is enough, unless a producer repeats an event at the same time or a projector
	// was just mending a table.
	for {
		d, err := e.find(ctx)
		if err != nil {
			return done, err
		}
		if d.IsZero() {
			return done, nil
		}
		ids, err := e.erase(ctx, d)
		done.ErasureIDs = append(done.ErasureIDs, ids...)
		if err != nil {
			return done, err
		}
		done.add(d.Erasable)
	}
}

// erase takes the steps of an erasure, each of which a crash may follow, and returns the
// ids of the facts.
func (e Erasure) erase(ctx context.Context, d doomed) (ids []string, err error) {
	walker := e.Steps
	if walker == nil {
		walker = steps.InOrder{}
	}
	err = walker.Walk(ctx, []steps.Step{
		{Verb: "tell", Do: func(ctx context.Context) (err error) {
			if ids, err = e.tell(ctx, d); err != nil {
				err = fmt.Errorf("publish the fact of the erasure: %w", err)
			}
			return err
		}},
		{Verb: "await", Do: e.await},
		{Verb: "delete", Do: func(ctx context.Context) error { return e.deleteMessages(ctx, d) }},
		{Verb: "unlist", Do: func(ctx context.Context) error { return e.unlist(ctx, d) }},
	}, steps.Take)
	if err == nil {
		e.Log.Info("erased", "messages", d.Messages(), "copies", d.Copies)
	}
	return ids, err
}

// await waits until the facts are in the tables.
func (e Erasure) await(ctx context.Context) error {
	heads, err := streamio.ReadLastSequences(ctx, e.JetStream)
	if err != nil {
		return err
	}
	level, err := streamio.AwaitCommit(ctx, e.JetStream, e.Ledger, heads, cmp.Or(e.Patience, patience), nil)
	switch {
	case err != nil:
		return fmt.Errorf("wait for the fact of the erasure: %w", err)
	case !level:
		return ErrNotProjected
	}
	return nil
}

// unlist removes the rows of the messages.
func (e Erasure) unlist(ctx context.Context, d doomed) error {
	for incarnation, sequences := range d.byIncarnation() {
		if err := privacy.Of(e.Ledger).Erase(ctx, incarnation, sequences); err != nil {
			return err
		}
	}
	return nil
}

const patience = 15 * time.Second

// deleteMessages takes the messages out of the streams, and overwrites them there. It
// returns no error only once the streams say that they have none of them.
func (e Erasure) deleteMessages(ctx context.Context, d doomed) error {
	for _, m := range d.list {
		stream := d.streams[m.Incarnation]
		if stream == nil {
			continue // it is no more
		}
		msg, err := stream.GetMsg(ctx, m.StreamSeq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			continue // deleted already, which is proven below
		case err != nil:
			return fmt.Errorf("look up message %d: %w", m.StreamSeq, err)
		case !msg.Time.Equal(m.RecordedAt):
			return fmt.Errorf("%w: message %d is another one", streamio.ErrStreamForked, m.StreamSeq)
		}
		if err := overwrite(ctx, stream, m.StreamSeq); err != nil {
			return err
		}
	}
	for incarnation, sequences := range d.byIncarnation() {
		if stream := d.streams[incarnation]; stream != nil {
			if err := streamio.ProveDeleted(ctx, stream, sequences); err != nil {
				return err
			}
		}
	}
	if len(d.copies) == 0 {
		return nil
	}
	quarantine, err := e.JetStream.Stream(ctx, schema.QuarantineStream)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", schema.QuarantineStream, err)
	}
	for _, sequence := range d.copies {
		if err := overwrite(ctx, quarantine, sequence); err != nil {
			return err
		}
	}
	return streamio.ProveDeleted(ctx, quarantine, d.copies)
}

// overwrite deletes a message that another may be deleting, too.
func overwrite(ctx context.Context, stream jetstream.Stream, sequence uint64) error {
	err := stream.SecureDeleteMsg(ctx, sequence)
	if err == nil {
		return nil
	}
	if streamio.ProveDeleted(ctx, stream, []uint64{sequence}) == nil {
		return nil
	}
	return fmt.Errorf("delete message %d of %s: %w", sequence, stream.CachedInfo().Config.Name, err)
}
