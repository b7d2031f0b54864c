package realclient

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sdks holds the pinned packages and the program that uses them.
//
//go:embed sdks emitters
var sdks embed.FS

// Libraries are the client libraries that the program talk.mjs can use.
var Libraries = []string{"openai", "anthropic", "ai", "langchainAnthropic", "langchainOpenAI", "agents"}

// Emitters are the emitters of OpenTelemetry that the program emit.mjs can use.
var Emitters = []string{"ai anthropic", "ai openai", "openinference", "openllmetry"}

// Emitter returns a program that lets an emitter of OpenTelemetry tell of a conversation with the
// model at a base URL, to the OTLP receiver at another. It prints the last text.
func Emitter(t testing.TB) *Client { return packaged(t, "emitters", "emit.mjs") }

// Library returns a program that lets a client library talk to the model at a base URL. It
// prints one line a conversation: its name and its last text.
func Library(t testing.TB) *Client { return packaged(t, "sdks", "talk.mjs") }

// packaged returns a program of a folder, with the packages of the folder.
func packaged(t testing.TB, folder, program string) *Client {
	t.Helper()
	c := newClient(t, nodePins[platform()], "")
	packages := fetched(t, func(ctx context.Context, cache string) (string, error) { return fetchPackages(ctx, cache, folder) })
	text, err := sdks.ReadFile(folder + "/" + program)
	if err == nil {
		err = errors.Join(os.Symlink(packages, filepath.Join(c.Dir, "node_modules")), os.WriteFile(filepath.Join(c.Dir, program), text, 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fetchPackages returns the folder of the pinned packages.
func fetchPackages(ctx context.Context, cache, name string) (string, error) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("fetch the client libraries: %w: install Node.js with npm", err)
	}
	lock, err := sdks.ReadFile(name + "/package-lock.json")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(lock)
	folder, err := fetchOnce(ctx, cache, name+"-"+hex.EncodeToString(sum[:6]), "node_modules/openai/package.json", func(work, into string) error {
		if err := os.CopyFS(work, sdks); err != nil {
			return fmt.Errorf("fetch the client libraries: %w", err)
		}
		if err := os.Rename(filepath.Join(work, name), into); err != nil {
			return fmt.Errorf("fetch the client libraries: %w", err)
		}
		cmd := exec.CommandContext(ctx, npm, "ci", "--cache", filepath.Join(work, "npm"), "--ignore-scripts", "--silent", "--no-audit", "--no-fund", "--fetch-retries=2")
		cmd.Dir = into
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("fetch the client libraries: %w: run `npm ci` in a copy of the folder %s to see why", err, name)
		}
		return nil
	})
	return filepath.Join(folder, "node_modules"), err
}
