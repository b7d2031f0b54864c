// Package objects keeps backups in an S3-compatible store.
//
// The objects of a backup are its files, below <prefix>/<name of the backup>/. The manifest is stored
// last: a backup without it does not exist. While a backup is being stored, the object
// <prefix>/.partial has its name. A killed upload leaves that object, by which the next upload removes
// the rest. One installation needs one prefix.
//
// A store has no locks. The lease of backups keeps two uploads of one installation apart.
package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/ctxledger/ctxledger/projector/backup"
)

// Scheme begins the address of a store, as in s3://bucket/prefix.
const Scheme = "s3://"

// DefaultEndpoint is the store of addresses without another endpoint.
const DefaultEndpoint = "https://s3.amazonaws.com"

var (
	// ErrCredentials means that the store refuses the credentials, or there are none.
	ErrCredentials = errors.New("the store refuses the credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to a user that may list, read, write and delete below the prefix")
	// ErrNoBucket means that the bucket does not exist.
	ErrNoBucket = errors.New("the bucket does not exist: make it, or name another one")
	// ErrTaken means that another installation has stored a backup of this name meanwhile.
	ErrTaken = errors.New("another installation has just stored a backup of this name, and nothing was changed: give each installation a prefix of its own")
	// ErrUnreachable means that the store does not answer.
	ErrUnreachable = errors.New("the store cannot be reached: check --s3-endpoint and the network")
)

// Store is a prefix of a bucket. Safe for concurrent use.
type Store struct {
	client         *minio.Client
	bucket, prefix string // the prefix has no slash at its ends, or is ""
}

// Open returns the store of an address s3://bucket/prefix, without asking it. The credentials come from
// the environment variables of AWS, from its file of credentials, or from the machine's role. transport
// may be nil.
func Open(address, endpoint string, transport http.RoundTripper) (*Store, error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	bucket, prefix, _ := strings.Cut(rest, "/")
	if !ok || bucket == "" {
		return nil, fmt.Errorf("%q: want s3://bucket/prefix", address)
	}
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("the endpoint %q of the store: want an address such as %s", endpoint, DefaultEndpoint)
	}
	region := os.Getenv("AWS_REGION")
	if region == "" {
		region = "us-east-1"
	}
	client, err := minio.New(at.Host, &minio.Options{
		Secure: at.Scheme == "https", Region: region, Transport: transport,
		Creds: credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{}}),
	})
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	return &Store{client, bucket, strings.Trim(prefix, "/")}, nil
}

// Split returns the address of a store and the name of a backup in it, from the address of a backup.
func Split(address string) (store, name string, err error) {
	store, name = path.Split(strings.TrimRight(address, "/"))
	if !strings.HasPrefix(name, backup.NamePrefix) {
		return "", "", fmt.Errorf("%q: want the address of a backup, such as s3://bucket/prefix/%s…; `ctxledger backup list` shows them", address, backup.NamePrefix)
	}
	return store, name, nil
}

// partial is the name of the object that has the name of a backup while it is being stored.
const partial = ".partial"

// parallel is the number of objects that are sent or received at a time.
const parallel = 4

func (s *Store) key(parts ...string) string {
	return path.Join(append([]string{s.prefix}, parts...)...)
}

// Has reports whether the store has a whole backup of this name. Errors: [ErrCredentials], [ErrNoBucket],
// [ErrUnreachable], or one of the store.
func (s *Store) Has(ctx context.Context, name string) (bool, error) {
	files := backup.ManifestFiles()
	_, err := s.get(ctx, s.key(name, files[len(files)-1]))
	if isMissing(err) {
		return false, nil
	}
	return err == nil, wrap(err)
}

