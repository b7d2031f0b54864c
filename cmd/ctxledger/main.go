// Command ctxledger records what AI agents had in their context windows, and
// answers questions about it. Run `ctxledger help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

func main() {
	embedded.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the first signal ends in order, a second one at once
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
