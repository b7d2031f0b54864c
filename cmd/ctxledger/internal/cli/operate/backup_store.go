package operate

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/projector/backup"
	"github.com/ctxledger/ctxledger/projector/backup/objects"
)

// storeHelp describes the flags of stores.
const storeHelp = `
A store that speaks S3 is named as s3://bucket/prefix; one installation needs one prefix.
The credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from the file of
credentials of AWS, or from the role of the machine, and the region from AWS_REGION.
Before a backup is sent and after it is fetched, it lies in the folder --work.`

// storeFlags say where a store is.
type storeFlags struct{ endpoint, work string }

func (s *storeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.endpoint, "s3-endpoint", "", "address of the store of s3:// (default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, "+objects.DefaultEndpoint+")")
	f.StringVar(&s.work, "work", "", "folder for a backup on its way to or from a store (default: backup-work in the data folder)")
}

func (s *storeFlags) workFolder(a *cli.App) string {
	return cmp.Or(s.work, filepath.Join(a.Flags.Data, "backup-work"))
}

func isStore(address string) bool { return strings.HasPrefix(address, objects.Scheme) }

func (s *storeFlags) open(a *cli.App, address string) (*objects.Store, error) {
	endpoint := cmp.Or(s.endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), objects.DefaultEndpoint)
	var transport http.RoundTripper
	if a.Flags.CA != "" {
		known, err := ledger.ReadAuthorities(a.Flags.CA)
		if err != nil {
			return nil, cli.UsageError("--ca: %w", err)
		}
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = &tls.Config{RootCAs: known}
		transport = own
	}
	store, err := objects.Open(address, endpoint, transport)
	if err != nil {
		return nil, cli.WithCode(cli.ExitUsage, err)
	}
	return store, nil
}

// local returns the folder of a backup. A backup of a store is fetched first, with the backups that it
// needs next to it. If files are named, only these files of the backup are fetched. Call done at the end,
// which removes what was fetched.
func (s *storeFlags) local(ctx context.Context, a *cli.App, address string, only ...string) (dir string, done func(), err error) {
	if !isStore(address) {
		return address, func() {}, nil
	}
	at, name, err := objects.Split(address)
	if err != nil {
		return "", nil, cli.WithCode(cli.ExitUsage, err)
	}
	store, err := s.open(a, at)
	if err != nil {
		return "", nil, err
	}
	work, done, err := s.folder(a)
	if err != nil {
		return "", nil, err
	}
	bars := backupBars{a: a}
	defer bars.done()
	for next := name; ; {
		dir := filepath.Join(work, next)
		if _, err := os.Stat(dir); err == nil { // damaged manifests name each other
			break
		}
		err := store.Fetch(ctx, next, dir, bars.set, only...)
		if errors.Is(err, backup.ErrNoBackup) && next != name { // the caller reads the chain and names the hole
			break
		}
		var m backup.Manifest
		if err == nil {
			m, err = backup.ReadManifest(dir)
		}
		if err != nil {
			done()
			return "", nil, storeError(err)
		}
		if next = m.Base.Name; len(only) > 0 || next != filepath.Base(next) { // no base, or a damaged name
			break
		}
	}
	return filepath.Join(work, name), done, nil
}

// manifests returns a folder with the manifests of all backups of a target. Call done at the end.
func (s *storeFlags) manifests(ctx context.Context, a *cli.App, target string) (dir string, done func(), err error) {
	if !isStore(target) {
		return target, func() {}, nil
	}
	store, err := s.open(a, target)
	if err != nil {
		return "", nil, err
	}
	dir, done, err = s.folder(a)
	if err != nil {
		return "", nil, err
	}
	if err := store.FetchManifests(ctx, dir); err != nil {
		done()
		return "", nil, storeError(err)
	}
	return dir, done, nil
}

// folder makes a new folder in the folder of work.
func (s *storeFlags) folder(a *cli.App) (dir string, done func(), err error) {
	if err := os.MkdirAll(s.workFolder(a), 0o700); err != nil {
		return "", nil, fmt.Errorf("make the folder of work: %w", err)
	}
	if dir, err = os.MkdirTemp(s.workFolder(a), "fetched-"); err != nil {
		return "", nil, fmt.Errorf("make the folder of work: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// receiver is a store that receives a backup. Its errors have exit codes.
type receiver struct {
	store *objects.Store
	told  backup.Progress
}

// Has implements [backup.Store].
func (r receiver) Has(ctx context.Context, name string) (bool, error) {
	has, err := r.store.Has(ctx, name)
	return has, storeError(err)
}

// Put implements [backup.Store].
func (r receiver) Put(ctx context.Context, dir string) error {
	return storeError(r.store.Put(ctx, dir, r.told))
}

// storeError gives an error of a store its exit code.
func storeError(err error) error {
	switch {
	case errors.Is(err, objects.ErrUnreachable):
		return cli.WithCode(cli.ExitUnreachable, err)
	case isDamaged(err):
		return cli.WithCode(cli.ExitNotVerified, err)
	}
	return err
}
