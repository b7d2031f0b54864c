package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/schema"
)

func (a *app) schemaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Show the event contract",
		Long: `Show the event contract: the types of facts that the ledger takes. Each is a
CloudEvent; "ctxledger publish" says of every event what is wrong with it.`,
		Example: `  ctxledger schema list`,
		Args:    knownCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the event types", Args: noArgs,
		Example: `  ctxledger schema list`,
		RunE: func(*cobra.Command, []string) error {
			w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "EVENT TYPE\tTYPE OF THE CLOUDEVENT")
			for _, t := range schema.Types() {
				fmt.Fprintf(w, "%s\t%s\n", t, t.CloudEventsType())
			}
			return w.Flush()
		},
	})
	return cmd
}
