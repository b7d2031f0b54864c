package operate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/ask"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/cluster"
	"github.com/ctxledger/ctxledger/ledger/cluster/answer"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/projector/quarantine"
	"github.com/ctxledger/ctxledger/schema"
)

func QuarantineCommand(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "quarantine",
		Short: "List, show and replay quarantined messages",
		Long: `The projector does not project an invalid message. It keeps the message with its exact
bytes, its place in the stream and the reason. Other events are not affected. Withheld
values are masked in the kept message.

"list" lists quarantined messages. "show" prints one with the next step. "replay" sends
one again for the same tenant, unchanged or fixed. "preview" lists recorded events that
the current rules would quarantine.`,
		Example: `  ctxledger quarantine list --since 24h
  ctxledger quarantine show 17
  ctxledger quarantine replay 17 fixed.json`,
	}, quarantineListCommand(a), quarantineShowCommand(a), quarantineReplayCommand(a), quarantinePreviewCommand(a))
}

func quarantineListCommand(a *cli.App) *cobra.Command {
	var tenant, code, since, output string
	var waiting, counts bool
	cmd := &cobra.Command{
		Use: "list", Short: "List quarantined messages, the newest first", Args: cli.NoArgs,
		Long: `List quarantined messages, the newest first. Columns are the place in the stream, the
time, code and field of the first violation, and the outcome of the last replay.
--counts prints the number of messages for each code.`,
		Example: `  ctxledger quarantine list --code id_conflict --since 2026-11-21T00:00:00Z
  ctxledger quarantine list --waiting -o json
  ctxledger quarantine list --counts`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := []string{"tenant=" + tenant}
			name := "quarantine-by-code"
			if counts && (code != "" || since != "" || waiting) {
				return cli.UsageError("--counts goes with --tenant only")
			}
			if !counts {
				from, err := sinceTime(since, time.Now())
				if err != nil {
					return err
				}
				name, params = "quarantine", append(params, "code="+code, "since="+from)
			}
			if waiting {
				params = append(params, "waiting=1")
			}
			return ask.RunQuery(cmd.Context(), a, []string{name}, ask.Named(params, output))
		},
	}
	f := cmd.Flags()
	f.StringVar(&tenant, "tenant", "", "only this tenant")
	f.StringVar(&code, "code", "", "only this code, such as id_conflict")
	f.StringVar(&since, "since", "", "only messages stored since: a duration such as 24h or 7d, or an RFC 3339 time")
	f.BoolVar(&waiting, "waiting", false, "only messages without a replay")
	f.BoolVar(&counts, "counts", false, "how many there are of each code and field")
	f.StringVarP(&output, "output", "o", "table", "table, json, csv or parquet")
	return cmd
}

// sinceTime reads a duration before now, or a time.
func sinceTime(text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	hours := text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return "", cli.UsageError("--since %q: want a duration such as 24h or 7d, or a time such as 2026-11-21T08:00:00Z", text)
		}
		hours = fmt.Sprint(n*24, "h")
	}
	d, err := time.ParseDuration(hours)
	if err != nil || d < 0 {
		return "", cli.UsageError("--since %q: want a duration such as 24h or 7d, or a time such as 2026-11-21T08:00:00Z", text)
	}
	return now.Add(-d).UTC().Format(time.RFC3339Nano), nil
}

