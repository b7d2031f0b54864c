package texts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Bucket is the object bucket CTX_TEXTS. It is safe for concurrent use.
type Bucket struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

var (
	// ErrAbsent means that the bucket does not have the text. It was erased, or it has expired.
	ErrAbsent = errors.New("the text is not in the bucket " + streamio.TextsBucket + ": it was erased, or it has expired")
	// ErrNoKey means that none of the given keys is the one that encrypted the text.
	ErrNoKey = errors.New("the tenant's key that encrypted the text is missing")
)

// Open opens the bucket. It returns nil for an installation of an earlier version, which has none.
func Open(ctx context.Context, js jetstream.JetStream) (*Bucket, error) {
	stream, err := js.Stream(ctx, streamio.TextsStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up bucket %s: %w", streamio.TextsBucket, err)
	}
	return &Bucket{js, stream}, nil
}

// isEmpty reports whether the bucket had no object when it was opened.
func (b *Bucket) isEmpty() bool { return b.stream.CachedInfo().State.Msgs == 0 }

// CheckWritable returns an error if the account may not write and delete in the bucket.
func (b *Bucket) CheckWritable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	ack, err := b.js.Publish(ctx, chunkPrefix+uuid.NewString(), nil)
	if err != nil {
		return fmt.Errorf("write to bucket %s: %w", streamio.TextsBucket, err)
	}
	return streamio.Overwrite(ctx, b.stream, ack.Sequence)
}

// chunkBytes is the size of a chunk, as clients of NATS choose it.
const chunkBytes = 128 << 10

// put writes a text, unless the bucket has it. The object is stored when put returns without an error.
func (b *Bucket) put(ctx context.Context, name Name, key schema.Key, text string) error {
	if _, _, err := b.look(ctx, name); !errors.Is(err, ErrAbsent) {
		return err
	}
	sealed, wrapped, err := seal(key, name, text)
	if err != nil {
		return err
	}
	sum := sha256.New()
	sum.Write(sealed)
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{
			Name: name.String(), Metadata: map[string]string{wrappedMember: wrapped, keyMember: key.ID},
			Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes},
		},
		Bucket: streamio.TextsBucket, NUID: uuid.NewString(), Size: uint64(len(sealed)), Digest: jetstream.GetObjectDigestValue(sum),
	}
	for from := 0; from < len(sealed); from += chunkBytes {
		chunk := sealed[from:min(from+chunkBytes, len(sealed))]
		if _, err := b.js.Publish(ctx, chunkPrefix+info.NUID, chunk); err != nil {
			return fmt.Errorf("write a text to bucket %s: %w", streamio.TextsBucket, err)
		}
		info.Chunks++
	}
	data, err := json.Marshal(info, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = b.publish(ctx, name, data, 0)
	if errors.Is(err, errChanged) { // another writer was first
		return b.purge(ctx, info.NUID)
	}
	return err
}

// errChanged means that an information is not the one that was read.
var errChanged = errors.New("the object has changed")

// publish stores an information, if the last one is at the sequence. The error is errChanged if it is not.
func (b *Bucket) publish(ctx context.Context, name Name, data []byte, last uint64) (sequence uint64, err error) {
	ack, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: name.subject(), Data: data}, jetstream.WithExpectLastSequencePerSubject(last))
	var refused *jetstream.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		return 0, errChanged
	case err != nil:
		return 0, fmt.Errorf("write the information of a text to bucket %s: %w", streamio.TextsBucket, err)
	}
	return ack.Sequence, nil
}

// object is the stored information of a text.
type object struct {
	name     Name
	sequence uint64
	at       time.Time
	nuid     string
}

// look reads the newest information of a text. The error is [ErrAbsent] if there is none.
func (b *Bucket) look(ctx context.Context, name Name) (o object, info jetstream.ObjectInfo, err error) {
	msg, err := b.stream.GetLastMsgForSubject(ctx, name.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return o, info, ErrAbsent
	}
	if err != nil {
		return o, info, fmt.Errorf("read the information of a text in bucket %s: %w", streamio.TextsBucket, err)
	}
	if err := json.Unmarshal(msg.Data, &info); err != nil {
		return o, info, fmt.Errorf("read the information of a text in bucket %s: message %d is not the information of an object", streamio.TextsBucket, msg.Sequence)
	}
	return object{name, msg.Sequence, msg.Time, info.NUID}, info, nil
}

