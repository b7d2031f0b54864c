package projector

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// publisher publishes like a careful producer: it repeats a message under the same id until the
// stream has acknowledged it. The fixture must not publish or flush before the publisher is
// stopped.
type publisher struct {
	r       *rig
	js      jetstream.JetStream
	done    sync.WaitGroup
	end     chan struct{}
	retries int           // set after the stop
	stored  atomic.Uint64 // acknowledged messages
	failing atomic.Uint64 // attempts since the last acknowledgement
}

// publishing publishes through the link until stop is called, and continues after errors.
func (r *rig) publishing(first int) *publisher {
	r.t.Helper()
	nc, err := nats.Connect(r.through.nats, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.IgnoreDiscoveredServers(),
		nats.PingInterval(time.Second), nats.Timeout(2*time.Second))
	r.must(err)
	r.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	r.must(err)
	p := &publisher{r: r, js: js, end: make(chan struct{})}
	p.done.Go(func() {
		for id := first; ; id++ {
			select {
			case <-p.end:
				return
			case <-time.After(2 * time.Millisecond):
			}
			m := projectortest.Event(id, 0).Binary()
			if id%15 == 13 {
				m.Data = m.Data[:len(m.Data)-1]
			}
			p.publish(m, id)
		}
	})
	return p
}

func (p *publisher) publish(m schema.Message, id int) {
	msgID := "publisher-" + m.Header["ce-id"][0]
	for {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.r.t.Context()), time.Second)
		ack, err := p.js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}, jetstream.WithMsgID(msgID))
		cancel()
		if err == nil {
			p.r.acknowledged[ack.Sequence] = msgID
			p.stored.Add(1)
			p.failing.Store(0)
			return
		}
		p.retries++
		p.failing.Add(1)
		select {
		case <-p.end:
			return // no publisher received an acknowledgement
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// stop ends the publisher. Afterwards the fixture may publish again.
func (p *publisher) stop() {
	close(p.end)
	p.done.Wait()
}
