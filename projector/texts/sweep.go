package texts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/privacy"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Grace is the age from which a text without a fact is removed. A writer publishes the fact of a text within
// that time.
const Grace = time.Hour

// Sweep removes the texts that no fact names. Two sweeps at the same time do no harm. An interrupted one
// may be repeated.
type Sweep struct {
	JetStream jetstream.JetStream // required
	Tables    shardmap.Tables     // required
	// Gone reports whether the fact of a message no longer counts, because it is being erased. Nil means
	// that all facts count.
	Gone func(incarnation uuid.UUID, sequence uint64) bool
	// Patience is the wait for progress of the ledger before Run returns [ErrNotProjected]. Required.
	Patience time.Duration
	Log      *slog.Logger // required
}

// ErrNotProjected means that the tables do not have the ends of the streams, so whether a fact names a text
// is unknown. Start a projector and try again.
var ErrNotProjected = errors.New("texts without facts were not removed, because no projector brings the tables up to date: start one with `ctxledger project`, then try again")

// Run removes texts that only facts name that do not count or have expired, and older texts that no fact
// names, see [Grace]. It returns the number of texts. Chunks that a killed writer left are removed, too.
// Errors: [ErrNotProjected], or an error of a server.
func (s Sweep) Run(ctx context.Context) (removed int, err error) {
	b, err := Open(ctx, s.JetStream)
	if b == nil || b.isEmpty() || err != nil {
		return 0, err
	}
	for {
		n, renewed, err := s.pass(ctx, b)
		if removed += n; err != nil || !renewed {
			return removed, err
		}
	}
}

// Find returns the number of texts that Run would remove because their facts do not count or have expired.
func (s Sweep) Find(ctx context.Context) (found int, err error) {
	b, err := Open(ctx, s.JetStream)
	if b == nil || b.isEmpty() || err != nil {
		return 0, err
	}
	namings, err := s.namings(ctx)
	if err != nil {
		return 0, err
	}
	for name, counts := range namings {
		if counts {
			continue
		}
		there, err := b.Has(ctx, name)
		if err != nil {
			return 0, err
		}
		if there {
			found++
		}
	}
	return found, nil
}

// namings returns the texts that facts name, and whether one of the facts counts.
func (s Sweep) namings(ctx context.Context) (map[Name]bool, error) {
	counts := make(map[Name]bool)
	err := s.Tables.Each(func(l *ledger.Ledger) error {
		return privacy.Of(l).TextNamings(ctx, func(n privacy.TextNaming) {
			if name := NameOf(n.Tenant, n.Ref); !name.IsZero() {
				gone := n.Expired || s.Gone != nil && s.Gone(n.Incarnation, n.StreamSeq)
				counts[name] = counts[name] || !gone
			}
		})
	})
	return counts, err
}

// pass is one attempt. renewed means that a writer renewed a text meanwhile, so that it may be named now.
func (s Sweep) pass(ctx context.Context, b *Bucket) (removed int, renewed bool, err error) {
	info, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(infoPrefix+">"))
	if err != nil {
		return 0, false, fmt.Errorf("list the objects of bucket %s: %w", streamio.TextsBucket, err)
	}
	before, err := s.namings(ctx)
	if err != nil {
		return 0, false, err
	}
	var suspects []object
	for subject := range info.State.Subjects {
		name, ok := nameIn(subject)
		if !ok || before[name] {
			continue
		}
		o, _, err := b.look(ctx, name)
		if errors.Is(err, ErrAbsent) {
			continue
		}
		if err != nil {
			return 0, false, err
		}
		if _, named := before[name]; named || info.TimeStamp.Sub(o.at) > Grace {
			suspects = append(suspects, o)
		}
	}
	if len(suspects) > 0 {
		if removed, renewed, err = s.removeUnnamed(ctx, b, suspects); err != nil {
			return removed, renewed, err
		}
		s.Log.Info("removed texts that no fact names", "event", "texts_removed", "texts", removed)
	}
	return removed, renewed, s.removeChunks(ctx, b, len(info.State.Subjects))
}

// removeUnnamed removes those objects that no fact names when the tables have the ends of the streams.
func (s Sweep) removeUnnamed(ctx context.Context, b *Bucket, suspects []object) (removed int, renewed bool, err error) {
	ends, err := streamio.ReadLastSequences(ctx, s.JetStream)
	if err != nil {
		return 0, false, err
	}
	if err := s.Tables.AwaitCommit(ctx, s.JetStream, ends, s.Patience, ErrNotProjected); err != nil {
		return 0, false, fmt.Errorf("wait for the tables: %w", err)
	}
	now, err := s.namings(ctx)
	if err != nil {
		return 0, false, err
	}
	for _, o := range suspects {
		if now[o.name] {
			continue
		}
		done, err := b.remove(ctx, o)
		if err != nil {
			return removed, renewed, err
		}
		if done {
			removed++
		} else {
			renewed = true
		}
	}
	return removed, renewed, nil
}

// removeChunks removes old chunks without an object. Each object has one subject of chunks, so there are
// such chunks only if there are more subjects than objects.
func (s Sweep) removeChunks(ctx context.Context, b *Bucket, objects int) error {
	chunks, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(chunkPrefix+">"))
	if err != nil {
		return fmt.Errorf("list the chunks of bucket %s: %w", streamio.TextsBucket, err)
	}
	if len(chunks.State.Subjects) <= objects {
		return nil
	}
	var old []string
	for subject := range chunks.State.Subjects {
		msg, err := b.stream.GetLastMsgForSubject(ctx, subject)
		if err == nil && chunks.TimeStamp.Sub(msg.Time) > Grace {
			old = append(old, strings.TrimPrefix(subject, chunkPrefix))
		} else if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("read a chunk of bucket %s: %w", streamio.TextsBucket, err)
		}
	}
	used, err := b.nuids(ctx)
	if err != nil {
		return err
	}
	for _, nuid := range old {
		if used[nuid] {
			continue
		}
		if err := b.purge(ctx, nuid); err != nil {
			return err
		}
	}
	return nil
}
