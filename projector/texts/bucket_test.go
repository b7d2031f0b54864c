package texts

import (
	"bytes"
	crand "crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// rig is a server with an empty bucket.
type rig struct {
	*testing.T
	js     jetstream.JetStream
	bucket *Bucket
	key    schema.Key
	folder string // of the server's files
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t}
	servers := embeddedtest.Start(t, func(c *embedded.Config) { c.NoClickHouse, r.folder = true, c.Dir })
	r.js = servers.JetStream(t)
	bucket, err := Open(t.Context(), r.js)
	if bucket != nil || err != nil {
		t.Fatalf("a bucket of nobody: %v %v", bucket, err)
	}
	_, err = streamio.EnsureStreams(t.Context(), r.js)
	r.must(err)
	r.bucket, err = Open(t.Context(), r.js)
	r.must(err)
	r.key, err = schema.NewKey(crand.Reader, time.Now())
	r.must(err)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// object looks a text up.
func (r *rig) object(name Name) (object, jetstream.ObjectInfo) {
	r.Helper()
	o, info, err := r.bucket.look(r.Context(), name)
	r.must(err)
	return o, info
}

// messages returns the number of messages in the bucket.
func (r *rig) messages() uint64 {
	r.Helper()
	info, err := r.bucket.stream.Info(r.Context())
	r.must(err)
	return info.State.Msgs
}

// onDisk reports whether a file of the server contains a text.
func (r *rig) onDisk(text string) (found bool) {
	r.Helper()
	r.must(filepath.WalkDir(r.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that the server has just removed
		}
		data, _ := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return nil
	}))
	return found
}

const sentence = "The quick brown fox lived in Rotterdam. "

// long is a text of more than one chunk.
var long = strings.Repeat(sentence, (200<<10)/len(sentence))

// TestObject: clients of NATS see an object that is encrypted, and only the tenant's key opens it.
func TestObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := Name{"acme", r.key.Digest([]byte(long))}
	w := NewWriter(r.bucket, "acme", r.key)
	r.must(w.Write(t.Context(), name.Digest, long))
	r.must(w.Write(t.Context(), name.Digest, long))
	r.must(w.Settle(t.Context()))
	if text, err := r.bucket.Get(t.Context(), name, []schema.Key{r.key}); text != long || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	store, err := r.js.ObjectStore(t.Context(), streamio.TextsBucket)
	r.must(err)
	sealed, err := store.GetBytes(t.Context(), name.String())
	r.must(err)
	if len(sealed) < len(long) || bytes.Contains(sealed, []byte("Rotterdam")) || r.onDisk("Rotterdam") {
		t.Errorf("%d bytes that are not encrypted", len(sealed))
	}
	if n := r.messages(); n != 3 { // two chunks and the information
		t.Errorf("%d messages", n)
	}

	other, err := schema.NewKey(crand.Reader, time.Now())
	r.must(err)
	for _, c := range []struct {
		name Name
		keys []schema.Key
		want error
	}{
		{Name{"other", name.Digest}, []schema.Key{r.key}, ErrAbsent},
		{Name{"acme", "hmac-sha256:k:0"}, []schema.Key{r.key}, ErrAbsent},
		{name, []schema.Key{other}, ErrNoKey},
		{name, nil, ErrNoKey},
	} {
		if text, err := r.bucket.Get(t.Context(), c.name, c.keys); text != "" || !errors.Is(err, c.want) {
			t.Errorf("%v: %d bytes, %v", c.name, len(text), err)
		}
	}
	_, info := r.object(name)
	if _, err := open(r.key, Name{"other", name.Digest}, sealed, info.Metadata[wrappedMember]); !errors.Is(err, errSealed) {
		t.Errorf("an object of another name opens: %v", err)
	}
}

// TestRemove: a removal overwrites the key of the text, and fails if a writer came before it.
func TestRemove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := Name{"acme & sons", r.key.Digest([]byte(long))}
	w := NewWriter(r.bucket, name.Tenant, r.key)
	r.must(w.Write(t.Context(), "before", "so that the server keeps the file"))
	r.must(w.Write(t.Context(), name.Digest, long))
	r.must(w.Write(t.Context(), "after", "too"))
	o, info := r.object(name)
	wrapped := info.Metadata[wrappedMember]
	if !r.onDisk(wrapped) {
		t.Fatal("the files of the server were not found")
	}

	r.must(w.Settle(t.Context()))
	if removed, err := r.bucket.remove(t.Context(), o); removed || err != nil {
		t.Fatalf("removed a renewed text: %v %v", removed, err)
	}
	if text, err := r.bucket.Get(t.Context(), name, []schema.Key{r.key}); text != long || err != nil {
		t.Fatalf("%d bytes, %v", len(text), err)
	}

	// a writer that was killed while it renewed leaves the information twice
	o, info = r.object(name)
	_, err := r.js.Publish(t.Context(), name.subject(), []byte(`{"nuid":"`+info.NUID+`"}`))
	r.must(err)
	if removed, err := r.bucket.remove(t.Context(), o); removed || err != nil {
		t.Fatalf("removed a renewed text: %v %v", removed, err)
	}
	o, _ = r.object(name)
	if removed, err := r.bucket.remove(t.Context(), o); !removed || err != nil {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if n := r.messages(); n != 4 {
		t.Errorf("%d messages are left", n)
	}
	if r.onDisk(wrapped) || r.onDisk(base64.URLEncoding.EncodeToString([]byte(name.String()))) {
		t.Error("the key of a removed text is in the files of the server")
	}
	if removed, err := r.bucket.remove(t.Context(), o); !removed || err != nil {
		t.Errorf("removed again %v, %v", removed, err)
	}
}