// Has reports whether the bucket has a text.
func (b *Bucket) Has(ctx context.Context, name Name) (bool, error) {
	_, err := b.stream.GetLastMsgForSubject(ctx, name.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a text in bucket %s: %w", streamio.TextsBucket, err)
	}
	return true, nil
}

// Get returns a text. keys are the keys of its tenant. Errors: [ErrAbsent], [ErrNoKey], or an error of the
// server or of a damaged object.
func (b *Bucket) Get(ctx context.Context, name Name, keys []schema.Key) (string, error) {
	_, info, err := b.look(ctx, name)
	if err != nil {
		return "", err
	}
	var sealed []byte
	for after, n := uint64(0), uint32(0); n < info.Chunks; n++ {
		msg, err := b.stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(chunkPrefix+info.NUID))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return "", ErrAbsent
		}
		if err != nil {
			return "", fmt.Errorf("read a text of bucket %s: %w", streamio.TextsBucket, err)
		}
		after, sealed = msg.Sequence, append(sealed, msg.Data...)
	}
	for _, key := range keys {
		if key.ID == info.Metadata[keyMember] {
			return open(key, name, sealed, info.Metadata[wrappedMember])
		}
	}
	return "", ErrNoKey
}

// renew stores the information of a text again, and removes the earlier one. It reports whether the text is
// there.
func (b *Bucket) renew(ctx context.Context, name Name) (there bool, err error) {
	msg, err := b.stream.GetLastMsgForSubject(ctx, name.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the information of a text in bucket %s: %w", streamio.TextsBucket, err)
	}
	_, err = b.publish(ctx, name, msg.Data, msg.Sequence)
	if errors.Is(err, errChanged) { // renewed by another writer, or removed
		return b.Has(ctx, name)
	}
	if err != nil {
		return false, err
	}
	return true, streamio.Overwrite(ctx, b.stream, msg.Sequence)
}

// remove removes a text, unless its information changed after it was read.
func (b *Bucket) remove(ctx context.Context, o object) (removed bool, err error) {
	subject := jetstream.WithGetMsgSubject(o.name.subject())
	for {
		msg, err := b.stream.GetMsg(ctx, 1, subject) // the first one; a killed renewal leaves two
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return true, b.purge(ctx, o.nuid)
		case err != nil:
			return false, fmt.Errorf("read the information of a text in bucket %s: %w", streamio.TextsBucket, err)
		}
		last, _, err := b.look(ctx, o.name)
		switch {
		case errors.Is(err, ErrAbsent):
			continue
		case err != nil:
			return false, err
		case last.nuid != o.nuid: // it was removed, and written anew
			return true, b.purge(ctx, o.nuid)
		case last.sequence != o.sequence:
			return false, nil
		}
		if err := streamio.Overwrite(ctx, b.stream, msg.Sequence); err != nil {
			return false, err
		}
	}
}

// purge removes the chunks of an object.
func (b *Bucket) purge(ctx context.Context, nuid string) error {
	if err := b.stream.Purge(ctx, jetstream.WithPurgeSubject(chunkPrefix+nuid)); err != nil {
		return fmt.Errorf("remove a text of bucket %s: %w", streamio.TextsBucket, err)
	}
	return nil
}

// nuids returns the subjects' ends of the chunks that objects have. Objects of other programs count, too.
func (b *Bucket) nuids(ctx context.Context) (map[string]bool, error) {
	infos, err := b.stream.Info(ctx, jetstream.WithSubjectFilter(infoPrefix+">"))
	if err != nil {
		return nil, fmt.Errorf("list the objects of bucket %s: %w", streamio.TextsBucket, err)
	}
	used := make(map[string]bool)
	for subject := range infos.State.Subjects {
		msg, err := b.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		var info jetstream.ObjectInfo
		if err == nil {
			err = json.Unmarshal(msg.Data, &info)
		}
		if err != nil {
			return nil, fmt.Errorf("read the objects of bucket %s: %w", streamio.TextsBucket, err)
		}
		used[info.NUID] = true
	}
	return used, nil
}
