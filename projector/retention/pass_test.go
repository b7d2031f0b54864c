package retention

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// purged notes how long its purges may take.
type purged struct {
	jetstream.Stream
	next   error // of the message after the last one that is removed
	within []time.Duration
}

func (p *purged) CachedInfo() *jetstream.StreamInfo {
	return &jetstream.StreamInfo{Config: jetstream.StreamConfig{Subjects: []string{"a", "b"}}}
}

func (p *purged) GetMsg(context.Context, uint64, ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return nil, p.next
}

func (p *purged) Purge(ctx context.Context, _ ...jetstream.StreamPurgeOpt) error {
	deadline, _ := ctx.Deadline()
	p.within = append(p.within, time.Until(deadline))
	return nil
}

// TestALongPurgeIsWaitedFor: without a deadline of the caller, a client waits five seconds for a purge.
func TestALongPurgeIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*purged{"a part": {}, "all": {next: jetstream.ErrMsgNotFound}} {
		if err := removeThrough(t.Context(), p, 9); err != nil || len(p.within) == 0 {
			t.Errorf("%s: %d purges: %v", name, len(p.within), err)
		}
		for _, d := range p.within {
			if d < 50*time.Second {
				t.Errorf("%s: a purge may take %v", name, d)
			}
		}
	}
}
