// Package bustest runs a NATS server with the stream of events, for tests of the producer.
package bustest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
	"github.com/ctxledger/ctxledger/schema"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bus is a test's own NATS server with the stream.
type Bus struct {
	servers *embeddedtest.Servers
	NC      *nats.Conn
	JS      jetstream.JetStream
}

func Start(t testing.TB, options ...func(*jetstream.StreamConfig)) *Bus {
	t.Helper()
	b := &Bus{servers: embeddedtest.NATS(t)}
	b.connect(t)
	stream := jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 2 * time.Minute}
	for _, option := range options {
		option(&stream)
	}
	b.CreateStream(t, stream)
	return b
}

// CreateStream creates a stream. The server refuses the name of a deleted stream until it
// has removed its files. CreateStream waits for that.
func (b *Bus) CreateStream(t testing.TB, config jetstream.StreamConfig) {
	t.Helper()
	var err error
	for range 100 {
		if _, err = b.JS.CreateStream(t.Context(), config); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal(err)
}

func (b *Bus) connect(t testing.TB) {
	t.Helper()
	b.Dial(t, b.servers.NATSURL())
}

func (b *Bus) Dial(t testing.TB, natsURL string) {
	t.Helper()
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	b.NC = nc
	if b.JS, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
}

// Events reads the whole stream.
func (b *Bus) Events(t testing.TB) []*schema.Event {
	t.Helper()
	return b.EventsIn(t, "CTX")
}

func (b *Bus) EventsIn(t testing.TB, name string) []*schema.Event {
	t.Helper()
	stream := asked(t, func(ctx context.Context) (jetstream.Stream, error) { return b.JS.Stream(ctx, name) })
	var list []*schema.Event
	if stream.CachedInfo().State.Msgs == 0 {
		return nil
	}
	consumer := asked(t, func(ctx context.Context) (jetstream.Consumer, error) {
		return stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	})
	messages, err := consumer.Messages()
	if err != nil {
		t.Fatal(err)
	}
	defer messages.Stop()
	for n := stream.CachedInfo().State.Msgs; n > 0; n-- {
		m, err := messages.Next(jetstream.NextMaxWait(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		e, err := schema.ParseMessage(m.Headers(), m.Data())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// asked repeats a request while nobody answers: a cluster that lost a server elects its leaders first.
func asked[A any](t testing.TB, ask func(context.Context) (A, error)) A {
	t.Helper()
	for ctx := Within(t, time.Minute); ; {
		answer, err := ask(Within(t, 5*time.Second)) // a request that is lost has no answer
		if err == nil {
			return answer
		}
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrNoResponders) || ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (b *Bus) IDs(t testing.TB) []string {
	t.Helper()
	var ids []string
	for _, e := range b.Events(t) {
		ids = append(ids, e.ID)
	}
	return ids
}

// Within returns a context for a step that should take far less than d.
func Within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// Ended returns a context that has ended: every wait with it fails.
func Ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Removed returns a small valid event.
func Removed(t testing.TB, id string) *schema.Event {
	t.Helper()
	e, err := schema.NewEvent(&schema.ItemRemoved{ItemID: "i-" + id}, id, "urn:test", time.Unix(1, 0), schema.Correlation{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (b *Bus) Messages(t *testing.T) uint64 {
	t.Helper()
	stream, err := b.JS.Stream(t.Context(), "CTX")
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.Msgs
}

// Restartable returns a NATS server that can restart on the same port with its data.
func Restartable(t *testing.T) (b *Bus, stop, start func()) {
	t.Helper()
	dir := t.TempDir()
	config := embedded.DefaultConfig(dir)
	config.NoClickHouse = true
	run := func() *embeddedtest.Servers {
		s, err := embedded.Start(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		return embeddedtest.Own(s)
	}
	b = &Bus{servers: run()}
	t.Cleanup(func() { b.servers.Close() })
	u, err := url.Parse(b.servers.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(u.Host)
	fmt.Sscan(port, &config.NATSPort)
	b.connect(t)
	_, err = b.JS.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 2 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b, func() { b.servers.Close() }, func() { b.servers = run() }
}

// Cluster returns three NATS servers that each keep the stream, in processes that a test can kill.
// TestMain must call [embeddedtest.Main].
func Cluster(t *testing.T) (*Bus, []*embeddedtest.Node) {
	t.Helper()
	c := embeddedtest.NewCluster(t, 3, nil)
	b := &Bus{JS: c.JetStream()}
	b.CreateStream(t, jetstream.StreamConfig{
		Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 2 * time.Minute, Replicas: len(c.Nodes),
	})
	b.Dial(t, c.URL())
	return b, c.Nodes
}

// Leader waits for the leader of the stream.
func (b *Bus) Leader(t *testing.T, nodes []*embeddedtest.Node) *embeddedtest.Node {
	t.Helper()
	for ctx := Within(t, time.Minute); ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		stream, err := b.JS.Stream(ctx, "CTX")
		if err != nil {
			continue
		}
		for _, n := range nodes {
			if n.Name == stream.CachedInfo().Cluster.Leader {
				return n
			}
		}
	}
	t.Fatal("the stream has no leader")
	return nil
}

func Numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("e%05d", i)
	}
	return ids
}

func WantIDs(t *testing.T, b *Bus, want []string) {
	t.Helper()
	if got := b.IDs(t); !slices.Equal(got, want) {
		t.Fatalf("the stream holds %d events, want %d; first %v, last %v", len(got), len(want), got[:min(5, len(got))], got[max(0, len(got)-5):])
	}
}

func (b *Bus) Update(t testing.TB, config jetstream.StreamConfig) {
	t.Helper()
	if _, err := b.JS.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

// StartPartitions is startBus with the events in several streams.
func StartPartitions(t testing.TB, n schema.Partitions) *Bus {
	t.Helper()
	b := &Bus{servers: embeddedtest.NATS(t)}
	b.connect(t)
	for _, s := range n.EventStreams() {
		b.CreateStream(t, Partition(s))
	}
	return b
}

func Partition(s schema.Stream) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: s.Name, Subjects: s.Subjects, Metadata: s.Metadata, AllowAtomicPublish: true, Duplicates: 100 * time.Millisecond, Discard: jetstream.DiscardNew,
	}
}

// Forget waits until the streams have forgotten the current message ids.
func Forget() { time.Sleep(time.Second) }

func SessionNames(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("session-", i)
	}
	return list
}

// Forgetful configures a stream that forgets message ids immediately, so only a lookup
// shows its messages.
func Forgetful(c *jetstream.StreamConfig) { c.Duplicates = 100 * time.Millisecond }
