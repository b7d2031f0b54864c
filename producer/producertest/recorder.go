package producertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/schema"
)

// Epoch is when the first fact of a client made by [New] happens; each one
// after it is a millisecond later.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Recorder keeps events in memory, in the order in which a stream would have
// them. The zero value is ready to use with [producer.NewClient]; [New] makes
// both. Safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex // guards what follows
	events Events
	err    error
}

var _ publish.Transport = (*Recorder)(nil)

// New returns a client and the recorder that keeps its events, and checks the
// recording when the test ends; see [Recorder.Check].
//
// The client has the default names, "test" for its instance and a clock that
// starts at [Epoch]; an option may change any of it, such as the guard. A config
// that the SDK refuses ends the test.
func New(t testing.TB, options ...func(*producer.Config)) (*producer.Client, *Recorder) {
	t.Helper()
	config := producer.Config{Instance: "test", Clock: ticking()}
	for _, option := range options {
		option(&config)
	}
	rec := new(Recorder)
	client, err := producer.NewClient(config, rec)
	if err != nil {
		t.Fatalf("producertest: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		rec.Check(t)
	})
	return client, rec
}

// ticking is a clock that goes on by a millisecond each time it is read.
func ticking() func() time.Time {
	var mu sync.Mutex
	next := Epoch
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now := next
		next = next.Add(time.Millisecond)
		return now
	}
}

// Send keeps the events of the messages, all or none. The error is
// schema.Violations for an event that the contract refuses, or what
// [Recorder.Fail] set.
func (r *Recorder) Send(_ context.Context, messages ...schema.Message) error {
	var events Events
	for _, m := range messages {
		e, err := read(m)
		if err != nil {
			return err
		}
		events = append(events, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.err, publish.ErrQueueFull) {
		return r.err
	}
	r.events = append(r.events, events...)
	return nil
}

// read decodes a message as its consumers do.
func read(m schema.Message) (Event, error) {
	e, err := schema.ParseMessage(m.Header, m.Data)
	if err != nil {
		return Event{}, fmt.Errorf("read the message: %w", err)
	}
	fact, violations := schema.Validate(e)
	if len(violations) > 0 {
		return Event{}, violations
	}
	if want := schema.SubjectOf(e).String(); m.Subject != want {
		return Event{}, fmt.Errorf("the message is for the subject %s, its event for %s", m.Subject, want)
	}
	return Event{Event: e, Fact: fact}, nil
}

// Store returns at once: nothing waits here. The error is what Fail set.
func (r *Recorder) Store(context.Context) (publish.Stored, error) {
	if err := r.Err(); err != nil {
		return "", err
	}
	return publish.InStream, nil
}

// Flush returns at once. The error is what Fail set.
func (r *Recorder) Flush(context.Context) error { return r.Err() }

// Err returns what Fail set.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Fail makes the recorder behave, from now on, as if the stream were away for
// the reason err; nil ends that. As with a real stream, facts are still taken
// and it is Seal, Missing and Flush that return err. With an error that wraps
// [publish.ErrQueueFull] facts are refused, too, and not kept.
func (r *Recorder) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Events returns what was recorded so far, in order. The events are shared: do
// not change them.
func (r *Recorder) Events() Events {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
