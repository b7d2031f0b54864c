package projector

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// simBucket is a key-value bucket. The world's lock guards it.
type simBucket struct {
	entries  map[string]simEntry
	last     uint64 // the last revision
	watchers []*simWatcher
	unsafe   bool // accepts every change with any revision; a planted fault
}

func newSimBucket() *simBucket { return &simBucket{entries: make(map[string]simEntry)} }

// put changes an entry with this revision, 0 for a missing one, and notifies its watchers.
func (b *simBucket) put(key string, value []byte, revision uint64) (uint64, error) {
	if b.entries[key].revision != revision && !b.unsafe {
		return 0, jetstream.ErrKeyExists
	}
	b.last++
	e := simEntry{key: key, value: slices.Clone(value), revision: b.last}
	b.entries[key] = e
	for _, w := range b.watchers {
		w.tell(e)
	}
	return b.last, nil
}

func (b *simBucket) delete(key string, revision uint64) error {
	if revision > 0 && b.entries[key].revision != revision {
		return jetstream.ErrKeyExists
	}
	delete(b.entries, key)
	return nil
}

type simEntry struct {
	jetstream.KeyValueEntry
	key      string
	value    []byte
	revision uint64
}

func (e simEntry) Key() string      { return e.key }
func (e simEntry) Value() []byte    { return e.value }
func (e simEntry) Revision() uint64 { return e.revision }

// simWatcher receives every change of one key, without deletions.
type simWatcher struct {
	key     string
	updates chan jetstream.KeyValueEntry
	stop    func()
}

func (w *simWatcher) tell(e simEntry) {
	if e.key == w.key {
		select {
		case w.updates <- e:
		default: // the watcher has no reader any more
		}
	}
}

func (w *simWatcher) Updates() <-chan jetstream.KeyValueEntry { return w.updates }

func (w *simWatcher) Stop() error {
	w.stop()
	return nil
}

// simKeyValue is a process's client of the bucket.
type simKeyValue struct {
	jetstream.KeyValue
	*process
}

func (k simKeyValue) ask(ctx context.Context, kind string, do func(*simBucket) error) error {
	return k.call(ctx, "nats", kind, func(*rand.Rand) error { return do(k.w.bucket) })
}

func (k simKeyValue) Get(ctx context.Context, key string) (entry jetstream.KeyValueEntry, err error) {
	err = k.ask(ctx, "get", func(b *simBucket) error {
		e, ok := b.entries[key]
		if !ok {
			return jetstream.ErrKeyNotFound
		}
		entry = e
		return nil
	})
	return entry, err
}

func (k simKeyValue) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return k.Update(ctx, key, value, 0)
}

func (k simKeyValue) Update(ctx context.Context, key string, value []byte, revision uint64) (now uint64, err error) {
	err = k.ask(ctx, "update", func(b *simBucket) (err error) {
		now, err = b.put(key, value, revision)
		return err
	})
	return now, err
}

func (k simKeyValue) Put(ctx context.Context, key string, value []byte) (now uint64, err error) {
	err = k.ask(ctx, "put", func(b *simBucket) (err error) {
		now, err = b.put(key, value, b.entries[key].revision)
		return err
	})
	return now, err
}

func (k simKeyValue) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	return k.ask(ctx, "delete", func(b *simBucket) error { return b.delete(key, lastRevision(opts)) })
}

// lastRevision reads the revision from options, which only the client can read.
func lastRevision(opts []jetstream.KVDeleteOpt) uint64 {
	for _, opt := range opts {
		set := reflect.ValueOf(opt)
		to := reflect.New(set.Type().In(0).Elem())
		set.Call([]reflect.Value{to})
		if revision := to.Elem().FieldByName("revision").Uint(); revision > 0 {
			return revision
		}
	}
	return 0
}

func (k simKeyValue) Watch(ctx context.Context, key string, _ ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	w := &simWatcher{key: key, updates: make(chan jetstream.KeyValueEntry, 64)}
	w.stop = func() {
		k.w.mu.Lock()
		defer k.w.mu.Unlock()
		b := k.w.bucket
		b.watchers = slices.DeleteFunc(b.watchers, func(other *simWatcher) bool { return other == w })
	}
	return w, k.ask(ctx, "watch", func(b *simBucket) error {
		if e, ok := b.entries[key]; ok {
			w.tell(e)
		}
		w.updates <- nil // the end of the existing entries
		b.watchers = append(b.watchers, w)
		return nil
	})
}
