package realclient

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeNPM puts a program with the name npm first on the PATH. It counts its runs and leaves the
// tarball in the folder of --pack-destination.
func fakeNPM(t *testing.T, tarball []byte) (runs func() int) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\necho run >> '" + bin + "/runs'\ncp '" + bin + "/package.tar' \"$4/client.tgz\"\n"
	for name, content := range map[string][]byte{"npm": []byte(script), "package.tar": tarball} {
		if err := os.WriteFile(filepath.Join(bin, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	return func() int {
		text, err := os.ReadFile(filepath.Join(bin, "runs"))
		if err != nil {
			return 0
		}
		return strings.Count(string(text), "run")
	}
}

func packageOf(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func pinOf(tarball []byte) pin {
	sum := sha512.Sum512(tarball)
	return pin{name: "small", spec: "small@1.0.0", version: "1.0.0", sha512: base64.StdEncoding.EncodeToString(sum[:]), members: []string{"bin/a", "b"}, program: "bin/a"}
}

// TestFetchOnce fetches a package twice and finds only the members of the client. The second
// fetch uses the cache.
func TestFetchOnce(t *testing.T) {
	tarball := packageOf(t, map[string]string{"package/bin/a": "#!/bin/sh\n", "package/b": "x", "package/../../evil": "y", "package/other": "z"})
	runs := fakeNPM(t, tarball)
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "small-1.0.0-"+platform()+".tmp-1"), 0o755); err != nil { // of an interrupted fetch
		t.Fatal(err)
	}
	for range 2 {
		program, err := pinOf(tarball).fetch(t.Context(), cache)
		if err != nil || !isFile(program) {
			t.Fatal(program, err)
		}
	}
	if runs() != 1 {
		t.Errorf("npm ran %d times", runs())
	}
	var files []string
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		found, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) != 5 { // lock, folder, bin, bin/a, b
		t.Errorf("the cache holds %q", files)
	}
}

// TestFetchRefuses gives tarballs that are not the pinned one, and one without a member. Nothing
// remains under the final name.
func TestFetchRefuses(t *testing.T) {
	good := packageOf(t, map[string]string{"package/bin/a": "a", "package/b": "b"})
	lacking := packageOf(t, map[string]string{"package/bin/a": "a"})
	for name, test := range map[string]struct {
		sent []byte
		pin  pin
		want string
	}{
		"other bytes":    {append(bytes.Clone(good), 0), pinOf(good), "another sha512"},
		"cut":            {good[:len(good)/2], pinOf(good), "another sha512"},
		"member missing": {lacking, pinOf(lacking), "does not contain b"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeNPM(t, test.sent)
			cache := t.TempDir()
			_, err := test.pin.fetch(t.Context(), cache)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 1 { // the lock
				t.Errorf("the cache holds %q", left)
			}
		})
	}
}