// Put stores a whole backup. The call may be repeated after every error. Put first removes what a killed
// call has left. Errors: [ErrTaken], [ErrCredentials], [ErrNoBucket], [ErrUnreachable], or one of the store.
func (s *Store) Put(ctx context.Context, dir string, told backup.Progress) error {
	m, err := backup.ReadManifest(dir)
	if err != nil {
		return err
	}
	if err := s.clear(ctx); err != nil {
		return wrap(err)
	}
	switch taken, err := s.Has(ctx, m.Name); {
	case err != nil:
		return err
	case taken:
		return ErrTaken
	}
	files := backup.ManifestFiles()
	if err := s.put(ctx, s.key(partial), []byte(m.Name)); err != nil {
		return wrap(err)
	}
	done := counter{told: told, step: "storing the backup", total: m.Bytes()}
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, f := range m.Files {
		group.Go(func() error {
			_, err := s.client.FPutObject(sending, s.bucket, s.key(m.Name, f.Path), filepath.Join(dir, filepath.FromSlash(f.Path)), minio.PutObjectOptions{SendContentMd5: true})
			done.add(f.Bytes)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return wrap(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := s.put(ctx, s.key(m.Name, name), text); err != nil {
			return wrap(err)
		}
	}
	return wrap(s.client.RemoveObject(ctx, s.bucket, s.key(partial), minio.RemoveObjectOptions{}))
}

// clear removes the objects of a backup whose upload was killed.
func (s *Store) clear(ctx context.Context) error {
	name, err := s.get(ctx, s.key(partial))
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	whole, err := s.Has(ctx, string(name))
	if err != nil {
		return err
	}
	if !whole && strings.HasPrefix(string(name), backup.NamePrefix) {
		for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.key(string(name)) + "/", Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			if err := s.client.RemoveObject(ctx, s.bucket, object.Key, minio.RemoveObjectOptions{}); err != nil {
				return err
			}
		}
	}
	return s.client.RemoveObject(ctx, s.bucket, s.key(partial), minio.RemoveObjectOptions{})
}

// Fetch writes the files of a backup to a new folder, or only the named ones. [backup.Verify] then
// compares all files with the manifest. Errors are those of Put, and [backup.ErrNoBackup].
func (s *Store) Fetch(ctx context.Context, name, dir string, told backup.Progress, only ...string) error {
	if err := s.fetchManifest(ctx, name, dir); err != nil {
		return err
	}
	m, err := backup.ReadManifest(dir)
	if err != nil {
		return err
	}
	done := counter{told: told, step: "fetching the backup", total: m.Bytes()}
	if i := slices.IndexFunc(m.Files, func(f backup.File) bool { return !filepath.IsLocal(filepath.FromSlash(f.Path)) }); i >= 0 {
		return fmt.Errorf("%w: the manifest names the file %q", backup.ErrChanged, m.Files[i].Path)
	}
	group, receiving := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, f := range m.Files {
		if len(only) > 0 && !slices.Contains(only, f.Path) {
			continue
		}
		group.Go(func() error {
			err := s.client.FGetObject(receiving, s.bucket, s.key(name, f.Path), filepath.Join(dir, filepath.FromSlash(f.Path)), minio.GetObjectOptions{})
			done.add(f.Bytes)
			if isMissing(err) {
				return nil // [backup.Verify] names all missing files
			}
			return err
		})
	}
	return wrap(group.Wait())
}

// FetchManifests writes the manifests of all backups of the store to folders below dir, for
// [backup.List]. Errors are those of Put.
func (s *Store) FetchManifests(ctx context.Context, dir string) error {
	below := s.key()
	if below != "" {
		below += "/"
	}
	for object := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: below + backup.NamePrefix}) {
		if object.Err != nil {
			return wrap(object.Err)
		}
		name := path.Base(object.Key)
		if err := s.fetchManifest(ctx, name, filepath.Join(dir, name)); err != nil && !errors.Is(err, backup.ErrNoBackup) {
			return err
		}
	}
	return nil
}

func (s *Store) fetchManifest(ctx context.Context, name, dir string) error {
	for _, file := range backup.ManifestFiles() {
		text, err := s.get(ctx, s.key(name, file))
		if isMissing(err) {
			return fmt.Errorf("%s: %w", name, errors.Join(backup.ErrNoBackup, os.RemoveAll(dir)))
		}
		if err != nil {
			return wrap(err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) put(ctx context.Context, key string, text []byte) error {
	_, err := s.client.PutObject(ctx, s.bucket, key, bytes.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
	return err
}

func (s *Store) get(ctx context.Context, key string) ([]byte, error) {
	object, err := s.client.GetObject(ctx, s.bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return nil, err
	}
	defer object.Close()
	return io.ReadAll(object)
}

func isMissing(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchKey }

// wrap gives an error of the store its meaning. The texts of the store hold no secret.
func wrap(err error) error {
	var dial *net.OpError
	switch code := minio.ToErrorResponse(err).Code; {
	case err == nil:
		return nil
	case code == minio.NoSuchBucket:
		return fmt.Errorf("%w (%s)", ErrNoBucket, code)
	case code == minio.AccessDenied, code == "InvalidAccessKeyId", code == "SignatureDoesNotMatch", code == "ExpiredToken", code == "InvalidToken":
		return fmt.Errorf("%w (%s)", ErrCredentials, code)
	case errors.As(err, &dial):
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return fmt.Errorf("the store of backups: %w", err)
}
