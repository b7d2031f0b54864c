package embedded

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// fakeNPM puts a program with the name npm first on the PATH. The script finds the destination in
// $DEST and a good package in $PACKAGE, and counts its runs in $RUNS.
func fakeNPM(t *testing.T, script string) (f fetcher, runs func() int) {
	t.Helper()
	bin := t.TempDir()
	library := bytes.Repeat([]byte("library "), 1000)
	packed := tarball(t, map[string][]byte{"package/index.js": []byte("x"), "package/libchdb.so": library})
	packagePath, runsPath := filepath.Join(bin, "good.tgz"), filepath.Join(bin, "runs")
	if err := os.WriteFile(packagePath, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	script = "#!/bin/sh\necho run >> " + runsPath + "\nPACKAGE=" + packagePath + "\n" +
		`while [ $# -gt 0 ]; do case "$1" in --pack-destination) DEST="$2";; esac; shift; done` + "\n" +
		"echo 'npm warn something harmless' >&2\n" + script
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	sum := sha512.Sum512(packed)
	f = fetcher{
		pin: pin{name: "@example/lib", version: "1.0.0", sha512: base64.StdEncoding.EncodeToString(sum[:]),
			member: "package/libchdb.so", packed: int64(len(packed)), unpacked: int64(len(library))},
		dir:  filepath.Join(t.TempDir(), "engine"),
		free: func(string) (uint64, error) { return 1 << 40, nil },
	}
	return f, func() int {
		data, _ := os.ReadFile(runsPath)
		return strings.Count(string(data), "run")
	}
}

func tarball(t *testing.T, members map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for name, data := range members {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const packs = `cp "$PACKAGE" "$DEST/example.tgz"; echo '[{}]'`

// onlyLock fails if the folder holds more than its lock.
func onlyLock(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "lock" {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestFetchOnceForMany(t *testing.T) {
	f, runs := fakeNPM(t, "sleep 0.3\n"+packs)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var steps []string
	f.progress = func(step string, _, _ int64) { mu.Lock(); defer mu.Unlock(); steps = append(steps, step) }
	for range 4 {
		wg.Go(func() {
			path, err := f.fetch(t.Context())
			if err != nil || path != f.library() {
				t.Errorf("fetch gives %q and %v", path, err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() != f.pin.unpacked {
				t.Errorf("the library is not whole: %v", err)
			}
		})
	}
	wg.Wait()
	if n := runs(); n != 1 {
		t.Errorf("npm ran %d times", n)
	}
	for _, want := range []string{"Waiting", "Downloading", "Checking", "Unpacking"} {
		if !strings.Contains(strings.Join(steps, "\n"), want) {
			t.Errorf("no progress says %q", want)
		}
	}
	if err := os.Truncate(f.library(), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := f.fetch(t.Context()); err != nil || runs() != 2 || !f.cached() {
		t.Errorf("a library that was cut short is not replaced: %v", err)
	}
}

func TestFetchFails(t *testing.T) {
	wrong := func(f *fetcher) { f.pin.sha512 = "x" }
	for name, c := range map[string]struct {
		script string
		change func(*fetcher)
		want   error
		says   []string
	}{
		"wrong checksum":    {packs, wrong, errChecksum, []string{"CTXLEDGER_LIBCHDB"}},
		"cut short":         {`head -c 100 "$PACKAGE" > "$DEST/example.tgz"`, nil, errChecksum, nil},
		"no network":        {`echo '{"error":{"code":"ENOTFOUND","summary":"to secret.host"}}'; exit 1`, nil, errNoNetwork, []string{"ENOTFOUND", "network"}},
		"unknown package":   {`echo '{"error":{"code":"E404"}}'; exit 1`, nil, errNPM, []string{"@example/lib@1.0.0"}},
		"npm breaks":        {`exit 7`, nil, errNPM, []string{"exit status 7"}},
		"npm packs nothing": {`echo '[]'`, nil, errNPM, []string{"0 packages"}},
		"another library":   {packs, func(f *fetcher) { f.pin.member = "package/other.so" }, errNPM, []string{"package/other.so"}},
		"disk full before":  {packs, func(f *fetcher) { f.free = func(string) (uint64, error) { return 1000, nil } }, errDiskFull, []string{"bytes", "CTXLEDGER_CACHE"}},
		"disk full in npm":  {`echo 'npm error ENOSPC: no space' >&2; exit 1`, nil, errDiskFull, []string{"bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			f, runs := fakeNPM(t, c.script)
			if c.change != nil {
				c.change(&f)
			}
			_, err := f.fetch(t.Context())
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, not %v", err, c.want)
			}
			for _, says := range append(c.says, "") {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q does not say %q", err, says)
				}
			}
			if strings.Contains(err.Error(), "secret.host") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is more than one clear sentence", err)
			}
			if errors.Is(err, errDiskFull) && !strings.Contains(err.Error(), f.dir) {
				t.Errorf("%q does not name the folder", err)
			}
			if name == "disk full before" && runs() != 0 {
				t.Error("npm ran without room for what it fetches")
			}
			onlyLock(t, f.dir)
		})
	}
	t.Run("no npm", func(t *testing.T) {
		f, _ := fakeNPM(t, packs)
		t.Setenv("PATH", t.TempDir())
		if _, err := f.fetch(t.Context()); !errors.Is(err, errNoNPM) || !strings.Contains(err.Error(), "CTXLEDGER_LIBCHDB") {
			t.Errorf("got %v", err)
		}
		onlyLock(t, f.dir)
	})
}

// The error of every write when the disk is full.
func TestFetchWordsAFullDisk(t *testing.T) {
	f, _ := fakeNPM(t, packs)
	err := f.ioError("unpack the library", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if !errors.Is(err, errDiskFull) || !strings.Contains(err.Error(), f.dir) || !strings.Contains(err.Error(), fmt.Sprint(f.spaceNeeded())) {
		t.Errorf("got %v", err)
	}
}

func TestFetchInterrupted(t *testing.T) {
	f, runs := fakeNPM(t, `if [ "$(wc -l < `+"$(dirname $PACKAGE)/runs"+`)" = 1 ]; then cp "$PACKAGE" "$DEST/half.tgz.part"; sleep 60; fi`+"\n"+packs)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for runs() == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	begun := time.Now()
	if _, err := f.fetch(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("it took %s to give up", d)
	}
	onlyLock(t, f.dir)

	// The files that a killed fetch leaves.
	stale := filepath.Join(f.dir, workPrefix+"stale", "pack")
	if err := os.MkdirAll(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stale, "half.tgz"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := f.fetch(t.Context()); err != nil || path != f.library() {
		t.Fatalf("the next fetch: %v", err)
	}
	if err := os.Remove(f.library()); err != nil {
		t.Fatal(err)
	}
	onlyLock(t, f.dir)
}

func TestFetchWithoutPin(t *testing.T) {
	saved := pins
	t.Cleanup(func() { pins = saved })
	pins = nil
	_, err := fetchInto(t.Context(), t.TempDir(), nil)
	if !errors.Is(err, errNoPin) {
		t.Fatalf("got %v", err)
	}
	for _, says := range []string{platform(), "CTXLEDGER_LIBCHDB", "`clickhouse`"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
}
