package operate

import (
	"strings"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/read"
	"github.com/ctxledger/ctxledger/schema"
)

func TestSinceTakesDurationsAndTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "", "90m": "2026-11-21T06:30:00Z", "7d": "2026-11-14T08:00:00Z", "2026-11-20T10:00:00+02:00": "2026-11-20T08:00:00Z",
		"yesterday": "error", "-1h": "error", "d": "error", "1.5d": "error",
	} {
		got, err := sinceTime(text, now)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is since %q, want %q", text, got, want)
		}
		if err != nil && cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%q: exit code %d", text, cli.ExitCode(err))
		}
	}
}

func TestAdviceSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code    schema.Code
		replays []read.Replay
		says    string
	}{
		{schema.CodeNotJSON, nil, "quarantine replay 7 fixed.json"},
		{schema.CodeIDConflict, nil, "another id"},
		{schema.CodeReintroduced, nil, "without the value"},
		{schema.CodeNotJSON, []read.Replay{{StreamSeq: 8, Outcome: "refused"}, {StreamSeq: 9, Outcome: "recorded"}}, "nothing"},
		{schema.CodeNotJSON, []read.Replay{{StreamSeq: 8, Outcome: "refused"}}, "quarantine show 8"},
	} {
		if got := advice(ledger.Refusal{StreamSeq: 7, Code: string(c.code), Data: []byte("{}")}, c.replays); !strings.Contains(got, c.says) {
			t.Errorf("%s, %v: %q does not say %q", c.code, c.replays, got, c.says)
		}
	}
	if got := advice(ledger.Refusal{StreamSeq: 7, Code: string(schema.CodeNotJSON)}, nil); !strings.Contains(got, "have left by the retention") {
		t.Errorf("without bytes: %q", got)
	}
}
