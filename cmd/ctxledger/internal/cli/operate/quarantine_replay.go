package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/record"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/producer/publish"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/projector/shardmap"
	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

func quarantineReplayCommand(a *cli.App) *cobra.Command {
	var stream, code, tenant string
	cmd := &cobra.Command{
		Use:   "replay SEQUENCE [FILE] | replay --code CODE",
		Short: "Send quarantined messages again, unchanged or fixed",
		Long: `Send a quarantined message again. Without a file the message is sent unchanged, with the
bytes and headers in the stream CTX_QUARANTINE; use this after an upgrade of the
projector. With a file, or - for standard input, the CloudEvent in the file is sent in
its place. --code sends all messages with that code that have no replay yet.

A replay belongs to the tenant of the quarantined message. A fixed event without a
tenant gets that tenant, and a fixed event of another tenant is refused.

A replayed message stays listed, with the sequence and the outcome of its replay. A
second replay does no harm. The exit code is 3 if a message cannot be replayed or is
refused again.`,
		Example: `  ctxledger quarantine replay 17 fixed.json
  ctxledger quarantine show 17 --event | sed s/tokns/tokens/ | ctxledger quarantine replay 17 -
  ctxledger quarantine replay --code unknown_type`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case code == "" && len(args) == 0:
				return cli.UsageError("which one? give a sequence of `ctxledger quarantine list`, or --code")
			case code != "" && len(args) > 0:
				return cli.UsageError("--code replays all messages with the code: give no sequence")
			case code == "" && tenant != "":
				return cli.UsageError("--tenant goes with --code")
			case len(args) > 2:
				return cli.UsageError("%s takes one sequence and one file, found %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := openReplayer(cmd.Context(), a)
			if err != nil {
				return err
			}
			switch {
			case code != "":
				err = r.all(cmd.Context(), read.RefusalFilter{Code: code, Tenant: tenant, Waiting: true})
			case len(args) == 2:
				err = record.WithInput(a, args[1:], func(in io.Reader) error { return r.fixed(cmd.Context(), args[0], stream, in) })
			default:
				err = r.one(cmd.Context(), args[0], stream)
			}
			if err != nil {
				return err
			}
			return r.outcome(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "incarnation", "", "the stream's, where several streams had such a sequence")
	f.StringVar(&code, "code", "", "all that have this code and were not replayed")
	f.StringVar(&tenant, "tenant", "", "of these only this tenant's")
	return cmd
}

// replayer sends quarantined messages again and reports the outcomes.
type replayer struct {
	quarantined
	app     *cli.App
	js      jetstream.JetStream
	shardOf shardmap.Map // zero without a cluster
	sent    []sentReplay
	refused bool // some could not be sent
}

type sentReplay struct {
	of       ledger.Refusal
	sequence uint64
}

// openReplayer connects until Close to the streams, and to ledgers with current tables. On a cluster they
// must be those that the streams are projected to.
func openReplayer(ctx context.Context, a *cli.App) (r replayer, err error) {
	r.app = a
	if r.js, err = a.ConnectNATS(); err != nil {
		return r, err
	}
	if r.plain, r.shards, err = cli.OpenWritersMigrated(ctx, a); err != nil || r.shards == nil {
		return r, err
	}
	if r.shardOf, err = shardmap.Read(ctx, r.js); err != nil {
		return r, err
	}
	return r, r.shardOf.Check(ctx, r.js, r.shards)
}

// all replays the matching messages unchanged. Other messages are reported and left.
func (r *replayer) all(ctx context.Context, filter read.RefusalFilter) error {
	list, err := r.refusals(ctx, filter)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintf(r.app.Err, "nothing with the code %s waits to be replayed\n", filter.Code)
	}
	return r.asItIs(ctx, list)
}

// one replays a message unchanged, unless it has a replay.
func (r *replayer) one(ctx context.Context, sequence, stream string) error {
	found, err := r.find(ctx, sequence, stream)
	if err != nil {
		return err
	}
	replays, err := r.replays(ctx, found)
	if err != nil {
		return err
	}
	if len(replays) > 0 {
		last := replays[len(replays)-1]
		r.report(found, last.StreamSeq, "already, "+last.Outcome)
		return nil
	}
	return r.asItIs(ctx, []ledger.Refusal{found})
}

func (r *replayer) asItIs(ctx context.Context, list []ledger.Refusal) error {
	if err := quarantine.FindCopies(ctx, r.js, list); err != nil {
		return err
	}
	for _, found := range list {
		sequence, err := quarantine.Replay(ctx, r.js, found)
		switch {
		case errors.Is(err, quarantine.ErrMasked), errors.Is(err, quarantine.ErrEmpty), errors.Is(err, quarantine.ErrNotReplayable):
			r.refused = true
			fmt.Fprintf(r.app.Err, "sequence %d: %s: %v\n", found.StreamSeq, found.Code, err)
		case err != nil:
			return err
		default:
			r.sent = append(r.sent, sentReplay{found, sequence})
		}
	}
	return nil
}

// fixed sends the event in the input in the place of a message.
func (r *replayer) fixed(ctx context.Context, sequence, stream string, in io.Reader) error {
	found, err := r.find(ctx, sequence, stream)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(in, record.MaxLine+1))
	if err != nil {
		return fmt.Errorf("read the fixed event: %w", err)
	}
	e, err := schema.ParseStructured(text)
	if err == nil {
		if _, violations := schema.Validate(e); len(violations) > 0 {
			err = violations
		}
	}
	if violations := publish.ViolationsOf(err); violations != nil {
		for _, v := range violations {
			fmt.Fprintln(r.app.Err, v)
		}
		return cli.ErrRefused
	}
	if err != nil {
		return err
	}
	at, err := quarantine.ReplayFixed(ctx, r.js, found, e)
	if errors.Is(err, quarantine.ErrOtherTenant) {
		fmt.Fprintln(r.app.Err, err)
		return cli.ErrRefused
	}
	if err != nil {
		return err
	}
	r.sent = append(r.sent, sentReplay{found, at})
	return nil
}

