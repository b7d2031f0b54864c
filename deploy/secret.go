package deploy

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// ErrSecret means that a file of secrets/ cannot be parsed. Permanent: remove the file, and the
// next Write makes a new password.
var ErrSecret = errors.New("a file of secrets is damaged")

// secrets returns a file with the address of each user. The last file holds all hashes, so a
// server never has a password that no client has.
func (s Server) secrets(dir string, endpoints, tenants []string) ([]File, error) {
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
		var addresses []string
		for _, endpoint := range endpoints {
			address := url.URL{Scheme: s.scheme, User: url.UserPassword(u.name, password), Host: endpoint, Path: u.path}
			addresses = append(addresses, address.String())
		}
		files = append(files, File{name, variable(s.client, strings.Join(addresses, ","))})
		hashes.WriteString(variable(u.variable, hash))
	}
	return append(files, File{"secrets/" + s.folder + "-server.env", hashes.String()}), nil
}

// variable returns a line in a form that a shell, systemd and compose read. The values hold no
// quote.
func variable(name, value string) string { return fmt.Sprintf("%s='%s'\n", name, value) }

// password returns the password in a user's file, or a new password if the file is missing.
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
	first, _, _ := strings.Cut(strings.Trim(value, "'"), ",")
	address, err := url.Parse(first)
	if err == nil {
		if password, _ := address.User.Password(); password != "" {
			return password, nil
		}
	}
	return "", fmt.Errorf("%w: %s has no address with a password: remove the file and run the command again to get a new password", ErrSecret, path)
}
