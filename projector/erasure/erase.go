package erasure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector/internal/steps"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/projector/texts"
	"github.com/ctxledger/ctxledger/schema"
)

// Erasure erases the content of a data subject. Erasure overwrites the messages in the streams
// and their copies in CTX_QUARANTINE, removes the texts of CTX_TEXTS that only these messages name, and
// deletes the rows. The leaves of the transparency log
// remain, and reveal nothing without their salts. See the comment of package projector. Run may
// be repeated. Run must be repeated after an interruption, until it returns without an error.
// Two runs at the same time do no harm.
type Erasure struct {
	JetStream jetstream.JetStream // required
	Tables    shardmap.Tables     // required
	Subject   ledger.Subject      // required
	// Ring is the ledger's ring. Its digest names the subject in the facts. Run requires it.
	Ring proof.Ring
	// Keys returns the tenants' key rings. With them a fact leaves out ids that redactions withhold.
	// Nil means no keys.
	Keys func() ([]schema.KeyRing, error)
	// Tenant is the tenant of the events. Empty means every tenant.
	Tenant string
	// Reason and PolicyRefs are recorded in the fact permanently. Both should not name the
	// erased content. Run requires both.
	Reason     string
	PolicyRefs []string
	// Log receives the messages for the operator. Nil discards them.
	Log *slog.Logger

	// Patience is the wait for progress of the ledger before Run returns [ErrNotProjected].
	// Defaults to 15 s.
	Patience time.Duration
	// Steps runs the steps of the erasure. Nil runs them in order.
	Steps steps.Walker
}

// ErrNotProjected means that the facts of an erasure are in the stream but not in the tables.
// Nothing was erased. Run a projector, and then the erasure again.
var ErrNotProjected = errors.New("nothing is erased yet: no projector writes the fact of the erasure to the tables. Start one with `ctxledger project`, then run the erasure again")

// ErrFactRefused means that the projector refused the facts of an erasure. Nothing was erased.
// The quarantine has the reason.
var ErrFactRefused = errors.New("nothing is erased: the fact of the erasure was refused. `ctxledger quarantine list` shows why; give --data the folder with the tenants' keys if a redaction withholds an id, then run the erasure again")

// ErrNoRing means that the ring of the ledger is missing. The ring makes the keyed digest of the
// subject.
var ErrNoRing = errors.New("nothing is erased: the key file of the ledger is missing, so its facts cannot name the subject by a keyed digest; set --data to the folder that contains keys/ledger.proof")

// WithheldError means that a part of the fact holds a value that a redaction withholds. Nothing was
// erased.
type WithheldError struct {
	Part        string // "reason" or "policy ref"
	RedactionID string
}

func (e *WithheldError) Error() string {
	return fmt.Sprintf("nothing is erased: the %s contains a value that redaction %s withholds, and the fact keeps it for ever; write it without the value", e.Part, e.RedactionID)
}

// ErrRebuilding means that there is a second set of tables, which also holds the data. Wait for
// the rebuild, or resume it.
var ErrRebuilding = errors.New("a rebuild is running, or an interrupted one has left its tables: finish it with `ctxledger rebuild`, then run the erasure again")

// Erased is the result of an erasure.
type Erased struct {
	Erasable
	// ErasureIDs are of the facts, one for each tenant, and on a cluster one for each session. Empty if an
	// earlier run published all facts.
	ErasureIDs []string `json:"erasure_ids"`
}

