package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// The layout of a data folder, which is 0700 because of what it holds:
//
//	lock               held while servers run
//	credentials.json   passwords, made once (0600)
//	servers.json       addresses of the running servers (0600); Close removes it
//	ports.json         the ports of the last start that kept its ports
//	connect/           addresses and passwords for clients, one a file (0600)
//	nats/              JetStream's files
//	clickhouse/        config.xml, users.xml (0600), clickhouse.log, output.txt
//	clickhouse/config.d/, users.d/   what production has as well; more may be added
//	clickhouse/data/   ClickHouse's files; its `status` is locked by the engine
//	clickhouse/backups/  where BACKUP ... TO File() may write
const (
	lockFile        = "lock"
	credentialsFile = "credentials.json"
	addressesFile   = "servers.json"
	portsFile       = "ports.json"
)

// lockPatience covers a process that was killed a moment ago and that the kernel
// is still taking apart.
const lockPatience = time.Second

// lockDir creates dir and holds it for this process.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(ErrConfig, err, "the data folder %s cannot be created (%v): name another", dir, errors.Unwrap(err))
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	got, err := lock.TryLockContext(ctx, 20*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fail(ErrConfig, err, "the data folder %s cannot be locked (%v): name one that you may write to", dir, err)
	}
	if !got {
		return nil, fail(errFolderInUse, nil, "another ctxledger runs on the data folder %s: stop it, or name another folder", dir)
	}
	return lock, nil
}

// credentials are the passwords of one data folder.
type credentials struct {
	Writer string `json:"clickhouse_writer"`
	Reader string `json:"clickhouse_reader"`
	NATS   string `json:"nats"`
}

// openCredentials reads dir's passwords, or makes them once. The caller holds
// the folder.
func openCredentials(dir string) (credentials, error) {
	path := filepath.Join(dir, credentialsFile)
	var c credentials
	data, err := os.ReadFile(path)
	if err == nil {
		if err = json.Unmarshal(data, &c); err == nil && (c.Writer == "" || c.Reader == "" || c.NATS == "") {
			err = errors.New("a password is missing")
		}
		if err != nil {
			return c, fail(ErrConfig, err, "%s is damaged (%v): remove it and start again, and new passwords are made", path, err)
		}
		return c, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("read the passwords: %w", err)
	}
	c = credentials{Writer: randomPassword(), Reader: randomPassword(), NATS: randomPassword()}
	if err := writeJSON(path, c); err != nil {
		return c, fmt.Errorf("keep the passwords: %w", err)
	}
	return c, nil
}

func randomPassword() string {
	var b [24]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// Addresses say how to reach running servers. The DSNs and the URL contain
// passwords; a field is empty where that server was not started.
type Addresses struct {
	PID           int    `json:"pid"`                      // of the process that runs them
	NATSURL       string `json:"nats_url,omitempty"`       // nats://user:password@127.0.0.1:port
	ClickHouseDSN string `json:"clickhouse_dsn,omitempty"` // the writer's, native protocol
	ReaderDSN     string `json:"reader_dsn,omitempty"`     // the reader's, native protocol
	HTTPURL       string `json:"http_url,omitempty"`       // ClickHouse over HTTP, without user
	ProgramURL    string `json:"program_url,omitempty"`    // health and metrics of the program that runs them
}

// The files for clients in DIR/connect. Each holds one value without a line
// break; only its owner may read it.
const (
	clientFolder       = "connect"
	natsPasswordFile   = "nats.password"
	natsURLFile        = "nats.url"
	readerPasswordFile = "reader.password"
	readerDSNFile      = "reader.dsn"
)

// ClientFiles are the paths of files that hold what a client needs and that must not
// stand in an argument, a log or a program. Every start writes them again.
type ClientFiles struct {
	NATSPassword   string // of the one NATS user
	NATSURL        string // with user and password
	ReaderPassword string // of ClickHouse's reader
	ReaderDSN      string // the reader's, native protocol, with the password
}

// ClientFilesOf returns where the files of the data folder are.
func ClientFilesOf(dir string) ClientFiles {
	in := func(name string) string { return filepath.Join(dir, clientFolder, name) }
	return ClientFiles{
		NATSPassword: in(natsPasswordFile), NATSURL: in(natsURLFile),
		ReaderPassword: in(readerPasswordFile), ReaderDSN: in(readerDSNFile),
	}
}

// writeForClients writes the files of the servers that run.
func (c credentials) writeForClients(dir string, a Addresses) error {
	files := ClientFilesOf(dir)
	texts := make(map[string]string)
	if a.NATSURL != "" {
		texts[files.NATSPassword], texts[files.NATSURL] = c.NATS, a.NATSURL
	}
	if a.ReaderDSN != "" {
		texts[files.ReaderPassword], texts[files.ReaderDSN] = c.Reader, a.ReaderDSN
	}
	if err := os.MkdirAll(filepath.Join(dir, clientFolder), 0o700); err != nil {
		return fmt.Errorf("write the files for clients: %w", err)
	}
	for path, text := range texts {
		if err := writeFile(path, []byte(text)); err != nil {
			return fmt.Errorf("write the files for clients: %w", err)
		}
	}
	return nil
}

// Find returns the addresses of the servers that another process runs on dir,
// or ErrNotRunning.
func Find(dir string) (Addresses, error) {
	var a Addresses
	none := fail(ErrNotRunning, nil, "no ctxledger runs on the data folder %s: start one with `ctxledger up --data %[1]s`", dir)
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetFlag(os.O_RDONLY))
	got, err := lock.TryRLock()
	if got {
		lock.Unlock()
	}
	if errors.Is(err, fs.ErrNotExist) || got {
		return a, none
	}
	if err != nil {
		return a, fmt.Errorf("find the running servers: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, addressesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return a, none // about to be ready, or about to be gone
	}
	if err != nil {
		return a, fmt.Errorf("find the running servers: %w", err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("find the running servers: %w", err)
	}
	return a, nil
}

// writeJSON replaces path whole, readable by its owner only.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'))
}

// writeFile replaces path whole and synced, readable by its owner only.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), workPrefix+"*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
