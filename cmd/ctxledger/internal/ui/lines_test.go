package ui_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

type line struct {
	n       int
	text    string
	tooLong bool
}

func readLines(t interface{ Fatal(...any) }, r io.Reader, limit int) (got []line) {
	err := ui.ReadLines(r, limit, func(n int, text []byte, err error) error {
		got = append(got, line{n, string(text), errors.Is(err, ui.ErrLineTooLong)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200<<10)
	for _, c := range []struct {
		name, in string
		want     []line
	}{
		{"nothing", "", nil},
		{"one", "a\n", []line{{1, "a", false}}},
		{"no line end at the end", "a\nb", []line{{1, "a", false}, {2, "b", false}}},
		{"empty lines", "\n\na\n", []line{{1, "", false}, {2, "", false}, {3, "a", false}}},
		{"CRLF", "a\r\nb\r\n", []line{{1, "a", false}, {2, "b", false}}},
		{"too long between others", "a\n" + long + "\nb\n", []line{{1, "a", false}, {2, "", true}, {3, "b", false}}},
		{"too long and last", "a\n" + long, []line{{1, "a", false}, {2, "", true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := readLines(t, strings.NewReader(c.in), 100<<10); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// TestReadAny: whatever the lines and however they arrive, each is read once,
// in order.
func TestReadAny(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.StringMatching("[a-z]{0,12}")).Draw(t, "lines")
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		var want []line
		for i, text := range texts {
			if len(text)+1 > limit { // the limit counts the line's end
				want = append(want, line{i + 1, "", true})
				continue
			}
			want = append(want, line{i + 1, text, false})
		}
		in := ""
		if len(texts) > 0 {
			in = strings.Join(texts, "\n") + "\n"
		}
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), ui.Until(context.Background(), iotest.DataErrReader(strings.NewReader(in)))} {
			if got := readLines(t, r, limit); !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	})
}

func TestReadStops(t *testing.T) {
	t.Parallel()
	enough, n := errors.New("enough"), 0
	err := ui.ReadLines(strings.NewReader("a\nb\n"), 10, func(int, []byte, error) error { n++; return enough })
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("got %v after %d lines", err, n)
	}
	broken := errors.New("broken")
	if err := ui.ReadLines(iotest.ErrReader(broken), 10, nil); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestUntilEndsWhileTheReaderBlocks(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go w.Write([]byte("a\n"))
	n := 0
	err := ui.ReadLines(ui.Until(ctx, r), 10, func(int, []byte, error) error {
		n++
		time.AfterFunc(20*time.Millisecond, cancel) // while the next read blocks
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 1 {
		t.Errorf("got %v after %d lines, want a cancellation after 1", err, n)
	}
}