// outcome waits until the sent messages are projected, and reports the outcomes.
func (r *replayer) outcome(ctx context.Context) error {
	level := true
	if len(r.sent) > 0 {
		var err error
		if level, err = r.awaitCommit(ctx); err != nil {
			return err
		}
	}
	for _, s := range r.sent {
		outcome := "stored in the stream"
		replays, err := r.replays(ctx, s.of)
		if err != nil {
			return err
		}
		for _, replay := range replays {
			if replay.StreamSeq == s.sequence {
				outcome = replay.Outcome
			}
		}
		r.refused = r.refused || outcome == "refused"
		r.report(s.of, s.sequence, outcome)
	}
	if !level {
		fmt.Fprintln(r.app.Err, "no projector is working on the stream: run `ctxledger project` or `ctxledger up`")
	}
	if r.refused {
		return cli.ErrRefused
	}
	return nil
}

// awaitCommit waits until the ledgers hold all messages of the streams. It returns false if a ledger makes
// no progress.
func (r *replayer) awaitCommit(ctx context.Context) (bool, error) {
	const patience = 5 * time.Second
	last, err := streamio.ReadLastSequences(ctx, r.js)
	if err != nil {
		return false, err
	}
	if r.shards == nil {
		return streamio.AwaitCommit(ctx, r.js, r.plain, last, patience, nil)
	}
	level, err := r.shardOf.AwaitCommit(ctx, r.js, r.shards, last, patience)
	return !slices.Contains(level, false), err
}

func (r *replayer) report(of ledger.Refusal, sequence uint64, outcome string) {
	hint := ""
	if outcome == "refused" {
		hint = fmt.Sprintf(" again: see `ctxledger quarantine show %d`", sequence)
	}
	fmt.Fprintf(r.app.Out, "sequence %d replayed as %d: %s%s\n", of.StreamSeq, sequence, outcome, hint)
}
