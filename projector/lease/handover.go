package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A rebuild that is ready to swap asks the projector for its lease. The rebuild writes its name
// under the lease's key with RequestSuffix. The projector finishes its current batch, leaves
// the lease to that name, and waits for the lease again. A request counts once. The requester
// repeats it until it has the lease, because the holder may fail after it withdrew the request.
// A requester that does not take the lease loses it by expiry.
const RequestSuffix = ".request"

// HandOver ends the term of a holder after a request for its lease.
type HandOver struct{ Owner string }

func (h *HandOver) Error() string { return "the lease was handed over to " + h.Owner }

// HeedRequests returns a context that ends with a [HandOver] after a request for the lease.
// stop ends the watch.
func HeedRequests(ctx context.Context, kv jetstream.KeyValue, key string, log *slog.Logger) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for held.Err() == nil {
			owner, err := awaitRequest(held, kv, key)
			switch {
			case held.Err() != nil:
			case err != nil:
				log.Warn("the watch for requests of the lease failed and will be repeated, so a rebuild waits", "event", "requests_not_heard", "error", err)
				select {
				case <-held.Done():
				case <-time.After(listenAgain):
				}
			default:
				cancel(&HandOver{owner})
			}
		}
	}()
	return held, func() {
		cancel(nil)
		<-done
	}
}

// listenAgain is the pause after a failed watch of requests.
const listenAgain = time.Second

// awaitRequest waits for a request for the lease of key, withdraws the request, and returns the
// requester.
func awaitRequest(ctx context.Context, kv jetstream.KeyValue, key string) (owner string, err error) {
	watch, err := kv.Watch(ctx, key+RequestSuffix, jetstream.IgnoreDeletes())
	if err != nil {
		return "", err
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case request, ok := <-watch.Updates():
			switch {
			case !ok:
				return "", errors.New("the watch ended early")
			case request == nil: // the end of the existing entries
			case withdraw(ctx, kv, request):
				return string(request.Value()), nil
			}
		}
	}
}

// withdraw deletes a request. withdraw returns false if the server refuses: the request was
// withdrawn or repeated. If the reply is lost, the request may be deleted. withdraw then
// returns true, and the requester gets the lease.
func withdraw(ctx context.Context, kv jetstream.KeyValue, request jetstream.KeyValueEntry) bool {
	err := kv.Delete(ctx, request.Key(), jetstream.LastRevision(request.Revision()))
	var refused *jetstream.APIError
	return !errors.As(err, &refused) && !errors.Is(err, jetstream.ErrKeyExists)
}

// Leave releases the lease: to the requester if why is a [HandOver], otherwise to any process.
func (l *Lease) Leave(ctx context.Context, why error) error {
	var request *HandOver
	if errors.As(why, &request) {
		return l.leaveTo(ctx, request.Owner)
	}
	return l.Release(ctx)
}

// Request asks the holder for the lease, repeats the request after every expiry, and waits for
// the lease. The returned context ends when the lease is lost.
func (c Claim) Request(ctx context.Context) (*Lease, context.Context, error) {
	ask := func(ctx context.Context) error {
		_, err := c.KV.Put(ctx, c.Key+RequestSuffix, []byte(c.Owner))
		return err
	}
	if err := ask(ctx); err != nil {
		return nil, nil, fmt.Errorf("ask for the lease: %w", err)
	}
	asking, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		again := time.NewTicker(c.Timing.Expiry)
		defer again.Stop()
		for {
			select {
			case <-asking.Done():
				return
			case <-again.C:
			}
			if err := ask(asking); err != nil && asking.Err() == nil {
				c.Log.Warn("a step of the lease failed and will be repeated", "event", "retry", "step", "ask for the lease", "error", err)
			}
		}
	}()
	lease, held, err := c.Acquire(ctx)
	stop()
	<-stopped
	c.takeBack(context.WithoutCancel(ctx))
	return lease, held, err
}

// takeBack withdraws the own request, which remains if the lease was free.
func (c Claim) takeBack(ctx context.Context) {
	request, err := c.KV.Get(ctx, c.Key+RequestSuffix)
	if err == nil && string(request.Value()) == c.Owner {
		_ = c.KV.Delete(ctx, request.Key(), jetstream.LastRevision(request.Revision()))
	}
}
