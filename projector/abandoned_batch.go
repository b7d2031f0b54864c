package projector

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/schema"
)

const (
	// NATS tells here of the batches that it gives up, followed by the name of the stream.
	abandonedSubject = "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED."
	batchHeader      = "Nats-Batch-Id"
	// sampleFor is how long the projector listens for publishers of batches after one was given up. It is
	// longer than NATS waits for the end of a batch.
	sampleFor = 30 * time.Second
	// mostOpen bounds the batches that are remembered. NATS allows 50 at a time for each stream.
	mostOpen = 1000
)

// openBatches knows who has begun batches, while NATS gives some up. NATS says which batch ended without a
// commit, and not whose it was. The projector therefore listens to all messages for a while, but only after a
// batch was given up: the first ones of an attack have no tenant.
type openBatches struct {
	tenants map[string]string // by batch
	heard   *nats.Subscription
	began   chan *nats.Msg
	end     <-chan time.Time
}

// watchBatches counts the batches of the stream that NATS gave up because nobody finished them, by tenant. Such
// batches take the room of others. After an error nothing is counted.
func (p *Projector) watchBatches(ctx context.Context) {
	nc := p.config.JetStream.Conn()
	ends := make(chan *nats.Msg, mostOpen)
	told, err := nc.ChanSubscribe(abandonedSubject+p.config.Stream, ends)
	if err != nil {
		return
	}
	defer func() { _ = told.Unsubscribe() }()
	open := openBatches{tenants: make(map[string]string), began: make(chan *nats.Msg, mostOpen)}
	defer open.forget()
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-ends:
			var advisory struct {
				Batch  string `json:"batch"`
				Reason string `json:"reason"`
			}
			if json.Unmarshal(msg.Data, &advisory) != nil || advisory.Reason != "timeout" {
				continue // the publisher was told
			}
			tenant := open.tenants[advisory.Batch]
			p.meter().BatchAbandoned(tenant)
			if open.listen(nc) {
				p.config.Log.Warn("NATS gave up a batch that nobody finished: open batches take the room of others", "event", "batch_abandoned", "tenant", tenant)
			}
		case msg := <-open.began:
			if batch := msg.Header.Get(batchHeader); batch != "" && len(open.tenants) < mostOpen {
				open.tenants[batch] = schema.SubjectTenant(msg.Subject)
			}
		case <-open.end:
			open.forget()
		}
	}
}

// listen hears the publishers for a while from now on, and reports whether it did not before.
func (o *openBatches) listen(nc *nats.Conn) (begins bool) {
	o.end = time.After(sampleFor)
	if o.heard != nil {
		return false
	}
	if heard, err := nc.ChanSubscribe(schema.AllSubjects, o.began); err == nil {
		o.heard = heard
	}
	return true
}

func (o *openBatches) forget() {
	if o.heard != nil {
		_ = o.heard.Unsubscribe()
	}
	o.heard, o.end = nil, nil
	clear(o.tenants)
}
