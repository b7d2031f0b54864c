package backup

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/nats-io/jsm.go"
	"github.com/nats-io/jsm.go/api"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger/translog"
)

var (
	// ErrOtherBase means that the streams do not continue those of the base. Nothing was changed.
	ErrOtherBase = errors.New("the base is no backup of this installation as it is: make a full backup")
	// ErrPurged means that messages have left a stream since the full backup, and its tables lack them.
	// Nothing was changed.
	ErrPurged = errors.New("messages have left the stream that the tables of the full backup do not have: make a full backup")
	// ErrUpgraded means that the tables have other columns than those of the full backup.
	ErrUpgraded = errors.New("the tables were migrated since the full backup: make a full backup")
	// ErrFormat means that an older NATS server made the base.
	ErrFormat = errors.New("a NATS server before 2.15 made the base, whose copies cannot be continued: make a full backup")
)

// follow sets the sequences after which the streams are copied, so that the copies continue those of the
// base. A stream without events is copied whole where it does not continue the one of the base.
//
// A full backup has tables up to a sequence. A restore projects all later messages, so the stream must
// have them, or they must be erased. A message that left the stream by a retention would look like one that
// was erased. Therefore only messages may be missing at the front that are in the tables.
//
// A restore begins with the tables of the full backup, so the partitions are then on the shards of that time.
func (c Create) follow(ctx context.Context, parts []part, chain Chain, m *Manifest) error {
	base := chain.last()
	m.Format, m.Base = max(m.Format, formatIncremental), Base{base.Name, base.digest}
	if chain.full().Migration != m.Migration {
		return ErrUpgraded
	}
	if !slices.Equal(numbers(chain.full().Shards), numbers(m.Shards)) {
		return fmt.Errorf("%w: the full backup has other shards", ErrOtherBase)
	}
	for _, s := range base.Streams {
		if s.HoldsEvents() && m.stream(s.Name).Incarnation != s.Incarnation {
			return fmt.Errorf("%w: it has another stream %s", ErrOtherBase, s.Name)
		}
	}
	for i := range m.Streams {
		s := &m.Streams[i]
		stream, err := c.JetStream.Stream(ctx, s.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && !s.HoldsEvents() {
			continue
		}
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", s.Name, err)
		}
		old := base.stream(s.Name)
		if s.HoldsEvents() {
			var p part
			if p, err = of(parts, s.Name); err != nil {
				return err
			}
			err = continues(ctx, p, stream, *s, old, chain.full().stream(s.Name))
		} else {
			err = followsOn(ctx, stream, old)
		}
		whole := chain.copies(s.Name)[0]
		if err == nil && old.Last > 0 && !whole.has(path.Join(streamsFolder, s.Name, jsm.SnapshotDataFile)) {
			err = ErrFormat
		}
		switch {
		case err == nil:
			s.After = old.Last
		case s.HoldsEvents() || !errors.Is(err, ErrOtherBase) && !errors.Is(err, ErrFormat):
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// continues returns an error if a stream of events does not continue the one of the base.
func continues(ctx context.Context, p part, stream jetstream.Stream, now, old, full Stream) error {
	if old.Incarnation != now.Incarnation {
		return fmt.Errorf("%w: the base lacks the stream", ErrOtherBase)
	}
	if err := followsOn(ctx, stream, old); err != nil {
		return err
	}
	if first := stream.CachedInfo().State.FirstSeq; first > full.Committed+1 {
		return fmt.Errorf("%w (it begins at %d, they end at %d)", ErrPurged, first, full.Committed)
	}
	if old.LogSize == 0 && old.Committed > 0 && now.LogSize > 0 {
		return fmt.Errorf("%w: its tables have no transparency log", ErrOtherBase)
	}
	if old.LogSize == 0 || now.Committed < old.Committed { // the tables are being projected again
		return nil
	}
	log, err := translog.Of(p.Ledger).LogAt(ctx, now.Incarnation, old.Committed)
	if err == nil && (log.Tree.Size != old.LogSize || hex.EncodeToString(log.Root[:]) != old.LogRoot) {
		err = fmt.Errorf("%w: its transparency log differs up to sequence %d", ErrOtherBase, old.Committed)
	}
	return err
}

// followsOn returns [ErrOtherBase] if a stream does not have the last message of its older copy. That
// message may be deleted.
func followsOn(ctx context.Context, stream jetstream.Stream, old Stream) error {
	if last := stream.CachedInfo().State.LastSeq; last < old.Last {
		return fmt.Errorf("%w: it ends at sequence %d, the stream at %d", ErrOtherBase, old.Last, last)
	}
	if old.LastAt.IsZero() { // empty, or of an earlier version
		return nil
	}
	msg, err := stream.GetMsg(ctx, old.Last)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err == nil && !msg.Time.Equal(old.LastAt) {
		err = fmt.Errorf("%w: it has another message at sequence %d", ErrOtherBase, old.Last)
	}
	return err
}

// copyLater copies the messages of a stream after s.After, in the format of JetStream's snapshots. The
// state in the copy lists the deleted messages of the whole stream: a restore leaves them out.
func (c Create) copyLater(ctx context.Context, s *Stream, dir string) error {
	manager, err := jsm.New(c.JetStream.Conn())
	if err != nil {
		return err
	}
	stream, err := manager.LoadStream(s.Name)
	if err != nil {
		return err
	}
	info, err := stream.Information(api.JSApiStreamInfoRequest{DeletedDetails: true})
	if err != nil {
		return fmt.Errorf("read the state of the stream: %w", err)
	}
	if err := s.describe(info.State); err != nil {
		return err
	}
	if s.Last < s.After {
		return fmt.Errorf("%w: the stream ends at sequence %d", ErrOtherBase, s.Last)
	}
	s.Messages = keptBefore(info.State, s.After)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// The types of the server's API have the marks of this encoder.
	text, err := json.Marshal(map[string]any{"config": info.Config, "state": info.State})
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, jsm.SnapshotMetaFile), text); err != nil {
		return err
	}
	return writeArchive(filepath.Join(dir, jsm.SnapshotDataFile), info.State, func(add func(record) error) error {
		step := "copying stream " + s.Name
		return readLater(ctx, c.JetStream, *s, func(r record) error {
			s.Messages++
			c.Progress.tell(step, int64(r.sequence-s.After), int64(s.Last-s.After))
			return add(r)
		})
	})
}

// keptBefore returns the number of messages in a stream up to a sequence.
func keptBefore(state api.StreamState, through uint64) uint64 {
	if state.Msgs == 0 || state.FirstSeq > through {
		return 0
	}
	n := through - state.FirstSeq + 1
	for _, sequence := range state.Deleted {
		if sequence <= through {
			n--
		}
	}
	return n
}
