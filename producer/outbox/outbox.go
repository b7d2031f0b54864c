package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/ctxledger/ctxledger/schema"
)

// Options configure an outbox. Start from DefaultOptions.
type Options struct {
	// MaxBytes is the largest size of the waiting batches, in encoded bytes, about 1 KB a
	// fact. 0 means 256 MiB.
	MaxBytes int64
	// NoSync lets the operating system decide when the file reaches the disk. The file
	// survives a kill -9, but perhaps not a power failure: see the package comment.
	// Defaults to false: each batch is on the disk before it counts as stored.
	NoSync bool
}

const defaultMaxBytes = 256 << 20

// DefaultOptions keeps 256 MiB and survives a power failure.
func DefaultOptions() Options { return Options{MaxBytes: defaultMaxBytes} }

// lockTimeout is the longest wait of Open for another process to release the file, for
// example an ending process.
const lockTimeout = time.Second

// Outbox is an open outbox. Safe for concurrent use.
type Outbox struct {
	db       *bolt.DB
	file     *os.File // the file of db
	most     int64
	instance string

	mu     sync.Mutex // guards the fields below, and allows one transaction at a time
	broken error      // reason why the file is unusable, or nil
	stuck  bool       // bbolt may hold a lock forever
	last   uint64     // number of the newest batch, 0 if none waits
	acked  uint64
	facts  int
	bytes  int64
}

var (
	stateBucket, marksBucket, batchesBucket = []byte("state"), []byte("marks"), []byte("batches")
	formatKey, instanceKey, ackedKey        = []byte("format"), []byte("instance"), []byte("acked")
)

// format is the layout's version.
const format = 1

// Open opens the outbox in the file path, or makes a new one with a new instance. The
// folder must exist. Open reads all waiting batches, so its time grows with their size.
//
// Errors are [ErrInUse], [ErrDamaged], [ErrDiskFull] and the file system's.
func Open(path string, options Options) (*Outbox, error) {
	if options.MaxBytes < 0 {
		return nil, errors.New("outbox: MaxBytes must not be negative")
	}
	if options.MaxBytes == 0 {
		options.MaxBytes = defaultMaxBytes
	}
	o, err := open(path, options)
	if err != nil {
		return nil, fmt.Errorf("open the outbox %s: %w", path, explain(err))
	}
	return o, nil
}

func open(path string, options Options) (*Outbox, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return create(path, options)
	case err != nil:
		return nil, err
	case info.Size() == 0: // bbolt would make a new database
		return nil, damaged("the file is empty")
	}
	if err := inspect(path); err != nil {
		return nil, err
	}
	o, err := openFile(path, options)
	if err != nil {
		return nil, err
	}
	if err := o.guarded(func() error { return o.db.View(o.load) }); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// create first makes a complete outbox under another name. An empty or short file under
// path is therefore known to be damaged.
func create(path string, options Options) (*Outbox, error) {
	o, err := openFile(path+".new", options)
	if err != nil {
		return nil, err
	}
	if err = o.guarded(func() error { return o.db.Update(o.begin) }); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err == nil && !options.NoSync {
		err = syncFolder(filepath.Dir(path))
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// inspect checks the pages of the file before bbolt uses them.
func inspect(path string) error {
	var file *os.File
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout, OpenFile: remember(&file)})
	var system *os.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout), errors.As(err, &system):
		return err
	case err != nil:
		return damaged("%v", err)
	}
	defer db.Close()
	tx, err := db.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var trees [2]tree
	page := make([]byte, db.Info().PageSize)
	for i := range trees {
		if _, err = file.ReadAt(page, int64(i*len(page))); err == nil {
			trees[i], err = parseTree(page)
		}
		if err != nil {
			return damaged("%v", err)
		}
	}
	if err := trees[tx.ID()%2].check(file, info.Size()); err != nil { // the other page belongs to the previous transaction
		return damaged("%v", err)
	}
	return nil
}

