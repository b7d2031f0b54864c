package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/signing"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// streams returns the streams that a restore replaces: all streams of events of the server, and the
// streams of the backup.
func (w *restoring) streams(ctx context.Context) (map[string]*jetstream.StreamInfo, error) {
	found := make(map[string]*jetstream.StreamInfo)
	infos, err := streamio.ReadInfos(ctx, w.JetStream, nil)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		named := slices.ContainsFunc(w.m.Streams, func(s Stream) bool { return s.Name == info.Config.Name })
		if named || info.Config.Metadata[streamio.IncarnationKey] != "" {
			found[info.Config.Name] = info
		}
	}
	return found, nil
}

// names returns the streams of events whose projectors must stop.
func (w *restoring) names(ctx context.Context) (names []string, err error) {
	list, err := w.streams(ctx)
	for name, info := range list {
		if info.Config.Metadata[streamio.IncarnationKey] != "" {
			names = append(names, name)
		}
	}
	for _, s := range w.m.Streams {
		if s.HoldsEvents() {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// isRestored reports whether an earlier run has begun to restore a stream of events. After an interruption
// JetStream shows the messages that it has received, see isWhole.
func (w *restoring) isRestored(info *jetstream.StreamInfo) bool {
	incarnation := info.Config.Metadata[streamio.IncarnationKey]
	return w.resumed && slices.ContainsFunc(w.m.Streams, func(s Stream) bool {
		return s.HoldsEvents() && s.Name == info.Config.Name && s.Incarnation.String() == incarnation
	})
}

// isWhole reports whether an earlier run has restored all of a stream of events. The messages are restored
// in order.
func (w *restoring) isWhole(info *jetstream.StreamInfo) bool {
	return w.isRestored(info) && info.State.LastSeq >= w.m.stream(info.Config.Name).Last
}

// restoreStreams replaces the empty streams by those of the backup, the streams of events last. A
// projector can change the others as soon as there is a stream of events.
func (w *restoring) restoreStreams(ctx context.Context) error {
	found, err := w.streams(ctx)
	if err != nil {
		return err
	}
	var missing []Stream
	for _, s := range w.m.Streams {
		if !s.HoldsEvents() && !w.restored {
			missing = append(missing, s)
		}
	}
	for _, s := range w.m.Streams {
		if info := found[s.Name]; s.HoldsEvents() && (info == nil || !w.isWhole(info)) {
			missing = append(missing, s)
		}
	}
	for name, info := range found {
		events := info.Config.Metadata[streamio.IncarnationKey] != ""
		if events && !w.isWhole(info) || !events && !w.restored {
			if err := w.remove(ctx, name); err != nil {
				return err
			}
		}
	}
	for _, s := range missing {
		w.restored = w.restored || s.HoldsEvents()
		if err := w.restoreStream(ctx, s); err != nil {
			return fmt.Errorf("restore stream %s: %w", s.Name, err)
		}
	}
	for _, s := range w.m.Streams {
		if s.HoldsEvents() {
			if err := w.open(ctx, s.Name); err != nil {
				return err
			}
		}
	}
	if _, err := streamio.EnsureStreams(ctx, w.JetStream); err != nil {
		return err
	}
	for stream, head := range w.published {
		if err := signing.Publish(ctx, w.JetStream, stream, head); err != nil {
			return err
		}
	}
	return nil
}

// restoreStream restores a stream from its copies in the chain. A stream of events is closed: after an
// interruption it lacks messages, and no other message must take their sequences.
func (w *restoring) restoreStream(ctx context.Context, s Stream) error {
	copies := w.chain.copies(s.Name)
	config, err := copies.config(s.Name)
	if errors.Is(err, fs.ErrNotExist) { // an installation of an earlier version
		return nil
	}
	if err != nil {
		return err
	}
	if s.HoldsEvents() {
		config.Subjects = []string{closedSubject(s.Name)}
	}
	messages, total, err := copies.messages(s.Name)
	if err != nil {
		return err
	}
	defer messages.Close()
	sent := &counted{Reader: messages, told: w.Progress, step: "restoring stream " + s.Name, total: total}
	last, err := sendStream(ctx, w.JetStream.Conn(), config, sent)
	if err != nil {
		return errors.Join(err, sent.failed)
	}
	if last != s.Last {
		return fmt.Errorf("%w: the stream ends at sequence %d, the manifest names %d", ErrChanged, last, s.Last)
	}
	return nil
}

// counted tells the progress of a read.
type counted struct {
	io.Reader
	told        Progress
	step        string
	done, total int64
	failed      error // not the end
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.done += int64(n)
	c.told.tell(c.step, c.done, c.total)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// open gives a restored stream of events the subjects that it had.
func (w *restoring) open(ctx context.Context, name string) error {
	stream, err := w.JetStream.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	if !slices.Equal(config.Subjects, []string{closedSubject(name)}) {
		return nil
	}
	old, err := w.chain.copies(name).config(name)
	if err != nil {
		return fmt.Errorf("read the subjects of stream %s: %w", name, err)
	}
	config.Subjects = old.Subjects
	if _, err := w.JetStream.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("open stream %s: %w", name, err)
	}
	return nil
}

// subjectsKey is metadata of a closed stream: the subjects that it had.
const subjectsKey = "ctxledger_closed_subjects"

// closedSubject is the subject of a closed stream. No event has it, because it has fewer tokens than
// the subject of an event. It is below [schema.AllSubjects], by which programs find the streams.
func closedSubject(stream string) string {
	return strings.TrimSuffix(schema.AllSubjects, ">") + stream
}

// closeStreams closes the streams of events that the backup replaces, so that no event is
// acknowledged that the restore would delete. Closed streams stay closed after a kill.
func (w *restoring) closeStreams(ctx context.Context) error {
	found, err := w.streams(ctx)
	for name, info := range found {
		if err == nil && info.Config.Metadata[streamio.IncarnationKey] != "" && !w.isRestored(info) {
			err = w.close(ctx, name)
		}
	}
	return err
}

// close gives a stream of events a subject that nobody publishes to. A stream with messages is not
// closed; see [ErrNotEmpty].
func (w *restoring) close(ctx context.Context, name string) error {
	stream, err := w.JetStream.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", name, err)
	}
	config := stream.CachedInfo().Config
	if closed := []string{closedSubject(name)}; !slices.Equal(config.Subjects, closed) {
		config.Metadata = maps.Clone(config.Metadata)
		config.Metadata[subjectsKey], config.Subjects = strings.Join(config.Subjects, " "), closed
	}
	if stream, err = w.JetStream.UpdateStream(ctx, config); err != nil {
		return fmt.Errorf("close stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the state of stream %s: %w", name, err)
	}
	if last := info.State.LastSeq; last > 0 {
		return fmt.Errorf("%w: stream %s has messages up to sequence %d", ErrNotEmpty, name, last)
	}
	return nil
}

// reopen gives closed streams their subjects back.
func (w *restoring) reopen(ctx context.Context) error {
	streams, err := streamio.ReadStreams(ctx, w.JetStream)
	if errors.Is(err, streamio.ErrNoStream) { // an error of the restore of streams
		return nil
	}
	if err != nil {
		return err
	}
	for _, s := range streams {
		stream, err := w.JetStream.Stream(ctx, s.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look up stream %s: %w", s.Name, err)
		}
		config := stream.CachedInfo().Config
		if !slices.Equal(config.Subjects, []string{closedSubject(s.Name)}) {
			continue
		}
		if config.Subjects = strings.Fields(config.Metadata[subjectsKey]); len(config.Subjects) == 0 { // restored by this run
			old, err := w.chain.copies(s.Name).config(s.Name)
			if err != nil {
				return fmt.Errorf("read the subjects of stream %s: %w", s.Name, err)
			}
			config.Subjects = old.Subjects
		}
		config.Metadata = maps.Clone(config.Metadata)
		delete(config.Metadata, subjectsKey)
		if _, err := w.JetStream.UpdateStream(ctx, config); err != nil {
			return fmt.Errorf("open stream %s: %w", s.Name, err)
		}
	}
	return nil
}

// remove deletes a stream that the backup replaces. A stream of events must be closed.
func (w *restoring) remove(ctx context.Context, name string) error {
	if err := w.JetStream.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete the empty stream %s: %w", name, err)
	}
	return nil
}
