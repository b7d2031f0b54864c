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

// Epoch is the time of the first fact of a client made by [New]. Each later fact is a
// millisecond later.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Recorder keeps events in memory, in the order of a stream. The zero value is ready to use
// with [producer.NewClient]; [New] makes both. Safe for concurrent use.
type Recorder struct {
	mu     sync.Mutex // guards the fields below
	events Events
	err    error
}

var _ publish.Transport = (*Recorder)(nil)

// New returns a client and the recorder that keeps its events. The recording is checked
// when the test ends; see [Recorder.Check].
//
// The client has the default names, the instance "test" and a clock that starts at [Epoch].
// An option may change any of them, and other fields such as the guard. A config that the
// SDK refuses ends the test.
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

// ticking returns a clock that advances by a millisecond at each reading.
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

// Send keeps the events of the messages, all or none. The error is schema.Violations for an
// event that the contract refuses, or the error of [Recorder.Fail].
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
		return Event{}, fmt.Errorf("the subject of the message is %s, but its event has %s", m.Subject, want)
	}
	return Event{Event: e, Fact: fact}, nil
}

// Store returns immediately, because nothing waits here. The error is the error of Fail.
func (r *Recorder) Store(context.Context) (publish.Stored, error) {
	if err := r.Err(); err != nil {
		return "", err
	}
	return publish.InStream, nil
}

// Flush returns immediately. The error is the error of Fail.
func (r *Recorder) Flush(context.Context) error { return r.Err() }

// Err returns the error of Fail.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Fail makes the recorder act as if the stream were unavailable with the error err; nil
// ends this state. As with a real stream, facts are still accepted, and Seal, Missing and
// Flush return err. With an error that wraps [publish.ErrQueueFull], facts are refused and
// not kept.
func (r *Recorder) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// Events returns all recorded events, in order. The events are shared: do not change them.
func (r *Recorder) Events() Events {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}
