package root

import (
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

// Command returns the command of all commands.
func Command(a *cli.App) *cobra.Command { return command(a, nil) }

// A Topic is a page of help.
type Topic struct{ Name, Short, Text string }

// Topics returns the pages of help that are about no single command.
func Topics() (list []Topic) {
	for _, t := range topics {
		list = append(list, Topic{t.name, t.short, t.text})
	}
	return list
}
