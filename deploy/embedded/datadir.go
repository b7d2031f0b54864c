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
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// The layout of a data folder. Its mode is 0700, because it holds passwords and data:
//
//	lock               locked while servers run
//	credentials.json   passwords, made once (0600)
//	servers.json       addresses of the running servers (0600); Close removes it
//	ports.json         the ports of the last start that kept its ports
//	connect/           addresses and passwords for clients, one per file (0600)
//	nats/              JetStream's files
//	clickhouse/        config.xml, users.xml (0600), clickhouse.log, output.txt
//	clickhouse/config.d/, users.d/   the same files as in production; more may be added
//	clickhouse/data/   ClickHouse's files; the engine locks its `status`
//	clickhouse/backups/  destination of BACKUP ... TO File()
const (
	lockFile        = "lock"
	credentialsFile = "credentials.json"
	addressesFile   = "servers.json"
	portsFile       = "ports.json"
)

// lockPatience is the wait for the lock of a killed process that the kernel is still removing.
const lockPatience = time.Second

// lockDir creates dir and locks it for this process.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fail(ErrConfig, err, "the data folder %s cannot be created (%v): use another folder", dir, errors.Unwrap(err))
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	got, err := lock.TryLockContext(ctx, 20*time.Millisecond)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return nil, fail(ErrConfig, err, "the data folder %s cannot be locked (%v): use a folder with write permission", dir, err)
	}
	if !got {
		return nil, fail(errFolderInUse, nil, "another ctxledger uses the data folder %s: stop that ctxledger, or use another folder", dir)
	}
	return lock, nil
}

// credentials are the passwords of one data folder.
type credentials struct {
	Writer string `json:"clickhouse_writer"`
	Reader string `json:"clickhouse_reader"`
	NATS   string `json:"nats"`
}

// openCredentials reads the passwords of dir, or makes them once. The caller holds the folder's
// lock.
func openCredentials(dir string) (credentials, error) {
	path := filepath.Join(dir, credentialsFile)
	var c credentials
	data, err := os.ReadFile(path)
	if err == nil {
		if err = json.Unmarshal(data, &c); err == nil && (c.Writer == "" || c.Reader == "" || c.NATS == "") {
			err = errors.New("a password is missing")
		}
		if err != nil {
			return c, fail(ErrConfig, err, "%s is damaged (%v): remove the file and start again to get new passwords", path, err)
		}
		return c, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("read the passwords: %w", err)
	}
	c = credentials{Writer: randomPassword(), Reader: randomPassword(), NATS: randomPassword()}
	if err := writeJSON(path, c); err != nil {
		return c, fmt.Errorf("write the passwords: %w", err)
	}
	return c, nil
}

func randomPassword() string {
	var b [24]byte
	rand.Read(b[:]) // never fails: see crypto/rand
	return hex.EncodeToString(b[:])
}

// Addresses are the addresses of running servers. The DSNs and NATSURL contain passwords. The
// fields of a server that was not started are empty.
type Addresses struct {
	PID           int    `json:"pid"`                      // process id of the program that runs the servers
	NATSURL       string `json:"nats_url,omitempty"`       // nats://user:password@127.0.0.1:port
	ClickHouseDSN string `json:"clickhouse_dsn,omitempty"` // address for the writer, native protocol
	ReaderDSN     string `json:"reader_dsn,omitempty"`     // address for the reader, native protocol
	HTTPURL       string `json:"http_url,omitempty"`       // ClickHouse over HTTP, without user
	ProgramURL    string `json:"program_url,omitempty"`    // health and metrics of the program that runs the servers
}

// The files for clients in DIR/connect. Each file holds one value without a line break. Only the
// owner can read the files.
const (
	clientFolder       = "connect"
	natsPasswordFile   = "nats.password"
	natsURLFile        = "nats.url"
	readerPasswordFile = "reader.password"
	readerDSNFile      = "reader.dsn"
)

// ClientFiles are the paths of the files for clients. The files hold values that must not appear
// in an argument, a log or a program. Every start writes them again.
type ClientFiles struct {
	NATSPassword   string // password of the single NATS user
	NATSURL        string // with user and password
	ReaderPassword string // password of ClickHouse's reader
	ReaderDSN      string // address for the reader, native protocol, with the password
}

// ClientFilesOf returns the paths of these files for the data folder.
func ClientFilesOf(dir string) ClientFiles {
	in := func(name string) string { return filepath.Join(dir, clientFolder, name) }
	return ClientFiles{
		NATSPassword: in(natsPasswordFile), NATSURL: in(natsURLFile),
		ReaderPassword: in(readerPasswordFile), ReaderDSN: in(readerDSNFile),
	}
}

// writeForClients writes the files for the running servers.
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

// Find returns the addresses of the servers that another process runs in dir, or ErrNotRunning.
func Find(dir string) (Addresses, error) {
	var a Addresses
	none := fail(ErrNotRunning, nil, "no ctxledger uses the data folder %s: start one with `ctxledger up --data %s`", dir, shellWord(dir))
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
		return a, none // the servers are starting or stopping
	}
	if err != nil {
		return a, fmt.Errorf("find the running servers: %w", err)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a, fmt.Errorf("find the running servers: %w", err)
	}
	return a, nil
}

// shellWord quotes a path for a POSIX shell if the path needs quotes.
func shellWord(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%"
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// writeJSON replaces the file atomically. Only the owner can read the file.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(data, '\n'))
}

// writeFile replaces the file atomically and syncs it. Only the owner can read the file.
func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), workPrefix+"*") // mode 0600
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
