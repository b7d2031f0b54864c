package ui

import (
	"context"
	"io"
)

// Until returns a reader of r whose Read returns the error of ctx once ctx ends. This
// holds even while r blocks on a silent pipe or terminal. A Read that
// is left behind ends with the process, so r must not be used afterwards.
func Until(ctx context.Context, r io.Reader) io.Reader { return &until{ctx: ctx, r: r} }

type until struct {
	ctx    context.Context
	r      io.Reader
	buffer [64 << 10]byte // filled by the read behind; p stays with the caller
	left   []byte         // of buffer, not given out yet
	err    error
}

func (u *until) Read(p []byte) (int, error) {
	if len(u.left) == 0 {
		if err := u.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, u.left)
	u.left = u.left[n:]
	return n, nil
}

func (u *until) fill() error {
	if u.err == nil {
		u.err = u.ctx.Err()
	}
	if u.err != nil {
		return u.err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := u.r.Read(u.buffer[:])
		done <- result{n, err}
	}()
	select {
	case <-u.ctx.Done():
		u.err = u.ctx.Err()
		return u.err
	case got := <-done:
		u.left, u.err = u.buffer[:got.n], got.err
		if got.n > 0 {
			return nil
		}
		return u.err
	}
}
