// Package keyfile keeps the key rings of tenants in a data folder, and the ring of the ledger, which
// signs the heads of the log. Each ring has one file, which only its owner can read, or which root
// lets a group read.
package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/ctxledger/ctxledger/schema"
)

const (
	folder    = "keys"
	extension = ".keys"
)

// Folder returns the folder of keys in a data folder.
func Folder(data string) string { return filepath.Join(data, folder) }

func path(data, tenant string) string {
	return filepath.Join(data, folder, url.PathEscape(tenant)+extension)
}

// Open returns the tenant's ring. A missing ring is created with a first key. Processes that
// open a ring at the same time get the same one. A folder that has the ring may be one that takes
// no files.
func Open(data, tenant string) (schema.KeyRing, error) {
	if ring, err := read(data, tenant); err != nil || len(ring.Keys) > 0 {
		return ring, err
	}
	return change(data, tenant, func(ring schema.KeyRing) (schema.KeyRing, error) {
		if len(ring.Keys) > 0 {
			return ring, nil
		}
		return ring.Rotate(time.Now())
	})
}

// Rotate adds a key to the tenant's ring and makes it the current key. Old keys remain, because
// digests name them.
func Rotate(data, tenant string) (schema.KeyRing, error) {
	return change(data, tenant, func(ring schema.KeyRing) (schema.KeyRing, error) { return ring.Rotate(time.Now()) })
}

// List returns every ring of the folder, sorted by file name.
func List(data string) ([]schema.KeyRing, error) {
	files, err := filepath.Glob(filepath.Join(data, folder, "*"+extension))
	if err != nil {
		return nil, err
	}
	var rings []schema.KeyRing
	for _, file := range files {
		tenant, err := url.PathUnescape(strings.TrimSuffix(filepath.Base(file), extension))
		if err != nil {
			return nil, fmt.Errorf("key file %s: the file name is not an escaped tenant: rename or move the file", file)
		}
		ring, err := read(data, tenant)
		if err != nil {
			return nil, err
		}
		rings = append(rings, ring)
	}
	return rings, nil
}

func read(data, tenant string) (schema.KeyRing, error) {
	file := path(data, tenant)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return schema.KeyRing{Tenant: tenant}, nil
	}
	if err != nil {
		return schema.KeyRing{}, fmt.Errorf("read keys: %w", err)
	}
	if err := checkPrivate(file); err != nil {
		return schema.KeyRing{}, err
	}
	ring, err := schema.ParseKeyRing(text)
	if err != nil {
		return ring, fmt.Errorf("key file %s: %w", file, err)
	}
	if ring.Tenant != tenant {
		return ring, fmt.Errorf("key file %s holds the keys of tenant %q: rename it to that tenant's name", file, ring.Tenant)
	}
	return ring, nil
}

// change edits a ring under a lock and replaces its file atomically.
func change(data, tenant string, edit func(schema.KeyRing) (schema.KeyRing, error)) (schema.KeyRing, error) {
	file := path(data, tenant)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return schema.KeyRing{}, fmt.Errorf("make the key folder: %w", err)
	}
	lock := flock.New(filepath.Join(filepath.Dir(file), ".lock"))
	if err := lock.Lock(); err != nil {
		return schema.KeyRing{}, fmt.Errorf("lock the key folder: %w", err)
	}
	defer lock.Unlock()
	ring, err := read(data, tenant)
	if err != nil {
		return ring, err
	}
	count := len(ring.Keys)
	if ring, err = edit(ring); err != nil || len(ring.Keys) == count {
		return ring, err
	}
	return ring, replace(file, ring.Format())
}

func replace(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	return nil
}