func openFile(path string, options Options) (*Outbox, error) {
	o := &Outbox{most: options.MaxBytes}
	var err error
	o.db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout: lockTimeout, NoSync: options.NoSync, NoGrowSync: false, FreelistType: bolt.FreelistMapType, OpenFile: remember(&o.file),
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// remember opens files and keeps the last one.
func remember(file **os.File) func(string, int, os.FileMode) (*os.File, error) {
	return func(path string, flag int, mode os.FileMode) (*os.File, error) {
		opened, err := os.OpenFile(path, flag, mode)
		*file = opened
		return opened, err
	}
}

// guarded runs a transaction. The file is mapped into memory. If a page is unreadable or
// unexpected, bbolt panics or the memory faults. After that, the outbox is permanently
// broken. An error with an unknown effect on the file also breaks the outbox permanently.
func (o *Outbox) guarded(transaction func() error) (err error) {
	if o.broken != nil {
		return o.broken
	}
	defer func() {
		if cause := recover(); cause != nil {
			err, o.stuck = damaged("%v", cause), true
		}
		if err = explain(err); err != nil && !errors.Is(err, ErrFull) && !errors.Is(err, ErrDiskFull) {
			o.broken = err
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return transaction()
}

// begin writes the content of a new outbox. An outbox that already has an instance keeps
// it.
func (o *Outbox) begin(tx *bolt.Tx) error {
	for _, name := range [][]byte{stateBucket, marksBucket, batchesBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	state := tx.Bucket(stateBucket)
	if state.Get(instanceKey) == nil {
		if err := state.Put(instanceKey, sealText(instanceKey, uuid.NewString())); err != nil {
			return err
		}
	}
	if err := state.Put(formatKey, sealNumber(formatKey, format)); err != nil {
		return err
	}
	return o.load(tx)
}

// load reads and checks the whole file.
func (o *Outbox) load(tx *bolt.Tx) error {
	state, marks, batches := tx.Bucket(stateBucket), tx.Bucket(marksBucket), tx.Bucket(batchesBucket)
	if state == nil || marks == nil || batches == nil {
		return damaged("a bucket is missing")
	}
	version, ok := unsealNumber(formatKey, state.Get(formatKey))
	switch {
	case !ok:
		return damaged("the format")
	case version != format:
		return fmt.Errorf("the file has format %d, but this program reads format %d: use a program of the file's version", version, format)
	}
	instance, ok := unseal(instanceKey, state.Get(instanceKey))
	if !ok {
		return damaged("the instance")
	}
	o.instance = string(instance)
	if acked := state.Get(ackedKey); acked != nil {
		if o.acked, ok = unsealNumber(ackedKey, acked); !ok {
			return damaged("the last acknowledgement")
		}
	}
	if err := readMarks(marks, func(string, int64) {}); err != nil {
		return err
	}
	err := batches.ForEach(func(key, value []byte) error {
		payload, ok := unseal(key, value)
		if !ok || len(key) != 8 {
			return damaged("a batch")
		}
		number := keyNumber(key)
		if o.last > 0 && number != o.last+1 {
			return damaged("batch %d is missing", o.last+1)
		}
		o.last = number
		o.facts += countFacts(payload)
		o.bytes += int64(len(value))
		return nil
	})
	if err == nil && o.last > 0 && o.last != batches.Sequence() {
		err = damaged("batch %d is missing", o.last+1)
	}
	return err
}

func readMarks(marks *bolt.Bucket, each func(name string, value int64)) error {
	return marks.ForEach(func(key, value []byte) error {
		n, ok := unsealNumber(key, value)
		if !ok {
			return damaged("a mark")
		}
		each(string(key), int64(n))
		return nil
	})
}

// Instance returns the producer that the outbox belongs to. The instance never changes
// during the life of the file.
func (o *Outbox) Instance() string { return o.instance }

// Marks returns the highest value that was appended under each name.
func (o *Outbox) Marks() (map[string]int64, error) {
	all := make(map[string]int64)
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.guarded(func() error {
		return o.db.View(func(tx *bolt.Tx) error {
			return readMarks(tx.Bucket(marksBucket), func(name string, value int64) { all[name] = value })
		})
	})
	return all, err
}

// Append adds a batch at the end and raises the marks, both or neither, and returns its
// number. The Options decide the durability on return. The messages are not kept. The
// errors are [ErrFull], [ErrDiskFull], [ErrDamaged] and [ErrClosed]. With an error nothing
// was appended.
func (o *Outbox) Append(messages []schema.Message, marks map[string]int64) (number uint64, err error) {
	record := encodeBatch(make([]byte, sumBytes, recordBytes(messages)), messages)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.facts > 0 && o.bytes+int64(len(record)) > o.most {
		return 0, fmt.Errorf("%w: %d facts wait in %d bytes", ErrFull, o.facts, o.bytes)
	}
	err = o.guarded(func() error {
		return o.db.Update(func(tx *bolt.Tx) error {
			batches := tx.Bucket(batchesBucket)
			if number, err = batches.NextSequence(); err != nil {
				return err
			}
			key := numberKey(number)
			if err := batches.Put(key, seal(key, record)); err != nil {
				return err
			}
			return raise(tx.Bucket(marksBucket), marks)
		})
	})
	if err != nil {
		return 0, err
	}
	o.last = number
	o.facts += len(messages)
	o.bytes += int64(len(record))
	return number, nil
}

// recordBytes returns the approximate size of the record of messages.
func recordBytes(messages []schema.Message) int {
	const perMessage, perField = 16, 64
	size := 0
	for _, m := range messages {
		size += perMessage + len(m.Subject) + perField*len(m.Header) + len(m.Data)
	}
	return size
}

func raise(bucket *bolt.Bucket, marks map[string]int64) error {
	for name, value := range marks {
		key := []byte(name)
		if held, ok := unsealNumber(key, bucket.Get(key)); ok && int64(held) >= value {
			continue
		}
		if err := bucket.Put(key, sealNumber(key, uint64(value))); err != nil {
			return err
		}
	}
	return nil
}

// Head returns the oldest batch and its number, or 0 if none waits.
func (o *Outbox) Head() (number uint64, messages []schema.Message, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err = o.guarded(func() error {
		return o.db.View(func(tx *bolt.Tx) error {
			key, value := tx.Bucket(batchesBucket).Cursor().First()
			if key == nil {
				return nil
			}
			payload, ok := unseal(key, value)
			if ok && len(key) == 8 {
				messages, ok = decodeBatch(payload)
				number = keyNumber(key)
			}
			if !ok {
				return damaged("a batch")
			}
			return nil
		})
	})
	return number, messages, err
}

// Drop removes the oldest batch, which is in the stream, and records the last acknowledged
// stream sequence. A number other than the oldest batch's, such as 0, removes nothing.
func (o *Outbox) Drop(number, acked uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var size int64
	var facts int
	err := o.guarded(func() error {
		return o.db.Update(func(tx *bolt.Tx) error {
			oldest := tx.Bucket(batchesBucket).Cursor()
			if key, value := oldest.First(); key != nil && keyNumber(key) == number {
				size, facts = int64(len(value)), countFacts(value[sumBytes:])
				if err := oldest.Delete(); err != nil {
					return err
				}
			}
			return tx.Bucket(stateBucket).Put(ackedKey, sealNumber(ackedKey, acked))
		})
	})
	if err != nil {
		return err
	}
	o.acked = acked
	o.bytes -= size
	if o.facts -= facts; o.facts == 0 {
		o.last = 0
	}
	return nil
}

// Held returns the number of the newest waiting batch, or 0, and the number of waiting
// facts.
func (o *Outbox) Held() (last uint64, facts int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last, o.facts
}

// Acked returns the last stream sequence that Drop recorded, or 0.
func (o *Outbox) Acked() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.acked
}

// Close releases the file. Its batches are sent when it is opened again. A client that
// still uses the outbox gets [ErrClosed].
func (o *Outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(o.broken, ErrClosed) {
		return nil
	}
	o.broken = ErrClosed
	if o.stuck {
		return o.file.Close() // the file stays locked until the process ends
	}
	return o.db.Close()
}