func quarantineShowCommand(a *cli.App) *cobra.Command {
	var stream, output string
	var raw, event bool
	cmd := &cobra.Command{
		Use: "show SEQUENCE", Short: "Show one quarantined message and the next step",
		Long: `Show a quarantined message: place, reason, next step, headers and bytes. --raw writes
the exact bytes only. --event writes one CloudEvent in JSON, to fix and replay.`,
		Example: `  ctxledger quarantine show 17
  ctxledger quarantine show 17 --event >fixed.json`,
		Args: oneSequence,
		RunE: func(cmd *cobra.Command, args []string) error {
			if raw && (event || output == "json") || event && output == "json" {
				return cli.UsageError("want one of --raw, --event and -o json")
			}
			var q quarantined
			var err error
			if q.plain, q.shards, err = cli.OpenReaders(cmd.Context(), a); err != nil {
				return err
			}
			r, err := q.find(cmd.Context(), args[0], stream)
			if err != nil {
				return err
			}
			switch {
			case quarantine.Empty(r) && (raw || event):
				return quarantine.ErrEmpty
			case raw:
				_, err = a.Data().Write(r.Data)
				return err
			case event:
				return printAsEvent(a, r)
			}
			replays, err := q.replays(cmd.Context(), r)
			if err != nil {
				return err
			}
			if output == "json" {
				return printRefusalJSON(a, r, replays)
			}
			return printRefusal(a, r, replays)
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "incarnation", "", "the stream's, where several streams had such a sequence")
	f.BoolVar(&raw, "raw", false, "only the exact bytes")
	f.BoolVar(&event, "event", false, "only the event, in the JSON format of CloudEvents")
	cli.OutputFlag(f, &output, "table or json", "table", "json")
	return cmd
}

func oneSequence(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.UsageError("%s takes one sequence, found %d arguments", cmd.CommandPath(), len(args))
	}
	return nil
}

// quarantined reads quarantined messages from a plain ledger or from all shards of a cluster. Only one
// of the fields is set. A replay can be on another shard than its message.
type quarantined struct {
	plain  *ledger.Ledger
	shards *cluster.Ledgers
}

// refusals returns the messages that fit, in the order in which the streams stored them.
func (q quarantined) refusals(ctx context.Context, f read.RefusalFilter) (list []ledger.Refusal, err error) {
	if q.shards != nil {
		return answer.Refusals(ctx, q.shards, f)
	}
	err = read.Of(q.plain).Refusals(ctx, f, func(r ledger.Refusal) error {
		list = append(list, r)
		return nil
	})
	return list, err
}

// replays returns the projected replays of a message, oldest first.
func (q quarantined) replays(ctx context.Context, of ledger.Refusal) ([]read.Replay, error) {
	if q.shards != nil {
		return answer.Replays(ctx, q.shards, of)
	}
	return read.Of(q.plain).Replays(ctx, of)
}

// find returns the one refused message with this sequence.
func (q quarantined) find(ctx context.Context, sequence, incarnation string) (ledger.Refusal, error) {
	var filter read.RefusalFilter
	var err error
	if filter.First, err = strconv.ParseUint(sequence, 10, 64); err != nil || filter.First == 0 {
		return ledger.Refusal{}, cli.UsageError("%q is no sequence of a stream: `ctxledger quarantine list` lists them", sequence)
	}
	if filter.Last = filter.First; incarnation != "" {
		if filter.Incarnation, err = uuid.Parse(incarnation); err != nil {
			return ledger.Refusal{}, cli.UsageError("--incarnation %q is no UUID", incarnation)
		}
	}
	found, err := q.refusals(ctx, filter)
	switch {
	case ledger.NotMigrated(err):
		return ledger.Refusal{}, errors.New("the tables are of an older version: run `ctxledger migrate`")
	case err != nil:
		return ledger.Refusal{}, err
	case len(found) == 0:
		return ledger.Refusal{}, fmt.Errorf("no refused message has the sequence %d: `ctxledger quarantine list` lists them", filter.First)
	case len(found) > 1:
		var choices strings.Builder
		for _, r := range found {
			fmt.Fprintf(&choices, "\n  --incarnation %s  stored %s, %s", r.Incarnation, r.RecordedAt.Format(time.RFC3339), r.Code)
		}
		return ledger.Refusal{}, cli.UsageError("%d streams had a refused message with the sequence %d; name one:%s", len(found), filter.First, &choices)
	}
	return found[0], nil
}

