package shardmap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/projector/lease"
)

var (
	// ErrMoved means that a partition has moved since the tables were opened. Open them again.
	ErrMoved = errors.New("a partition has moved to another shard: the tables are opened again")
	// ErrSwitching means that a move of the partition is at its last step. Nobody projects it until then.
	ErrSwitching = errors.New("the partition is being switched to another shard")
	// ErrMoves means that the move of a partition has not ended.
	ErrMoves = errors.New("a partition is being moved: wait for the end of `ctxledger shards move`")
	// ErrChanged means that another process has changed the map. Nothing was written.
	ErrChanged = errors.New("another process has changed the map of the shards: run it again")
)

// A Move is the move of a partition that has not ended. The map itself changes in the step switching.
//
//	copying    the partition is on From; its copy on To is in no table that a reader knows
//	switching  nobody projects the partition; To may have some of the rows
//	dropping   the partition is on To; From may still have some of the rows
type Move struct {
	Partition int    `json:"partition"`
	From      uint32 `json:"from"`
	To        uint32 `json:"to"`
	Step      string `json:"step"`
}

// The steps of a move.
const (
	Copying   = "copying"
	Switching = "switching"
	Dropping  = "dropping"
)

// between reports whether a shard may have some rows of a partition that is on another one.
func (m *Move) between(partition int, shard uint32) bool {
	return m != nil && m.Partition == partition && m.Step != Copying && (shard == m.From || shard == m.To)
}

// Save writes the map in place of the one that was read. Errors: [ErrChanged] or an error of the server,
// after which the map may be written.
func (m *Map) Save(ctx context.Context, js jetstream.JetStream) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	kv, err := lease.OpenBucket(ctx, js)
	if err != nil {
		return err
	}
	revision, err := kv.Update(ctx, Key, text, m.revision)
	var refused *jetstream.APIError
	if errors.As(err, &refused) && (refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || refused.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return ErrChanged
	}
	if err != nil {
		return fmt.Errorf("write the map of the shards: %w", err)
	}
	m.revision = revision
	return nil
}

// moved returns the present map, and ErrMoved if it has a partition in another place than these tables.
func (t Tables) moved(ctx context.Context, js jetstream.JetStream) (Map, error) {
	now, err := Read(ctx, js)
	if err == nil && !slices.Equal(now.Shards, t.shard.Shards) {
		err = ErrMoved
	}
	return now, err
}

// Unmoved returns [ErrMoved] if a partition has moved since the tables were opened.
func (t Tables) Unmoved(ctx context.Context, js jetstream.JetStream) error {
	if t.shards == nil {
		return nil
	}
	_, err := t.moved(ctx, js)
	return err
}

// AtRest returns an error if a partition has moved since the tables were opened, or if a move has not ended:
// [ErrMoved], [ErrMoves], or an error of the server.
func (t Tables) AtRest(ctx context.Context, js jetstream.JetStream) error {
	if t.shards == nil {
		return nil
	}
	now, err := t.moved(ctx, js)
	if err == nil {
		err = now.atRest()
	}
	return err
}

// atRest returns [ErrMoves] if a move has not ended.
func (m Map) atRest() error {
	if m.Move == nil {
		return nil
	}
	return fmt.Errorf("%w: partition %d to shard %d", ErrMoves, m.Move.Partition, m.Move.To)
}

// Assign writes which shard each partition is on. No shard may have commits of the streams. Errors:
// [ErrMoves], [ErrChanged], or an error of the server.
func (t Tables) Assign(ctx context.Context, js jetstream.JetStream, shards []uint32) error {
	now, err := Read(ctx, js)
	if err == nil {
		err = now.atRest()
	}
	if err != nil || slices.Equal(now.Shards, shards) {
		return err
	}
	now.Shards = shards
	return now.Save(ctx, js)
}

// movedEvery is the interval at which AwaitMove reads the map.
const movedEvery = 3 * time.Second

// AwaitMove waits until a partition has moved since the tables were opened, and then returns [ErrMoved]. It
// also returns when ctx ends.
func (t Tables) AwaitMove(ctx context.Context, js jetstream.JetStream) error {
	ticker := time.NewTicker(movedEvery)
	defer ticker.Stop()
	for {
		if err := t.Unmoved(ctx, js); errors.Is(err, ErrMoved) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// Placed returns a check of whether the streams still are where the tables of this process have them. A
// projector runs it under the lease of its stream, and after each statement that asks other shards. Nil for
// a plain ledger. Errors: [ErrMoved], [ErrSwitching], or an error of the server.
func (t Tables) Placed(js jetstream.JetStream) func(ctx context.Context, stream string) error {
	if t.shards == nil {
		return nil
	}
	return func(ctx context.Context, stream string) error {
		now, err := t.moved(ctx, js)
		switch {
		case err != nil:
			return err
		case now.Move != nil && now.Move.Step == Switching && now.Move.Partition == PartitionOf(stream):
			return ErrSwitching
		}
		return nil
	}
}
