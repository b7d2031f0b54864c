package quarantine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/decode"
	"github.com/ctxledger/ctxledger/projector/streamio"
)

// Preview calls visit for each message that older rules accepted and the newest rules would
// quarantine. Preview visits the messages in the order of each stream and stops at the first
// error. Preview checks each message separately, and does not detect conflicts of ids and
// withheld values. Preview changes nothing. A refusal has the tenant of the subject. A nil log
// discards the messages. told is as in [streamio.AwaitCommit].
func Preview(ctx context.Context, js jetstream.JetStream, committed streamio.CommittedRules, log *slog.Logger, told func(done, total int64), visit func(ledger.Refusal) error) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	streams, err := streamio.ReadStreams(ctx, js)
	if err != nil {
		return err
	}
	for _, s := range streams {
		if err := previewStream(ctx, js, committed, s.Name, log, told, visit); err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	return nil
}

func previewStream(ctx context.Context, js jetstream.JetStream, committed streamio.CommittedRules, name string, log *slog.Logger, told func(done, total int64), visit func(ledger.Refusal) error) error {
	s, err := streamio.OpenSource(ctx, js, name, committed, log)
	if err != nil {
		return err
	}
	first, last := max(s.Info.State.FirstSeq, 1), s.Info.State.LastSeq
	if newest := s.Rules.Newest(); newest == ledger.NewestRules {
		last = min(last, s.Rules[len(s.Rules)-1].From-1) // later messages were projected by the newest rules
	}
	if first > last {
		return nil
	}
	return s.Each(ctx, first, last, func(messages []*streamio.Message) error {
		for _, m := range messages {
			if r, ok := previewed(m); ok {
				if err := visit(r); err != nil {
					return err
				}
			}
		}
		if told != nil {
			told(int64(messages[len(messages)-1].Position.StreamSeq-first+1), int64(last-first+1))
		}
		return nil
	})
}

// previewed decodes a message by the newest rules, if the rules of its place accept it.
func previewed(m *streamio.Message) (ledger.Refusal, bool) {
	if len(decode.One(m).Violations) > 0 {
		return ledger.Refusal{}, false
	}
	today := *m
	today.Rules = ledger.NewestRules
	refused := decode.One(&today)
	if len(refused.Violations) == 0 {
		return ledger.Refusal{}, false
	}
	return refused.Refusal(), true
}
