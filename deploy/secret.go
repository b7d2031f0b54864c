package deploy

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// ErrHost means that the host is no name and no address. Permanent.
var ErrHost = errors.New("no host")

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// ErrSecret means that a file of secrets/ cannot be read as what it should be.
// Permanent: remove it, and the next Write makes a new password.
var ErrSecret = errors.New("a file of secrets is damaged")

// Write writes the configuration for these tenants into dir, as the package
// comment lays it out, and returns the paths that it wrote, below dir. Clients
// find the server at host. What is in secrets/ is readable by its owner only.
//
// A password that is there is kept, so that Write may be called again, for other
// tenants or another host. A tenant that is left out has no user any more once
// the servers have read the new files; its file in secrets/ stays. Files are
// replaced one by one, each whole: after an error call it again.
//
// Errors: ErrTenant, ErrHost, ErrSecret, and those of the disk.
func (s Server) Write(dir, host string, tenants ...string) ([]string, error) {
	files, err := s.Files(tenants...)
	if err == nil && !hostPattern.MatchString(host) {
		err = fmt.Errorf("%w: %q: give the name or the address at which clients find the server", ErrHost, host)
	}
	if err != nil {
		return nil, err
	}
	secrets, err := s.secrets(dir, host, tenants)
	if err != nil {
		return nil, err
	}
	var written []string
	for _, f := range files {
		if err := writeFile(dir, f, 0o755, 0o644); err != nil {
			return written, err
		}
		written = append(written, f.Path)
	}
	for _, f := range secrets {
		if err := writeFile(dir, f, 0o700, 0o600); err != nil {
			return written, err
		}
		written = append(written, f.Path)
	}
	return written, nil
}

// secrets returns a file with the address of each user, and last the one with
// all hashes: a server never knows a password that no client has.
func (s Server) secrets(dir, host string, tenants []string) ([]File, error) {
	list, err := parseTenants(tenants)
	if err != nil {
		return nil, err
	}
	var files []File
	var hashes strings.Builder
	for _, u := range s.all(list) {
		name := "secrets/" + s.folder + "-" + u.role + ".env"
		password, err := s.password(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		hash, err := s.hash(password)
		if err != nil {
			return nil, fmt.Errorf("hash a password: %w", err)
		}
		address := url.URL{Scheme: s.scheme, User: url.UserPassword(u.name, password), Host: net.JoinHostPort(host, strconv.Itoa(s.port)), Path: s.path}
		files = append(files, File{name, variable(s.client, address.String())})
		hashes.WriteString(variable(u.variable, hash))
	}
	return append(files, File{"secrets/" + s.folder + "-server.env", hashes.String()}), nil
}

// variable is a line that a shell, systemd and compose read alike. The values
// hold no quote.
func variable(name, value string) string { return fmt.Sprintf("%s='%s'\n", name, value) }

// password returns the one in a user's file, or a new one where there is none.
func (s Server) password(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var b [24]byte
		rand.Read(b[:]) // never fails: see crypto/rand
		return hex.EncodeToString(b[:]), nil
	}
	if err != nil {
		return "", fmt.Errorf("read a password: %w", err)
	}
	value, _ := strings.CutPrefix(strings.TrimSpace(string(text)), s.client+"=")
	address, err := url.Parse(strings.Trim(value, "'"))
	if err == nil {
		if password, _ := address.User.Password(); password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("%w: %s has no address with a password: remove it, and a new password is made", ErrSecret, path)
}

// writeFile replaces a file whole, and makes its folder where it is missing.
func writeFile(dir string, f File, folder, mode fs.FileMode) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	err := os.MkdirAll(filepath.Dir(path), folder)
	var temporary *os.File
	if err == nil {
		temporary, err = os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(f.Text)
	err = errors.Join(err, temporary.Chmod(mode), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}
