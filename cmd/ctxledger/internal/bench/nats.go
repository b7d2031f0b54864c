package bench

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// ServeNATS runs NATS in dir until ctx or in ends. ServeNATS writes the address, which holds a
// password, to out as one line. [Run] starts ServeNATS in a child process to separate the
// server's CPU time and memory.
func ServeNATS(ctx context.Context, dir string, in io.Reader, out io.Writer) (err error) {
	c := embedded.DefaultConfig(dir)
	c.NoClickHouse = true
	s, err := embedded.Start(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := fmt.Fprintln(out, s.NATSURL()); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, in) // ends when the parent ends
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return nil
}

// ServeCommand is the command line of `ctxledger` that calls ServeNATS.
var ServeCommand = []string{"bench", "serve-nats"}

// natsChild is ServeNATS in a separate process.
type natsChild struct {
	*child
	url string
}

func startNATS(ctx context.Context, dir string) (*natsChild, error) {
	c, err := startChild("NATS", nil, append(ServeCommand, "--data", dir)...)
	if err != nil {
		return nil, err
	}
	url, err := c.line(ctx)
	return &natsChild{c, url}, err
}