// Run erases. Run returns after it has erased everything of the data subject that was committed
// at its start. Later events need another erasure. Errors: [ErrNotProjected], [ErrRebuilding],
// [ErrFactRefused], [ErrNoRing], *[WithheldError], or an error of a server. Run it again after each
// of them.
func (e Erasure) Run(ctx context.Context) (done Erased, err error) {
	if e.Subject.IsZero() || e.Reason == "" || len(e.PolicyRefs) == 0 {
		return done, errors.New("erasure: Subject, Reason and PolicyRefs are required")
	}
	if e.Ring.Secret.IsZero() {
		return done, ErrNoRing
	}
	e.Log = cmp.Or(e.Log, slog.New(slog.DiscardHandler))
	// A second pass is needed if a producer repeats an event or a projector repairs a table at
	// the same time.
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

// erase runs the steps of an erasure, and returns the ids of the facts. A crash may follow each
// step.
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
		{Verb: "await", Do: func(ctx context.Context) error { return e.await(ctx, d) }},
		{Verb: "delete", Do: func(ctx context.Context) error { return e.deleteMessages(ctx, d) }},
		{Verb: "remove texts", Do: func(ctx context.Context) error {
			_, err := e.texts(d).Run(ctx)
			return err
		}},
		{Verb: "unlist", Do: func(ctx context.Context) error { return e.unlist(ctx, d) }},
	}, steps.Take)
	if err == nil {
		e.Log.Info("erased", "messages", d.Messages(), "copies", d.Copies, "texts", d.Texts)
	}
	return ids, err
}

// await waits until the facts are in the tables. Without its fact a message must not be deleted,
// because a rebuild would then lack the leaf of the message.
func (e Erasure) await(ctx context.Context, d doomed) error {
	heads, err := streamio.ReadLastSequences(ctx, e.JetStream)
	if err != nil {
		return err
	}
	if err := e.Tables.AwaitCommit(ctx, e.JetStream, heads, cmp.Or(e.Patience, patience), ErrNotProjected); err != nil {
		return fmt.Errorf("wait for the fact of the erasure: %w", err)
	}
	projected, sequences := make(toldLeaves), make([]uint64, len(d.list))
	for i, m := range d.list {
		sequences[i] = m.StreamSeq
	}
	err = e.Tables.Each(func(l *ledger.Ledger) error { return privacy.Of(l).ErasureRecords(ctx, sequences, projected.add) })
	if err != nil {
		return err
	}
	for _, m := range d.list {
		if !projected.has(d.recordAt(m.Position), m.owner.tenant, m.left.Leaf) {
			return ErrFactRefused
		}
	}
	return nil
}

// texts returns the sweep of the texts that only the messages name. Their rows must still be there: a
// second run finds the texts by them.
func (e Erasure) texts(d doomed) texts.Sweep {
	type place struct {
		incarnation uuid.UUID
		sequence    uint64
	}
	gone := make(map[place]bool, len(d.list))
	for _, m := range d.list {
		gone[place{m.Incarnation, m.StreamSeq}] = true
	}
	return texts.Sweep{
		JetStream: e.JetStream, Tables: e.Tables, Patience: cmp.Or(e.Patience, patience), Log: e.Log,
		Gone: func(incarnation uuid.UUID, sequence uint64) bool { return gone[place{incarnation, sequence}] },
	}
}

// unlist removes the rows of the messages.
func (e Erasure) unlist(ctx context.Context, d doomed) error {
	for incarnation, sequences := range d.byIncarnation() {
		l := d.ledgers[incarnation]
		if err := privacy.Of(l).Erase(ctx, incarnation, sequences); err != nil {
			return e.Tables.Failed(l, err)
		}
	}
	return nil
}

const patience = 15 * time.Second

// deleteMessages deletes the messages from the streams, and overwrites them there.
// deleteMessages returns nil only after the streams list all messages as deleted.
func (e Erasure) deleteMessages(ctx context.Context, d doomed) error {
	for _, m := range d.list {
		stream := d.streams[m.Incarnation]
		if stream == nil {
			continue // the stream no longer exists
		}
		msg, err := stream.GetMsg(ctx, m.StreamSeq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			continue // already deleted; checked below
		case err != nil:
			return fmt.Errorf("look up message %d: %w", m.StreamSeq, err)
		case !msg.Time.Equal(m.RecordedAt):
			return fmt.Errorf("%w: message %d was replaced", streamio.ErrStreamForked, m.StreamSeq)
		}
		if err := streamio.Overwrite(ctx, stream, m.StreamSeq); err != nil {
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
		if err := streamio.Overwrite(ctx, quarantine, sequence); err != nil {
			return err
		}
	}
	return streamio.ProveDeleted(ctx, quarantine, d.copies)
}
