package embedded

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
)

// verify compares the tarball with the pinned sha512, before any of its content is parsed.
func (f fetcher) verify(ctx context.Context, tarball string) error {
	in, err := os.Open(tarball)
	if err != nil {
		return f.ioError("open the package", err)
	}
	defer in.Close()
	hash := sha512.New()
	if _, err := io.Copy(hash, f.counted(ctx, in, "Checking ClickHouse", f.pin.packed)); err != nil {
		return f.ioError("read the package", err)
	}
	if base64.StdEncoding.EncodeToString(hash.Sum(nil)) != f.pin.sha512 {
		return f.wrongChecksum(nil)
	}
	return nil
}

func (f fetcher) wrongChecksum(cause error) error {
	return fail(errChecksum, cause,
		"npm's file for %s@%s has another sha512 than the tested file, so it was deleted: check npm's registry and try again, or set CTXLEDGER_LIBCHDB to a trusted library", f.pin.name, f.pin.version)
}

// unpack extracts the library from the tarball into the file to and syncs the file.
func (f fetcher) unpack(ctx context.Context, tarball, to string) (err error) {
	in, err := os.Open(tarball)
	if err != nil {
		return f.ioError("open the package", err)
	}
	defer in.Close()
	zipped, err := gzip.NewReader(bufio.NewReaderSize(in, 1<<20))
	if err != nil {
		return f.ioError("read the package", err)
	}
	members := tar.NewReader(zipped)
	for {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return fail(errNPM, nil, "the package %s@%s does not contain %s: set CTXLEDGER_LIBCHDB to a library", f.pin.name, f.pin.version, f.pin.member)
		}
		if err != nil {
			return f.ioError("read the package", err)
		}
		if header.Name == f.pin.member && header.Typeflag == tar.TypeReg {
			break
		}
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return f.ioError("unpack the library", err)
	}
	defer func() {
		if closeErr := out.Close(); err == nil && closeErr != nil {
			err = f.ioError("unpack the library", closeErr)
		}
	}()
	n, err := io.Copy(out, f.counted(ctx, members, "Unpacking ClickHouse", f.pin.unpacked))
	if err == nil && n != f.pin.unpacked {
		err = fmt.Errorf("%d bytes instead of %d", n, f.pin.unpacked)
	}
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		return f.ioError("unpack the library", err)
	}
	return nil
}

// counted returns a reader that reads from r, reports progress and ends with ctx.
func (f fetcher) counted(ctx context.Context, r io.Reader, step string, total int64) io.Reader {
	f.progress.report(step, 0, total)
	return &countedReader{ctx: ctx, r: r, report: func(done int64) { f.progress.report(step, done, total) }}
}

type countedReader struct {
	ctx    context.Context
	r      io.Reader
	done   int64
	report func(done int64)
}

func (c *countedReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	before := c.done
	c.done += int64(n)
	if c.done>>22 != before>>22 || errors.Is(err, io.EOF) { // once every 4 MiB
		c.report(c.done)
	}
	return n, err
}
