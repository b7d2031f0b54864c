package main

import (
	"context"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/demo"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/spf13/cobra"
)

func (a *app) showDemo(ctx context.Context, l *ledger.Ledger, s demo.Shown, last uint64, keep string) error {
	return nil
}
func (a *app) queryCommand() *cobra.Command  { return &cobra.Command{Use: "query"} }
func (a *app) windowCommand() *cobra.Command { return &cobra.Command{Use: "window"} }
