package backup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/jsm.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
)

// streams returns the streams that a restore replaces: all streams of events of the server, and the
// streams of the backup.
func (w *restoring) streams(ctx context.Context) (map[string]*jetstream.StreamInfo, error) {
	found := make(map[string]*jetstream.StreamInfo)
	list := w.JetStream.ListStreams(ctx)
	for info := range list.Info() {
		named := slices.ContainsFunc(w.m.Streams, func(s Stream) bool { return s.Name == info.Config.Name })
		if named || info.Config.Metadata[streamio.IncarnationKey] != "" {
			found[info.Config.Name] = info
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list the streams: %w", err)
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

// isRestored reports whether an earlier run has restored a stream of events. JetStream shows a stream
// only when all of it is restored.
func (w *restoring) isRestored(info *jetstream.StreamInfo) bool {
	incarnation := info.Config.Metadata[streamio.IncarnationKey]
	return w.resumed && slices.ContainsFunc(w.m.Streams, func(s Stream) bool {
		return s.HoldsEvents() && s.Name == info.Config.Name && s.Incarnation.String() == incarnation
	})
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
		if info := found[s.Name]; s.HoldsEvents() && (info == nil || !w.isRestored(info)) {
			missing = append(missing, s)
		}
	}
	for name, info := range found {
		events := info.Config.Metadata[streamio.IncarnationKey] != ""
		if events && !w.isRestored(info) || !events && !w.restored {
			if err := w.remove(ctx, name, events); err != nil {
				return err
			}
		}
	}
	manager, err := jsm.New(w.JetStream.Conn(), jsm.WithTimeout(time.Minute))
	if err != nil {
		return err
	}
	for _, s := range missing {
		dir := filepath.Join(w.Dir, streamsFolder, s.Name)
		if !exists(dir) { // an installation of an earlier version
			continue
		}
		w.restored = w.restored || s.HoldsEvents()
		step := "restoring stream " + s.Name
		_, _, err := manager.RestoreSnapshotFromDirectory(ctx, s.Name, dir, jsm.RestoreNotify(func(p jsm.RestoreProgress) {
			w.Progress.tell(step, int64(p.BytesSent()), int64(p.ChunksToSend())*int64(p.ChunkSize()))
		}))
		if err != nil {
			return fmt.Errorf("restore stream %s: %w", s.Name, err)
		}
	}
	_, err = streamio.EnsureStreams(ctx, w.JetStream)
	return err
}

// remove deletes a stream that the backup replaces. A stream of events must be empty. It first gets a
// subject that nobody publishes to, so that no acknowledged event is deleted.
func (w *restoring) remove(ctx context.Context, name string, events bool) error {
	stream, err := w.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up stream %s: %w", name, err)
	}
	closed := stream.CachedInfo().Config
	open := closed.Subjects
	closed.Subjects = []string{"ctxledger.restoring." + name}
	if stream, err = w.JetStream.UpdateStream(ctx, closed); err != nil {
		return fmt.Errorf("close stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the state of stream %s: %w", name, err)
	}
	if last := info.State.LastSeq; events && last > 0 {
		closed.Subjects = open
		_, err := w.JetStream.UpdateStream(ctx, closed)
		return errors.Join(fmt.Errorf("%w: stream %s has messages up to sequence %d", ErrNotEmpty, name, last), err)
	}
	if err := w.JetStream.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete the empty stream %s: %w", name, err)
	}
	return nil
}
