package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/projector"
)

func (a *app) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create or upgrade the streams, the lease bucket and the tables",
		Long: `Create what is missing and upgrade what is old: the JetStream streams and the
lease bucket, and the tables and views in ClickHouse. It changes no limit of a
stream that exists, and may be run at any time.`,
		Example: `  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger migrate`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nc, js, err := a.connectNATS()
			if err != nil {
				return err
			}
			defer nc.Close()
			created, err := projector.EnsureStreams(cmd.Context(), js)
			for _, name := range created {
				fmt.Fprintf(a.out, "created %s\n", name)
			}
			if err != nil {
				return err
			}
			l, err := a.openLedger(cmd.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			applied, err := l.Migrate(cmd.Context())
			for _, name := range applied {
				fmt.Fprintf(a.out, "applied %s\n", name)
			}
			if err == nil && len(created)+len(applied) == 0 {
				fmt.Fprintln(a.out, "everything is up to date")
			}
			return err
		},
	}
}