// advice is the next step for a quarantined message.
func advice(r ledger.Refusal, replays []read.Replay) string {
	if len(replays) > 0 {
		switch last := replays[len(replays)-1]; last.Outcome {
		case "recorded", "repeated":
			return "nothing: it was replayed, and its event is recorded"
		default:
			return fmt.Sprintf("its replay was refused, too: see `ctxledger quarantine show %d`", last.StreamSeq)
		}
	}
	if quarantine.Empty(r) {
		return fmt.Sprintf("it has no bytes: it was empty, or they have left by the retention of content. Where the fact is needed, take the event from its producer, mend it, and run `ctxledger quarantine replay %d fixed.json`", r.StreamSeq)
	}
	form := "--event"
	if r.EventID == "" {
		form = "--raw"
	}
	fix := fmt.Sprintf("`ctxledger quarantine show %d %s >fixed.json`, mend it, `ctxledger quarantine replay %d fixed.json`", r.StreamSeq, form, r.StreamSeq)
	switch schema.Code(r.Code) {
	case schema.CodeReintroduced:
		return "remove the value from the events of the producer, and change the secret if it is one. Where the fact is needed: " + fix + ", with a new id and without the value"
	case schema.CodeIDConflict:
		return "another event has this source and id: give this one another id: " + fix
	case schema.CodeTenantMismatch:
		return fmt.Sprintf("see why tenant %q published an event of another tenant. Where the event is %q's own, correct its tenant: %s", r.Tenant, r.Tenant, fix)
	case schema.CodeUnknownType:
		return fmt.Sprintf("upgrade the projector and run `ctxledger quarantine replay %d`", r.StreamSeq)
	}
	return "mend the producer, and this event: " + fix
}

func printRefusal(a *cli.App, r ledger.Refusal, replays []read.Replay) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s  %s\n", name, ui.Safe(value))
		}
	}
	line("sequence", fmt.Sprintf("%d of stream %s", r.StreamSeq, r.Incarnation))
	line("first seen", r.RecordedAt.UTC().Format(time.RFC3339Nano))
	line("subject", r.Subject)
	line("tenant", r.Tenant)
	line("source", r.Source)
	line("event id", r.EventID)
	line("code", r.Code)
	line("field", r.Pointer)
	line("reason", r.Reason)
	for _, replay := range replays {
		line("replayed", fmt.Sprintf("as sequence %d: %s", replay.StreamSeq, replay.Outcome))
	}
	line("what to do", advice(r, replays))
	fmt.Fprintf(&b, "\n")
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", ui.Safe(name), ui.Safe(value))
		}
	}
	fmt.Fprintln(&b)
	for data := range strings.SplitSeq(string(r.Data), "\n") {
		fmt.Fprintf(&b, "  %s\n", ui.Safe(data))
	}
	_, err := fmt.Fprint(a.Out, b.String())
	return err
}

// refusalJSON is the output of `show -o json`. Bytes that are not text are in
// data_base64.
type refusalJSON struct {
	ledger.Refusal
	Headers map[string][]string `json:"headers"`
	Text    *string             `json:"data,omitempty"`
	Base64  string              `json:"data_base64,omitempty"`
	Masked  bool                `json:"masked"`
	Replays []read.Replay       `json:"replays"`
	Advice  string              `json:"what_to_do"`
}

func printRefusalJSON(a *cli.App, r ledger.Refusal, replays []read.Replay) error {
	shown := refusalJSON{Refusal: r, Headers: r.Header, Masked: quarantine.Masked(r), Replays: replays, Advice: advice(r, replays)}
	if utf8.Valid(r.Data) {
		shown.Text = new(string(r.Data))
	} else {
		shown.Base64 = base64.StdEncoding.EncodeToString(r.Data)
	}
	text, err := json.Marshal(shown, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s\n", text)
	return err
}

// printAsEvent writes a refused message in structured mode, as far as it can be
// read.
func printAsEvent(a *cli.App, r ledger.Refusal) error {
	e, err := schema.ParseMessage(r.Header, r.Data)
	if e != nil {
		var m schema.Message
		if m, err = e.Structured(); err == nil {
			_, err = fmt.Fprintf(a.Data(), "%s\n", m.Data)
			return err
		}
	}
	return fmt.Errorf("the message cannot be read as an event (%w): take its bytes with --raw and mend those", err)
}
