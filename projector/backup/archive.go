package backup

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/jsm.go"
	"github.com/nats-io/jsm.go/api"
	"github.com/nats-io/nats-server/v2/server/archive"
)

// A copy of messages is in the format of the snapshots of JetStream since NATS 2.15: compressed by s2, the
// state of the stream as JSON under the name state.json, each message with its subject, sequence and
// time, and an empty entry that marks the end.

const stateEntry = "state.json"

// errTruncated means that an archive has no mark of its end.
var errTruncated = fmt.Errorf("%w: an archive of messages is truncated", ErrChanged)

// A record is a stored message.
type record struct {
	sequence     uint64
	at           time.Time
	subject      string
	header, data []byte // as stored
}

// writeArchive makes a file with the messages that fill adds, in their order.
func writeArchive(file string, state api.StreamState, fill func(add func(record) error) error) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(encode(out, state, fill), out.Close())
}

// encode writes an archive with the messages that fill adds.
func encode(to io.Writer, state api.StreamState, fill func(add func(record) error) error) (err error) {
	compressed := s2.NewWriter(to)
	defer func() {
		if closeErr := compressed.Close(); err == nil {
			err = closeErr
		}
	}()
	out := archive.NewWriter(compressed)
	entry := func(h archive.Header, parts ...[]byte) error {
		if err := out.WriteHeader(&h); err != nil {
			return err
		}
		for _, part := range parts {
			if _, err := out.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
	state.Consumers = 0
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	if err := entry(archive.Header{Name: stateEntry, PayloadSize: int64(len(text)), Timestamp: state.LastTime.UnixNano()}, text); err != nil {
		return err
	}
	err = fill(func(r record) error {
		return entry(archive.Header{
			Name: r.subject, Sequence: r.sequence, Timestamp: r.at.UnixNano(), HeaderSize: int64(len(r.header)), PayloadSize: int64(len(r.data)),
		}, r.header, r.data)
	})
	if err != nil {
		return err
	}
	return entry(archive.Header{})
}

// decode calls state with the state of the stream, and visit with each message. Errors: [ErrChanged], or
// one of a call.
func decode(from io.Reader, state func(api.StreamState) error, visit func(record) error) error {
	in := archive.NewReader(s2.NewReader(from))
	head, err := in.Next()
	if err != nil || head.Name != stateEntry {
		return fmt.Errorf("%w: an archive of messages does not begin with a state (%v)", ErrChanged, err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	var read api.StreamState
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("%w: the state in an archive of messages is %w", ErrChanged, err)
	}
	if err := state(read); err != nil {
		return err
	}
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return errTruncated
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if head.Sequence == 0 {
			return nil
		}
		text, err := io.ReadAll(in)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		err = visit(record{
			sequence: head.Sequence, at: time.Unix(0, head.Timestamp), subject: head.Name, header: text[:head.HeaderSize], data: text[head.HeaderSize:],
		})
		if err != nil {
			return err
		}
	}
}

// config returns the configuration of a stream as in its last copy. Errors: [fs.ErrNotExist] if the backup
// lacks the stream.
func (c Chain) config(stream string) (api.StreamConfig, error) {
	text, err := os.ReadFile(filepath.Join(c.last().Dir, streamsFolder, stream, jsm.SnapshotMetaFile))
	if err != nil {
		return api.StreamConfig{}, err
	}
	var meta struct {
		Config api.StreamConfig `json:"config"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return meta.Config, fmt.Errorf("%w: the configuration of a stream is %w", ErrChanged, err)
	}
	return meta.Config, nil
}

// messages returns the archive of a stream and about its bytes. c are the copies of the stream. An archive
// of several copies is made while it is read.
func (c Chain) messages(stream string) (io.ReadCloser, int64, error) {
	var total int64
	var first string
	for _, l := range c {
		file, err := jsm.SnapshotDataPath(filepath.Join(l.Dir, streamsFolder, stream))
		if err != nil {
			return nil, 0, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil, 0, err
		}
		total, first = total+info.Size(), cmp.Or(first, file)
	}
	if len(c) == 1 {
		in, err := os.Open(first)
		return in, total, err
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(c.merge(out, stream)) }() // ends when in is closed
	return in, total, nil
}

// merge writes one archive of a stream from its copies in a chain. It has the messages that the stream
// had when the last copy was made: deleted ones are left out.
func (c Chain) merge(to io.Writer, stream string) error {
	state, err := c.last().readState(stream)
	if err != nil {
		return err
	}
	deleted := state.Deleted // is sorted
	state.Deleted, state.NumDeleted = nil, 0
	return encode(to, state, func(add func(record) error) error {
		var n uint64
		for _, l := range c {
			after := l.stream(stream).After
			err := l.readMessages(stream, func(r record) error {
				_, gone := slices.BinarySearch(deleted, r.sequence)
				if gone || r.sequence < state.FirstSeq || r.sequence <= after || r.sequence > state.LastSeq {
					return nil
				}
				n++
				return add(r)
			})
			if err != nil {
				return fmt.Errorf("stream %s of %s: %w", stream, l.Name, err)
			}
		}
		if want := c.last().stream(stream).Messages; n != want {
			return fmt.Errorf("%w: the copies of stream %s have %d messages, the manifest names %d", ErrChanged, stream, n, want)
		}
		return nil
	})
}

// errEnough stops the read of an archive or of a stream.
var errEnough = errors.New("what was wanted is read")

func (l Link) readState(stream string) (state api.StreamState, err error) {
	err = l.read(stream, func(s api.StreamState) error {
		state = s
		return errEnough
	}, nil)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return state, err
}

func (l Link) readMessages(stream string, visit func(record) error) error {
	return l.read(stream, func(api.StreamState) error { return nil }, visit)
}

func (l Link) read(stream string, state func(api.StreamState) error, visit func(record) error) error {
	in, err := os.Open(filepath.Join(l.Dir, streamsFolder, stream, jsm.SnapshotDataFile))
	if err != nil {
		return err
	}
	defer in.Close()
	return decode(in, state, visit)
}
