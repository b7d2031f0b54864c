package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// ErrHost means that the host is not a name or an address, or has a port that is not valid.
// Permanent.
var ErrHost = errors.New("bad host")

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// endpoints returns the hosts and ports for clients: of host, or of all servers of a cluster.
func (s Server) endpoints(host string) (list []string, err error) {
	for _, name := range s.cluster {
		list = append(list, net.JoinHostPort(name, strconv.Itoa(s.port)))
	}
	if list == nil {
		host, err = s.endpoint(host)
		list = append(list, host)
	}
	return list, err
}

// endpoint returns a host and a port for clients. The port is the usual one of the server if host has
// none. An IPv6 address with a port has brackets, as in [::1]:4222.
func (s Server) endpoint(host string) (string, error) {
	port := strconv.Itoa(s.port)
	if name, given, err := net.SplitHostPort(host); err == nil {
		if n, err := strconv.ParseUint(given, 10, 16); err != nil || n == 0 {
			return "", fmt.Errorf("%w %q: the port must be a number from 1 to 65535", ErrHost, host)
		}
		host, port = name, given
	}
	if !hostPattern.MatchString(host) {
		return "", fmt.Errorf("%w %q: set it to the name or address of the server for clients", ErrHost, host)
	}
	return net.JoinHostPort(host, port), nil
}

// Write writes the configuration for the tenants into dir, in the layout of the package comment.
// Write returns the paths of the files, relative to dir. Clients connect to the server at host,
// which may have a port; a cluster has its own hosts. Only the owner can read the files in secrets/.
//
// Write keeps existing passwords, so it can be called again, for other tenants or another host. A
// tenant that is left out loses its user when the servers read the new files. The tenant's file
// in secrets/ stays. Each file is replaced atomically, one after the other: after an error call
// Write again.
//
// Errors: ErrTenant, ErrHost, ErrSecret, and errors of the disk.
func (s Server) Write(dir, host string, tenants ...string) ([]string, error) {
	files, err := s.Files(tenants...)
	if err != nil {
		return nil, err
	}
	endpoints, err := s.endpoints(host)
	if err != nil {
		return nil, err
	}
	secrets, err := s.secrets(dir, endpoints, tenants)
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

// writeFile replaces a file atomically and creates a missing folder.
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
