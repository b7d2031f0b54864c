package root

import "github.com/spf13/cobra"

// A topic is a page of help that is about no single command.
type topic struct{ name, short, text string }

// topics are the pages that `ctxledger help TOPIC` prints. A page fits on a terminal of
// 80 columns and 24 lines.
var topics = []topic{
	{name: "concepts", short: "Explain item, selection, window, layer, compaction and tenant", text: `An agent sends a window to its model in each call. ctxledger records what
happened to each item on its way into the window, or out of it.

  items ──▶ selection ──▶ window, in layers ──▶ model ──▶ usage, cost
                │             ▲
                ▼             │ a summary replaces old items
            omissions     compaction

  item        A piece of context: a message, a tool result, a file, a memory.
  selection   The choice of the items for a call.
  omission    An item that a selection left out, with the reason.
  window      All items that the model saw in one call, in order, with tokens.
  layer       A group of items in a window: system, user, tool results, memory.
  compaction  A summary replaced older items, because the window was full.
  elision     A short stub replaced a long item; the item can be loaded again.
  session     One conversation. It has turns: a request of the user and all work
              until the answer. A turn has calls: requests to the model.
  tenant      A customer or a team. The facts of tenants are kept apart.
  fact        One CloudEvent on the stream, which becomes rows in the tables.

See all of them at work: ctxledger demo
`},
	{name: "start", short: "Show three ways to begin: own logs, own program, own servers", text: `1. Your own session logs, of Claude Code, Codex, SWE-agent or OpenHands:
   ctxledger up                                      # in a terminal of its own
   ctxledger import auto ~/.claude/projects ~/.codex/sessions
   ctxledger query sessions
   ctxledger query turns --last
   ctxledger window --last
2. Your own program. In Go: "From your program" in README.md. In TypeScript or
   Python: producer/sdk. In any language, events as lines of JSON:
   ctxledger up                                      # in a terminal of its own
   ctxledger connect
   ctxledger schema show context.item.added -o example | tr -d '\n' >one.ndjson
   ctxledger publish one.ndjson
   ctxledger tail --no-follow
3. Your own servers, NATS 2.12 or newer and ClickHouse. The variables may hold
   passwords; the files that CTXLEDGER_…_FILE names may hold the addresses:
   export CTXLEDGER_NATS_URL=nats://localhost:4222
   export CTXLEDGER_CLICKHOUSE_DSN=clickhouse://localhost:9000/ctxledger
   ctxledger migrate
   ctxledger project                                 # in a terminal of its own
   ctxledger doctor
`},
}

// topicNamed returns the topic of this name, or nil.
func topicNamed(args []string) *topic {
	for i := range topics {
		if len(args) == 1 && topics[i].name == args[0] {
			return &topics[i]
		}
	}
	return nil
}

// topicNames returns what a shell completes after `ctxledger help`.
func topicNames() (names []string) {
	for _, t := range topics {
		names = append(names, cobra.CompletionWithDesc(t.name, t.short))
	}
	return names
}
