// Command ctxledger records the context windows of AI agents, and answers questions about
// them. Run `ctxledger help`.
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
	context.AfterFunc(ctx, stop) // the first signal ends in order, a second one immediately
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
