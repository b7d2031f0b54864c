package bundle

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A File is a part of the bundle. Read returns text as a string, and everything else for JSON.
type File struct {
	Name string
	Read func(context.Context) (any, error)
}

// failure is the content of a part that could not be read.
type failure struct {
	Error string `json:"error"`
}

// Write reads the parts and writes them to a new file that only its owner can read. secrets are
// values that no part may hold. Write replaces no file.
func Write(ctx context.Context, path string, files []File, secrets []string) error {
	if _, err := os.Lstat(path); err == nil {
		return taken(path)
	}
	mask, err := newMask(secrets)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, file := range files {
		text, err := file.text(ctx, mask)
		if err != nil {
			return fmt.Errorf("pack %s: %w", file.Name, err)
		}
		part, err := archive.Create(file.Name)
		if err != nil {
			return fmt.Errorf("pack %s: %w", file.Name, err)
		}
		if _, err := part.Write(text); err != nil {
			return fmt.Errorf("pack %s: %w", file.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("pack the bundle: %w", err)
	}
	return store(path, packed.Bytes())
}

// text reads a part and masks it.
func (f File) text(ctx context.Context, m *mask) ([]byte, error) {
	content, err := f.Read(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		content = failure{err.Error()}
	}
	if text, ok := content.(string); ok {
		return []byte(m.text(ctx, text)), nil
	}
	encoded, err := json.Marshal(content, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	return m.json(ctx, encoded)
}

func store(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return taken(path)
	}
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(path) // half a bundle
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

func taken(path string) error {
	return fmt.Errorf("%s is already there: give --bundle the name of a new file", strings.TrimSpace(path))
}
