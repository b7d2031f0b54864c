package publish

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/ctxledger/ctxledger/producer/internal/bustest"
	"github.com/ctxledger/ctxledger/schema"
)

func batchOf(t testing.TB, ids ...string) []*nats.Msg {
	t.Helper()
	var list []*nats.Msg
	for _, id := range ids {
		m := bustest.Removed(t, id).Binary()
		list = append(list, &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Data})
	}
	return list
}

// TestTriedAgain sends a batch again. The stream has all of it, some of it or nothing,
// stored just now or before its window for duplicates.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	whole := bustest.Numbered(20)
	for _, test := range []struct {
		name   string
		stored []string // stored one by one, before the second attempt
		wait   time.Duration
	}{
		{"nothing", nil, 0},
		{"all, just now", whole, 0},
		{"all, long ago", whole, 300 * time.Millisecond},
		{"the first half, just now", whole[:10], 0},
		{"the first half, long ago", whole[:10], 300 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := bustest.Start(t, bustest.Forgetful)
			s := &sender{js: b.JS}
			if err := s.try(batchOf(t, "before"), false); err != nil {
				t.Fatal(err)
			}
			other := &sender{js: b.JS}
			if len(test.stored) > 0 {
				if err := other.publishSingly(t.Context(), batchOf(t, test.stored...)); err != nil {
					t.Fatal(err)
				}
			}
			if err := other.try(batchOf(t, "of another"), false); err != nil {
				t.Fatal(err)
			}
			time.Sleep(test.wait)
			if err := s.try(batchOf(t, whole...), true); err != nil {
				t.Fatal(err)
			}
			if err := s.try(batchOf(t, "after"), false); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(b.IDs(t), func(id string) bool { return id == "of another" })
			if want := slices.Concat([]string{"before"}, whole, []string{"after"}); !slices.Equal(got, want) {
				t.Errorf("the stream holds %v", got)
			}
		})
	}
}

// TestStreamOfAnotherAge: the stream was replaced, and its sequences are below the last
// acknowledged one.
func TestStreamOfAnotherAge(t *testing.T) {
	t.Parallel()
	b := bustest.Start(t, bustest.Forgetful)
	s := &sender{js: b.JS}
	for _, id := range bustest.Numbered(10) {
		if err := s.try(batchOf(t, id), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.JS.DeleteStream(t.Context(), "CTX"); err != nil {
		t.Fatal(err)
	}
	b.CreateStream(t, jetstream.StreamConfig{Name: "CTX", Subjects: []string{schema.AllSubjects}, AllowAtomicPublish: true, Duplicates: 100 * time.Millisecond})
	batch := batchOf(t, "a", "b", "c")
	if _, err := jetstreamext.PublishMsgBatch(context.Background(), b.JS, batch); err != nil {
		t.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	if err := s.try(batch, true); err != nil {
		t.Fatal(err)
	}
	bustest.WantIDs(t, b, []string{"a", "b", "c"})
}
