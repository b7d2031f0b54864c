package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
	"github.com/ctxledger/ctxledger/projector/retention"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// ReadStreams reads the sizes of all streams and buckets of the account, the largest first, and
// the limit of the account. It reads about 50 single messages of each stream to find the
// first one of the last hour and of the last day.
func ReadStreams(ctx context.Context, js jetstream.JetStream) (list []Stream, account Store, err error) {
	policy, err := readPolicy(ctx, js)
	if err != nil {
		return nil, account, err
	}
	infos, err := streamio.ReadInfos(ctx, js, nil)
	if err != nil {
		return nil, account, err
	}
	for _, info := range infos {
		s, err := readStream(ctx, js, info, policy)
		if err != nil {
			return nil, account, err
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Stream) int {
		if a.Bytes != b.Bytes {
			return int(min(max(b.Bytes-a.Bytes, -1), 1))
		}
		return strings.Compare(a.Name, b.Name)
	})
	told, err := js.AccountInfo(ctx)
	if err != nil {
		return nil, account, fmt.Errorf("read the account of JetStream: %w", err)
	}
	account = Store{Bytes: int64(told.Store), Growth: new(Growth{})}
	if most := told.Limits.MaxStore; most > 0 {
		account.Limit = &most
	}
	for _, s := range list {
		if s.Growth != nil && s.Forecast.Outlook != Retained { // the size of a bucket depends on its keys
			account.Growth = account.Growth.Add(s.Growth)
		}
	}
	account.Forecast = Estimate(leftOf(account.Limit, account.Bytes), account.Growth)
	return list, account, nil
}

// leftOf returns the bytes up to a limit, or nil for no limit.
func leftOf(limit *int64, taken int64) *int64 {
	if limit == nil {
		return nil
	}
	return new(*limit - taken)
}

// readPolicy reads the retention of the installation. Without the bucket of leases there is none.
func readPolicy(ctx context.Context, js jetstream.JetStream) (p retention.Policy, err error) {
	kv, err := lease.OpenBucket(ctx, js)
	if errors.Is(err, lease.ErrNoBucket) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("open the bucket of leases: %w", err)
	}
	return retention.ReadPolicy(ctx, kv)
}

func readStream(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo, policy retention.Policy) (Stream, error) {
	c := info.Config
	s := Stream{Name: c.Name, Kind: "stream", Messages: int64(info.State.Msgs), Bytes: int64(info.State.Bytes)}
	switch {
	case strings.HasPrefix(c.Name, "KV_"):
		s.Kind = "bucket"
	case strings.HasPrefix(c.Name, "OBJ_"):
		s.Kind = "objects"
	}
	s.Tenant, _, _ = schema.ParseStreamName(c.Name)
	if c.MaxBytes > 0 {
		s.Limit = &c.MaxBytes
	}
	if s.Kind == "stream" && c.MaxMsgsPerSubject <= 0 {
		growth, err := growthOf(ctx, js, info)
		if err != nil {
			return s, err
		}
		s.Growth = &growth
	}
	s.Forecast = Estimate(leftOf(s.Limit, s.Bytes), s.Growth)
	if events := c.Metadata[streamio.IncarnationKey] != ""; events && policy.Of(s.Tenant).Bytes > 0 {
		s.Retention = new(int64(policy.Of(s.Tenant).Bytes))
		if s.Limit == nil || *s.Retention < *s.Limit {
			s.Forecast = Forecast{Outlook: Retained}
		}
	}
	return s, nil
}

// growthOf estimates the bytes that a stream got lately: the messages since a time, with their
// mean size. Both times are the server's.
func growthOf(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo) (g Growth, err error) {
	if info.State.Msgs == 0 {
		return g, nil
	}
	stream, err := js.Stream(ctx, info.Config.Name)
	if err != nil {
		return g, fmt.Errorf("look up stream %s: %w", info.Config.Name, err)
	}
	for _, window := range []struct {
		age   time.Duration
		bytes *int64
	}{{time.Hour, &g.Hour}, {24 * time.Hour, &g.Day}} {
		first, err := firstSince(ctx, stream, info.State, info.TimeStamp.Add(-window.age))
		if err != nil {
			return g, fmt.Errorf("read messages of stream %s: %w", info.Config.Name, err)
		}
		messages := min(info.State.LastSeq+1-first, info.State.Msgs)
		*window.bytes = int64(float64(info.State.Bytes) / float64(info.State.Msgs) * float64(messages))
	}
	return g, nil
}

// firstSince returns the first sequence of a stream at or after a time, by halves. It is one more
// than the last sequence if there is none.
func firstSince(ctx context.Context, stream jetstream.Stream, state jetstream.StreamState, since time.Time) (uint64, error) {
	low, high := state.FirstSeq, state.LastSeq+1
	for low < high {
		middle := low + (high-low)/2
		// the message at the sequence, or the next one if it is deleted
		msg, err := stream.GetMsg(ctx, middle, jetstream.WithGetMsgSubject(">"))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			high = middle // all later ones are deleted
		case err != nil:
			return 0, err
		case msg.Time.Before(since):
			low = msg.Sequence + 1
		default:
			high = middle
		}
	}
	return min(low, state.LastSeq+1), nil
}
