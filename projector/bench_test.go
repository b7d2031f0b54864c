package projector

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/projector/internal/projectortest"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkDrain projects a preloaded stream of log items, selections and item
// versions of about 1 KB each, with and without redactions in force. b.N is the number of events:
//
//	go test ./projector -run - -bench Drain -benchtime 50000x -count 5
func BenchmarkDrain(b *testing.B) {
	for _, redactions := range []int{0, 1000} {
		b.Run(fmt.Sprint("redactions=", redactions), func(b *testing.B) { drain(b, redactions) })
	}
}

func drain(b *testing.B, redactions int) {
	f := newFixture(b)
	run := func() Status {
		c := DefaultConfig(f.js, f.ledger)
		c.UntilCaughtUp, c.Keys = true, projectortest.Keys(b)
		p, err := New(c)
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Run(b.Context()); err != nil {
			b.Fatal(err)
		}
		return p.Status()
	}
	for i := range redactions {
		f.publish(projectortest.Redaction(b, i, fmt.Sprintf("a secret value, number %d", i)).Binary())
	}
	f.flush()
	if got := run(); got.Events != uint64(redactions) {
		b.Fatalf("projected %+v of %d redactions", got, redactions)
	}
	mix := []schema.Message{}
	for _, typ := range []schema.Type{"context.log.appended", "context.selection.completed", "context.item.added"} {
		e, err := schema.ParseStructured(schema.Golden(typ))
		if err != nil {
			b.Fatal(err)
		}
		if pad := 1000 - len(e.Data); pad > 0 && bytes.HasSuffix(e.Data, []byte("}")) {
			e.Data = append(e.Data[:len(e.Data)-1:len(e.Data)-1], `,"padding":"`+strings.Repeat("x", pad)+`"}`...)
		}
		e.Tenant = "acme" // of the redactions
		mix = append(mix, e.Binary())
	}
	for i := range b.N {
		m := mix[i%len(mix)]
		header := nats.Header{}
		for name, values := range m.Header {
			header[name] = values
		}
		id := []string{"event-" + time.Duration(i).String()}
		header["ce-id"], header[schema.MsgIDHeader] = id, id
		if _, err := f.js.PublishMsgAsync(&nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}); err != nil {
			b.Fatal(err)
		}
	}
	<-f.js.PublishAsyncComplete()
	b.ResetTimer()
	start := time.Now()
	s := run()
	took := time.Since(start)
	b.StopTimer()
	if s.Events != uint64(b.N) {
		b.Fatalf("projected %+v of %d", s, b.N)
	}
	b.ReportMetric(float64(b.N)/took.Seconds(), "events/s")
}
