package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A rebuild that is ready to swap asks the projector for its lease: it writes its
// name under the lease's key with requestSuffix. The projector finishes what it
// has in hand, leaves the lease to that name, and waits for it like any other. A
// request counts once, and who asks repeats it for as long as it has no lease: the
// holder may have ended, or failed to leave, after it had withdrawn the request.
// Whoever asked and does not come loses the lease by expiry.
const RequestSuffix = ".request"

// HandOver ends the time of a holder whose lease another has asked for.
type HandOver struct{ Owner string }

func (h *HandOver) Error() string { return "the lease was handed over to " + h.Owner }

// HeedRequests returns a context that ends with a handOver once somebody asks for
// the lease. stop ends the watch.
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
				log.Warn("requests for the lease are not heard for the moment", "event", "requests_not_heard", "error", err)
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

// listenAgain is how long a holder is deaf after a watch of requests has failed.
const listenAgain = time.Second

// awaitRequest returns who asks for the lease of key, and withdraws the request.
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
			case request == nil: // the end of what was there already
			case withdraw(ctx, kv, request):
				return string(request.Value()), nil
			}
		}
	}
}

// withdraw deletes a request, and reports false where the server refuses: then it
// was withdrawn, or is newer by now. Where the reply is lost the request may be gone,
// and who asked is to have the lease all the same.
func withdraw(ctx context.Context, kv jetstream.KeyValue, request jetstream.KeyValueEntry) bool {
	err := kv.Delete(ctx, request.Key(), jetstream.LastRevision(request.Revision()))
	var refused *jetstream.APIError
	return !errors.As(err, &refused) && !errors.Is(err, jetstream.ErrKeyExists)
}

// Leave gives the lease up: to the one that asked for it if that is why, and else
// to anyone.
func (l *Lease) Leave(ctx context.Context, why error) error {
	var request *HandOver
	if errors.As(why, &request) {
		return l.leaveTo(ctx, request.Owner)
	}
	return l.Release(ctx)
}

// Request asks whoever holds the lease for it, again in every expiry, and waits until
// it has it. The returned context ends when it is lost.
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
				c.Log.Warn("will try again", "event", "retry", "step", "ask for the lease", "error", err)
			}
		}
	}()
	c.Failed = func(step string, err error) {
		c.Log.Warn("will try again", "event", "retry", "step", step, "error", err)
	}
	lease, held, err := c.Acquire(ctx)
	stop()
	<-stopped
	c.takeBack(context.WithoutCancel(ctx))
	return lease, held, err
}

// takeBack withdraws the request: nobody may have held the lease, and heard.
func (c Claim) takeBack(ctx context.Context) {
	request, err := c.KV.Get(ctx, c.Key+RequestSuffix)
	if err == nil && string(request.Value()) == c.Owner {
		_ = c.KV.Delete(ctx, request.Key(), jetstream.LastRevision(request.Revision()))
	}
}
