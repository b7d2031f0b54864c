package browsertest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/gofrs/flock"
)

// A pin is one package of npm with the digest of its tarball.
type pin struct{ name, version, sha512 string }

var (
	chromium = pin{"@sparticuz/chromium", "153.0.0", "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="}
	axe      = pin{"axe-core", "4.14.1", "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="}
)

// fetch returns the folder of the browser. It fills the folder first if it is not there. One
// process at a time does so.
func fetch(ctx context.Context) (string, error) {
	cache := os.Getenv("CTXLEDGER_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find the cache: %w", err)
		}
		cache = filepath.Join(user, "ctxledger")
	}
	dir := filepath.Join(cache, "browser", chromium.version+"-"+axe.version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	lock := flock.New(dir + ".lock")
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the cache: %w", err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "fetch-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the browser: %w", err)
	}
	defer os.RemoveAll(work)
	made := filepath.Join(work, "made")
	for _, p := range []pin{chromium, axe} {
		if err := p.unpack(ctx, work, made); err != nil {
			return "", fmt.Errorf("fetch %s: %w", p.name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(made, "fonts.conf"), []byte(fontsOf(dir)), 0o644); err != nil {
		return "", fmt.Errorf("write the settings of fonts: %w", err)
	}
	if err := os.Rename(made, dir); err != nil {
		return "", fmt.Errorf("put the browser in its place: %w", err)
	}
	return dir, nil
}

// fontsOf are settings of fontconfig that find the fonts of the package and of the machine.
func fontsOf(dir string) string {
	return `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>` + dir + `/fonts</dir><dir>/usr/share/fonts</dir><cachedir>` + dir + `/fontcache</cachedir>` +
		`<alias binding="same"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>` +
		`<alias binding="same"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias></fontconfig>`
}

// unpack downloads the package, compares its digest, and writes its files.
func (p pin) unpack(ctx context.Context, work, to string) error {
	command := exec.CommandContext(ctx, "npm", "pack", p.name+"@"+p.version, "--pack-destination", work, "--ignore-scripts", "--silent")
	command.Dir = work
	said, err := command.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(work, strings.TrimSpace(string(said))))
	if err != nil {
		return err
	}
	if sum := sha512.Sum512(text); base64.StdEncoding.EncodeToString(sum[:]) != p.sha512 {
		return errors.New("the digest of the package is not the pinned one")
	}
	tgz, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return eachFile(tgz, func(name string, r io.Reader) error {
		switch {
		case name == "package/bin/chromium.br":
			return write(filepath.Join(to, "chromium"), brotli.NewReader(r), 0o755)
		case strings.HasPrefix(name, "package/bin/") && strings.HasSuffix(name, ".tar.br"):
			return eachFile(brotli.NewReader(r), func(name string, r io.Reader) error {
				return write(filepath.Join(to, filepath.FromSlash(name)), r, 0o755)
			})
		case name == "package/axe.min.js":
			return write(filepath.Join(to, "axe.min.js"), r, 0o644)
		}
		return nil
	})
}

// eachFile calls f for each regular file of a tar archive. Names stay below the current folder.
func eachFile(r io.Reader, f func(name string, r io.Reader) error) error {
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		if err := f(name, archive); err != nil {
			return err
		}
	}
}

func write(name string, r io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, r)
	return errors.Join(err, file.Close())
}
