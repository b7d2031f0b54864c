package root_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/root"
)

// TestEveryCommandIsExplained: a summary, an example that begins with the
// command, and a description of every flag.
func TestEveryCommandIsExplained(t *testing.T) {
	t.Parallel()
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: summary %q: want one without a full stop", c.CommandPath(), c.Short)
		}
		if c.Runnable() && c.HasParent() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" {
				check(sub)
			}
		}
	}
	check(root.Command(&cli.App{}))
}

func TestRedacted(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"nats://host:4222", "nats://host:4222"},
		{"nats://me:secret@host:4222", "nats://me:xxxxx@host:4222"},
		{"nats://secret@host:4222", "nats://xxxxx@host:4222"},
		{"me:secret@host:4222", "nats://me:xxxxx@host:4222"},
		{"nats://host:1,nats://me:secret@host:2", "nats://host:1,nats://me:xxxxx@host:2"},
		{"clickhouse://me:secret@host:9000/ctxledger", "clickhouse://me:xxxxx@host:9000/ctxledger"},
		{"clickhouse://host:9000/ctxledger?password=secret", "clickhouse://host:9000/ctxledger"},
		{"nats://me:sec%ret@host", "the given address"},
		{"", ""},
	} {
		if got := cli.Redacted(c[0]); got != c[1] {
			t.Errorf("redacted(%q) is %q, want %q", c[0], got, c[1])
		}
	}
}
