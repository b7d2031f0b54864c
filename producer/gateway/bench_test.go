package gateway

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ctxledger/ctxledger/producer"
	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

// at500 calls do n times, at 500 calls a second, and returns the times in sorted order. The time
// of a call begins when it is due.
func at500(n int, do func(i int)) []time.Duration {
	took := make([]time.Duration, n)
	var calls sync.WaitGroup
	begin := time.Now()
	for i := range took {
		due := begin.Add(time.Duration(i) * time.Second / 500)
		time.Sleep(time.Until(due))
		calls.Go(func() {
			do(i)
			took[i] = time.Since(due)
		})
	}
	calls.Wait()
	slices.Sort(took)
	return took
}

// BenchmarkOneEvent stores one event a request, 500 requests a second, and publishes the same
// events to JetStream without the gateway in turns. It reports both p99 and the median of their
// ratios.
func BenchmarkOneEvent(b *testing.B) {
	r := newRig(b, bustest.Start(b), nil)
	client := r.server.Client()
	client.Transport.(*http.Transport).MaxIdleConnsPerHost = 100
	const n = 1000
	round := 0
	var gateway, bare, ratio []float64
	for b.Loop() {
		round++
		list := removed(b, "s", fmt.Sprint("one-", round), n)
		documents := make([][]byte, n)
		for i, e := range list {
			documents[i] = document(b, e)
		}
		over := at500(n, func(i int) {
			response, err := client.Post(r.server.URL+Path, structuredType, bytes.NewReader(documents[i]))
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				b.Errorf("the status is %d", response.StatusCode)
			}
		})
		messages := make([]*nats.Msg, n)
		for i, e := range removed(b, "s", fmt.Sprint("bare-", round), n) {
			m := e.Binary()
			messages[i] = &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data}
		}
		without := at500(n, func(i int) {
			if _, err := r.JS.PublishMsg(context.Background(), messages[i]); err != nil {
				b.Error(err)
			}
		})
		p99 := func(took []time.Duration) float64 { return float64(took[n*99/100]) / float64(time.Millisecond) }
		gateway, bare, ratio = append(gateway, p99(over)), append(bare, p99(without)), append(ratio, p99(over)/p99(without))
	}
	b.ReportMetric(median(gateway), "ms-p99")
	b.ReportMetric(median(bare), "ms-p99-bare")
	b.ReportMetric(median(ratio), "x-bare")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkBatches stores batches of 500 events, and records the same facts with the Go SDK in
// turns. It reports both rates and the median of their ratios.
func BenchmarkBatches(b *testing.B) {
	r := newRig(b, bustest.Start(b), nil)
	const batches, size = 20, 500
	round := 0
	var gateway, sdk, ratio []float64
	for b.Loop() {
		round++
		bodies := make([][]byte, batches)
		for i := range bodies {
			bodies[i] = batchOfDocuments(b, removed(b, fmt.Sprint("s", i), fmt.Sprintf("batch-%d-%d", round, i), size)...)
		}
		began := time.Now()
		var posts sync.WaitGroup
		for client := range 2 {
			posts.Go(func() {
				for i := client; i < batches; i += 2 {
					response, err := r.server.Client().Post(r.server.URL+Path, batchType, bytes.NewReader(bodies[i]))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if response.StatusCode != http.StatusOK {
						b.Errorf("the status is %d", response.StatusCode)
					}
				}
			})
		}
		posts.Wait()
		over := batches * size / time.Since(began).Seconds()

		c := producer.DefaultConfig(r.NC)
		c.MaxQueued = batches * size
		client, err := producer.Connect(b.Context(), c)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		for i := range batches * size {
			ids := schema.Correlation{SessionID: fmt.Sprint("s", i/size)}
			if _, err := client.Record(b.Context(), &schema.ItemRemoved{ItemID: fmt.Sprint("item-", i)}, ids); err != nil {
				b.Fatal(err)
			}
		}
		if err := client.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		direct := batches * size / time.Since(began).Seconds()
		gateway, sdk, ratio = append(gateway, over), append(sdk, direct), append(ratio, over/direct)
	}
	b.ReportMetric(median(gateway), "events/s")
	b.ReportMetric(median(sdk), "events/s-sdk")
	b.ReportMetric(median(ratio), "x-sdk")
}

// TestIdleConnections: 1,000 connections that have sent one event and wait take less than 100 MB,
// those of the clients included.
func TestIdleConnections(t *testing.T) {
	r := newRig(t, bustest.Start(t), nil)
	address := strings.TrimPrefix(r.server.URL, "http://")
	body := document(t, removed(t, "s", "idle", 1)[0])
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", Path, address, structuredType, len(body))
	before := inUse()
	for range 1000 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(append([]byte(head), body...)); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", response, err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
	took := inUse() - before
	t.Logf("1,000 idle connections take %.1f MB", float64(took)/1e6)
	if took > 100_000_000 {
		t.Errorf("1,000 idle connections take %d bytes", took)
	}
}

// inUse returns the memory of the heap and of the stacks after a collection, in bytes.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