// TestRemovedUnderWriter: a text that is removed before its fact is stored is written again.
func TestRemovedUnderWriter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	name := Name{"acme", r.key.Digest([]byte(long))}
	w := NewWriter(r.bucket, "acme", r.key)
	r.must(w.Write(t.Context(), name.Digest, long))
	o, _ := r.object(name)
	if removed, err := r.bucket.remove(t.Context(), o); !removed || err != nil {
		t.Fatalf("removed %v, %v", removed, err)
	}
	r.must(w.Settle(t.Context()))
	if text, err := r.bucket.Get(t.Context(), name, []schema.Key{r.key}); text != long || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if w.bytes != 0 || len(w.unsettled) != 0 {
		t.Errorf("%d bytes of %d texts wait", w.bytes, len(w.unsettled))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, n := range []Name{{"default", "hmac-sha256:k1:ab"}, {"a/b c*>.", "d"}, {"", "d"}} {
		if got, ok := nameIn(n.subject()); !ok || got != n {
			t.Errorf("%+v became %+v", n, got)
		}
	}
	for _, subject := range []string{infoPrefix + "!", infoPrefix + "YWJj", infoPrefix + base64.URLEncoding.EncodeToString([]byte("a b/c")), infoPrefix + base64.URLEncoding.EncodeToString([]byte("a/"))} {
		if n, ok := nameIn(subject); ok {
			t.Errorf("%s names %+v", subject, n)
		}
	}
	if n := NameOf("", schema.TextRef("d")); n != (Name{"default", "d"}) {
		t.Errorf("%+v", n)
	}
	if n := NameOf("acme", "urn:ctxledger:capture:x"); !n.IsZero() {
		t.Errorf("%+v", n)
	}
}

// TestWritersAndSweeps: whatever the order in which writers and sweeps of one text take their steps, the
// text is there in the end, once. A bool stands for the fact in the tables.
func TestWritersAndSweeps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var removals atomic.Int64
	for round := range 60 {
		text := fmt.Sprint(round, " ", long)
		name := Name{"acme", r.key.Digest([]byte(text))}
		var named atomic.Bool
		var all errgroup.Group
		for range 3 {
			all.Go(func() error {
				w := NewWriter(r.bucket, "acme", r.key)
				if err := w.Write(t.Context(), name.Digest, text); err != nil {
					return err
				}
				time.Sleep(time.Duration(rand.IntN(1500)) * time.Microsecond)
				named.Store(true)
				return w.Settle(t.Context())
			})
		}
		for range 2 {
			all.Go(func() error {
				for range 6 {
					o, _, err := r.bucket.look(t.Context(), name)
					if errors.Is(err, ErrAbsent) {
						time.Sleep(200 * time.Microsecond)
						continue
					}
					if err != nil {
						return err
					}
					if named.Load() {
						return nil
					}
					removed, err := r.bucket.remove(t.Context(), o)
					if err != nil {
						return err
					}
					if removed {
						removals.Add(1)
					}
				}
				return nil
			})
		}
		r.must(all.Wait())
		if got, err := r.bucket.Get(t.Context(), name, []schema.Key{r.key}); got != text || err != nil {
			t.Fatalf("round %d: %d bytes, %v", round, len(got), err)
		}
		o, _ := r.object(name)
		if removed, err := r.bucket.remove(t.Context(), o); !removed || err != nil || r.messages() != 0 {
			t.Fatalf("round %d: removed %v, %v, %d messages are left", round, removed, err, r.messages())
		}
	}
	if removals.Load() == 0 {
		t.Error("no sweep came between a text and its fact")
	}
}

// TestCluster: three servers keep a text, and two of them are enough to read, renew and remove it.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := embeddedtest.NewCluster(t, 3, nil)
	js := c.JetStream()
	r := &rig{T: t, js: js}
	_, err := streamio.Ensure(t.Context(), js, streamio.Layout{Replicas: 3})
	r.must(err)
	r.bucket, err = Open(t.Context(), js)
	r.must(err)
	r.key, err = schema.NewKey(crand.Reader, time.Now())
	r.must(err)
	name := Name{"acme", r.key.Digest([]byte(long))}
	w := NewWriter(r.bucket, "acme", r.key)
	r.must(w.Write(t.Context(), name.Digest, long))
	r.must(w.Settle(t.Context()))
	c.Nodes[2].Kill()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // a new leader may have to be chosen
		text, err := r.bucket.Get(t.Context(), name, []schema.Key{r.key})
		if text == long && err == nil {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
	}
	if there, err := r.bucket.renew(t.Context(), name); !there || err != nil {
		t.Errorf("renewed %v, %v", there, err)
	}
	o, _ := r.object(name)
	if removed, err := r.bucket.remove(t.Context(), o); !removed || err != nil || r.messages() != 0 {
		t.Errorf("removed %v, %v, %d messages are left", removed, err, r.messages())
	}
}
