package capture

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/capture/observe"
	"github.com/ctxledger/ctxledger/schema"
)

// Errors of an exchange that cannot be read. They are counted and logged, never returned.
var (
	errEncoding = errors.New("the content encoding of a body cannot be undone")
	errTooLarge = fmt.Errorf("a body is larger than %d bytes", MaxBodyBytes)
)

// Recorder turns exchanges into facts in the background. Safe for concurrent use.
type Recorder struct {
	config      Config
	client      *producer.Client // masks facts
	source      string
	reader      observe.Reader
	credentials *credentials
	sessions    *sessions // for the worker only
	counts      counts
	last        atomic.Pointer[Window]
	backlog     backlog
	texts       beside // for the worker only

	conversations conversations
}

// counts are the numbers of exchanges and facts.
type counts struct {
	recorded, facts, dropped, unread, refused, untold atomic.Int64
}

// Counts are the numbers of a recorder since its start.
type Counts struct {
	Exchanges int64 // exchanges with facts
	Facts     int64 // facts that the transport took
	Dropped   int64 // exchanges that found no room in memory
	Unread    int64 // exchanges without a window that could be read
	Refused   int64 // facts that the contract or the guard refused
}

// Window is a window that was recorded, for a bar.
type Window struct {
	Session string
	Call    string
	Model   string
	Layers  []schema.LayerUsage
	Usage   schema.ProviderUsage
}

// Open returns a recorder. It sends the facts again that an earlier recorder of the folder may
// not have sent. The caller ends it with [Recorder.Close].
func Open(ctx context.Context, c Config) (*Recorder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.filled()
	r := &Recorder{
		config: c, source: "urn:ctxledger:capture:" + c.Instance,
		backlog:     backlog{most: c.MaxWaiting, changed: make(chan struct{})},
		credentials: &credentials{inner: c.Detector, held: make(map[string]int)},
	}
	masks := producer.Config{Tenant: c.Tenant, Instance: c.Instance, Guard: c.Guard, Detector: r.credentials, Key: c.Keys.Current()}
	var err error
	if r.client, err = producer.NewClient(masks, c.Transport); err != nil {
		return nil, fmt.Errorf("open the capture: %w", err)
	}
	content := schema.Key{}
	if len(c.Keys.Keys) > 0 {
		content = c.Keys.Keys[0] // as imports: a repeated text has one digest
	}
	r.texts = beside{to: c.Texts, client: r.client, log: c.Log}
	r.reader = observe.Reader{
		Equality: c.Keys.Equality(), Yield: runtime.Gosched,
		Count: func(model, text string) (int64, string) {
			n := c.Counter.Count(model, text)
			return int64(n.Tokens), n.Estimator
		},
	}
	if !content.IsZero() {
		r.reader.Content = func(text []byte) string { return content.Digest(text) }
	}
	if r.sessions, err = openSessions(c.Folder, r.source, c.Marks); err != nil {
		return nil, fmt.Errorf("open the capture: %w", err)
	}
	if err := r.resend(ctx); err != nil {
		return nil, fmt.Errorf("send the facts of an earlier capture: %w", err)
	}
	r.sessions.reload()
	go r.work()
	return r, nil
}

// take queues an ended tap. take never waits.
func (r *Recorder) take(t *Tap) {
	if !r.backlog.put(t) {
		r.drop()
	}
}

// drop counts a lost exchange. The next facts tell of it.
func (r *Recorder) drop() {
	r.counts.dropped.Add(1)
	r.counts.untold.Add(1)
}

// work records one exchange after another.
func (r *Recorder) work() {
	lower()
	for t := r.backlog.next(); t != nil; t = r.backlog.next() {
		err := r.recordSafely(t)
		if err != nil {
			r.config.Log.Warn("an exchange was not recorded", "dialect", string(t.exchange.Dialect), "reason", err.Error())
		}
		if t.done != nil {
			t.done(t.waits)
		}
		r.backlog.done()
	}
}

// recordSafely records an exchange. A panic is the error of this exchange alone.
func (r *Recorder) recordSafely(t *Tap) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.counts.unread.Add(1)
			err = errors.New("the exchange could not be read") // the cause may quote content
		}
	}()
	return r.record(t)
}

// Flush returns when every exchange that ended before the call is recorded, and its facts are
// stored.
func (r *Recorder) Flush(ctx context.Context) error {
	r.conversations.idle(ctx)
	if err := r.backlog.empty(ctx); err != nil {
		return err
	}
	_, err := r.config.Transport.Store(ctx)
	return err
}

// Close records what waits and ends the recorder, and with it the copies of conversations. It
// waits until ctx ends. Exchanges that end later are dropped.
func (r *Recorder) Close(ctx context.Context) error {
	r.conversations.close(ctx)
	err := r.Flush(ctx)
	r.backlog.close()
	return err
}

// Counts returns the numbers of the recorder.
func (r *Recorder) Counts() Counts {
	c := &r.counts
	return Counts{c.recorded.Load(), c.facts.Load(), c.dropped.Load(), c.unread.Load(), c.refused.Load()}
}

// Last returns the last window that was recorded, nil before the first.
func (r *Recorder) Last() *Window { return r.last.Load() }

// namespace of the ids of captured facts.
var namespace = uuid.NewSHA1(uuid.NameSpaceURL, []byte("urn:ctxledger:capture"))

// sendTimeout limits the wait for the outbox.
const sendTimeout = 30 * time.Second

// log of a fact that was refused. The reason may name content, so only its kind is logged.
func (r *Recorder) refuse(fact schema.Type, err error) {
	r.counts.refused.Add(1)
	kind := "refused by the contract"
	if errors.Is(err, producer.ErrWithheld) {
		kind = "an id holds a withheld value"
	}
	r.config.Log.Warn("a fact was not recorded", slog.String("fact", string(fact)), slog.String("reason", kind))
}
