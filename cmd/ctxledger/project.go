package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/projector"
)

func (a *app) projectCommand() *cobra.Command {
	var untilCaughtUp bool
	cmd := &cobra.Command{
		Use:   "project",
		Short: "Run the projector: stream to tables",
		Long: `Run the projector, which reads the stream by sequence and commits it to
ClickHouse, every event once. Several may run; one at a time holds the lease,
another takes over within seconds of its end. "ctxledger up" runs one already.

It runs until it is interrupted, then writes to the end what it has begun, and
exits with 0.`,
		Example: `  ctxledger project --until-caught-up
  CTXLEDGER_NATS_URL=nats://… CTXLEDGER_CLICKHOUSE_DSN=clickhouse://… ctxledger project`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nc, js, err := a.connectNATS()
			if err != nil {
				return err
			}
			defer nc.Close()
			l, err := a.openLedger(cmd.Context())
			if err != nil {
				return quietly(cmd.Context(), err)
			}
			defer l.Close()
			pending, err := l.Pending(cmd.Context())
			if err != nil {
				return quietly(cmd.Context(), err)
			}
			if len(pending) > 0 {
				return fmt.Errorf("the tables are not up to date: run `ctxledger migrate`")
			}
			c := projector.DefaultConfig(js, l)
			c.UntilCaughtUp, c.Log = untilCaughtUp, a.log()
			p, err := projector.New(c)
			if err != nil {
				return err
			}
			err = p.Run(cmd.Context())
			s := p.Status()
			fmt.Fprintf(a.out, "projected %d events up to sequence %d; %d duplicates, %d quarantined\n", s.Events, s.Committed, s.Duplicates, s.Quarantined)
			return err
		},
	}
	cmd.Flags().BoolVar(&untilCaughtUp, "until-caught-up", false, "stop once level with the stream")
	return cmd
}
