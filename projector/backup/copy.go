package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/jsm.go"
	"github.com/nats-io/jsm.go/api"

	"github.com/go-json-experiment/json"

	"github.com/ctxledger/ctxledger/ledger/archive"
)

// copyTables has ClickHouse copy tables of a part to its folder of backups, and moves the copy to dir.
func (c Create) copyTables(ctx context.Context, p part, names []string, dir string) error {
	name, step := staged(p.Ledger)+uuid.NewString(), "copying the tables"
	if p.Shard != "" {
		step += " of " + p.Shard
	}
	err := archive.Of(p.Ledger).Backup(ctx, name+"/", names, func(done, total uint64) {
		c.Progress.tell(step, int64(done), int64(total))
	})
	if err != nil {
		return err
	}
	from := filepath.Join(p.staging, name)
	if !exists(from) {
		return fmt.Errorf("%w: ClickHouse wrote no copy to %s", ErrStaging, p.staging)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	return move(ctx, from, dir)
}

// move renames a folder, or copies it between two file systems.
func move(ctx context.Context, from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	if err := copyFolder(ctx, from, to); err != nil {
		return err
	}
	return os.RemoveAll(from)
}

// copyFolder copies the files of a folder.
func copyFolder(ctx context.Context, from, to string) error { return eachFile(ctx, from, to, copyFile) }

// linkFolder links the files of a folder, or copies them between two file systems.
func linkFolder(ctx context.Context, from, to string) error {
	return eachFile(ctx, from, to, func(from, to string) error {
		if os.Link(from, to) == nil {
			return nil
		}
		return copyFile(from, to)
	})
}

// eachFile makes a folder with the folders in another one, and calls file for each file.
func eachFile(ctx context.Context, from, to string, file func(from, to string) error) error {
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(to, 0o700)
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		in, out := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		if err := context.Cause(ctx); err != nil {
			return err
		}
		next := file
		if entry.IsDir() {
			next = func(in, out string) error { return eachFile(ctx, in, out, file) }
		}
		if err := next(in, out); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// copyStream has JetStream make a snapshot of a stream. A stream that the installation does not
// have is left out.
func (c Create) copyStream(ctx context.Context, s *Stream, dir string) error {
	manager, err := jsm.New(c.JetStream.Conn())
	if err != nil {
		return err
	}
	stream, err := manager.LoadStream(s.Name)
	if jsm.IsNatsError(err, 10059) && !s.HoldsEvents() { // an installation of an earlier version
		return nil
	}
	if err != nil {
		return err
	}
	step := "copying stream " + s.Name
	progress, stop := c.Progress.until() // a goroutine of the library may outlive the call
	defer stop()
	_, err = stream.SnapshotToDirectory(ctx, dir, jsm.SnapshotNotify(func(p jsm.SnapshotProgress) {
		progress(step, int64(p.UncompressedBytesReceived()), int64(p.BytesExpected()))
	}))
	if err != nil {
		return err
	}
	// The state is the one that the snapshot has.
	text, err := os.ReadFile(filepath.Join(dir, jsm.SnapshotMetaFile))
	if err != nil {
		return err
	}
	var meta struct {
		State api.StreamState `json:"state"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return fmt.Errorf("read the state of the copy: %w", err)
	}
	return s.describe(meta.State)
}

// describe takes over the state of a copied stream.
func (s *Stream) describe(state api.StreamState) error {
	s.First, s.Last, s.LastAt, s.Messages, s.Bytes = state.FirstSeq, state.LastSeq, state.LastTime, state.Msgs, state.Bytes
	if s.Last == 0 {
		s.LastAt = time.Time{}
	}
	if s.HoldsEvents() && s.Last < s.Committed {
		return fmt.Errorf("it ends at %d, before the last commit at %d: `ctxledger doctor` shows why", s.Last, s.Committed)
	}
	return nil
}

// roomFor returns [ErrFull] if Target has less room than the copies take.
func (c Create) roomFor(ctx context.Context, parts []part, streams []Stream) error {
	var need uint64
	if c.Base == "" {
		for _, p := range parts {
			bytes, err := archive.Of(p.Ledger).Bytes(ctx)
			if err != nil {
				return p.failed(err)
			}
			need += bytes
		}
	}
	for _, s := range streams {
		stream, err := c.JetStream.Stream(ctx, s.Name)
		if err != nil {
			continue // copyStream tells why
		}
		state := stream.CachedInfo().State
		share := float64(state.LastSeq-min(s.After, state.LastSeq)) / float64(max(state.LastSeq, 1))
		need += uint64(share * float64(state.Bytes/4)) // a snapshot is compressed
	}
	var room syscall.Statfs_t
	if err := syscall.Statfs(c.Target, &room); err != nil {
		return fmt.Errorf("ask for the room of the target: %w", err)
	}
	if free := room.Bavail * uint64(room.Bsize); free < need {
		return fmt.Errorf("%w (about %d MB are needed, %d MB are free)", ErrFull, need>>20, free>>20)
	}
	return nil
}
