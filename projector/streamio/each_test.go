package streamio

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/schema"
)

// deafConsumer is a consumer that nobody serves for its first requests.
type deafConsumer struct {
	jetstream.Consumer
	unanswered int
}

type noResponders struct{ jetstream.MessageBatch }

func (noResponders) Messages() <-chan jetstream.Msg {
	none := make(chan jetstream.Msg)
	close(none)
	return none
}

func (noResponders) Error() error { return nats.ErrNoResponders }

func (c *deafConsumer) Fetch(most int, opts ...jetstream.FetchOpt) (jetstream.MessageBatch, error) {
	if c.unanswered > 0 {
		c.unanswered--
		return noResponders{}, nil
	}
	return c.Consumer.Fetch(most, opts...)
}

// deafStream is a stream whose new consumers are at first unknown to the client's server.
type deafStream struct {
	jetstream.Stream
	unanswered int
}

func (s deafStream) CreateConsumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	consumer, err := s.Stream.CreateConsumer(ctx, c)
	return &deafConsumer{consumer, s.unanswered}, err
}

// TestEach: Each visits what is selected, in order, also where nobody answers its first requests.
func TestEach(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.QuarantineStream)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 1200 {
		all = append(all, fmt.Sprint(i))
		if _, err := js.Publish(t.Context(), fmt.Sprintf("ctx.quarantine.%d", i%2), []byte(all[i])); err != nil {
			t.Fatal(err)
		}
	}
	var odd []string
	for i := 1; i < len(all); i += 2 {
		odd = append(odd, all[i])
	}
	errStop := errors.New("stop")
	for _, c := range []struct {
		name     string
		s        Selection
		deaf     int
		stopAt   int
		want     []string
		wantFail error
	}{
		{name: "all", s: Selection{}, want: all},
		{name: "a subject", s: Selection{Subject: "ctx.quarantine.1"}, want: odd},
		{name: "after a sequence", s: Selection{After: 1150}, want: all[1150:]},
		{name: "after the last", s: Selection{After: 1200}},
		{name: "a later time", s: Selection{Since: time.Now().Add(time.Hour)}},
		{name: "headers", s: Selection{HeadersOnly: true}, want: make([]string, len(all))},
		{name: "nobody answers at first", s: Selection{}, deaf: 3, want: all},
		{name: "stopped", s: Selection{}, stopAt: 7, want: all[:7], wantFail: errStop},
		{name: "headers, stopped", s: Selection{HeadersOnly: true}, stopAt: 7, want: make([]string, 7), wantFail: errStop},
	} {
		var got []string
		err := Each(t.Context(), deafStream{stream, c.deaf}, c.s, func(m jetstream.Msg, _ *jetstream.MsgMetadata) error {
			if got = append(got, string(m.Data())); len(got) == c.stopAt {
				return errStop
			}
			return nil
		})
		if !errors.Is(err, c.wantFail) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %d messages, want %d", c.name, err, len(got), len(c.want))
		}
	}
	// Messages that are deleted while they are read are left out.
	got := 0
	err = Each(t.Context(), stream, Selection{After: 1000}, func(jetstream.Msg, *jetstream.MsgMetadata) error {
		if got++; got == 1 {
			return stream.Purge(t.Context(), jetstream.WithPurgeKeep(0))
		}
		return nil
	})
	if err != nil || got < 1 || got > wholeAtOnce {
		t.Errorf("of deleted messages %d were read, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := js.Publish(t.Context(), "ctx.quarantine.1", nil); err != nil {
		t.Fatal(err)
	}
	if err := Each(ctx, deafStream{stream, 1000}, Selection{}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("nobody ever answers:", err)
	}
}

// laggingStream is a replicated stream. The replica of a new consumer has nothing at first.
type laggingStream struct {
	jetstream.Stream
	empty int // answers of a consumer without messages
}

func (s laggingStream) CachedInfo() *jetstream.StreamInfo {
	info := *s.Stream.CachedInfo()
	info.Config.Replicas = 3
	return &info
}

func (s laggingStream) CreateConsumer(ctx context.Context, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	consumer, err := s.Stream.CreateConsumer(ctx, c)
	return &laggingConsumer{consumer, s.empty}, err
}

type laggingConsumer struct {
	jetstream.Consumer
	empty int
}

func (c *laggingConsumer) CachedInfo() *jetstream.ConsumerInfo { return c.lag(c.Consumer.CachedInfo()) }

func (c *laggingConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	info, err := c.Consumer.Info(ctx)
	if err != nil {
		return nil, err
	}
	return c.lag(info), nil
}

func (c *laggingConsumer) lag(info *jetstream.ConsumerInfo) *jetstream.ConsumerInfo {
	if c.empty == 0 {
		return info
	}
	c.empty--
	none := *info
	none.NumPending, none.Delivered.Consumer = 0, 0
	return &none
}

// TestEachOfAReplicaThatLags: Each waits for the messages that the leader has, and not for deleted ones.
func TestEachOfAReplicaThatLags(t *testing.T) {
	t.Parallel()
	js := emptyServer(t)
	if _, err := EnsureStreams(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), schema.QuarantineStream)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := js.Publish(t.Context(), "ctx.quarantine.1", nil); err != nil {
			t.Fatal(err)
		}
	}
	read := func(s Selection, empty int) (sequences []uint64) {
		t.Helper()
		err := Each(t.Context(), laggingStream{stream, empty}, s, func(_ jetstream.Msg, meta *jetstream.MsgMetadata) error {
			sequences = append(sequences, meta.Sequence.Stream)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return sequences
	}
	if got := read(Selection{}, 3); !slices.Equal(got, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("a replica that lags gives %v", got)
	}
	if got := read(Selection{After: 3}, 3); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("after 3, a replica that lags gives %v", got)
	}
	if got := read(Selection{Subject: "ctx.quarantine.*"}, 3); !slices.Equal(got, []uint64{1, 2, 3, 4, 5}) {
		t.Errorf("by subject, a replica that lags gives %v", got)
	}
	fourth, err := stream.GetMsg(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(Selection{Subject: "ctx.quarantine.1", Since: fourth.Time}, 3); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("since the fourth message, a replica that lags gives %v", got)
	}
	if got := read(Selection{Since: time.Now()}, 0); len(got) > 0 {
		t.Errorf("since now: %v", got)
	}
	if got := read(Selection{Subject: "ctx.quarantine.2"}, 0); len(got) > 0 {
		t.Errorf("of a subject without messages: %v", got)
	}
	for _, sequence := range []uint64{4, 5} {
		if err := stream.DeleteMsg(t.Context(), sequence); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(Selection{}, 0); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("with deleted messages at the end: %v", got)
	}
	if got := read(Selection{After: 3}, 0); len(got) > 0 {
		t.Errorf("after 3, where all is deleted: %v", got)
	}
}
