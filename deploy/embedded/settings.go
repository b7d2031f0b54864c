package embedded

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed templates/config.xml templates/users.xml
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.xml"))

// The users of the engine. SQL CREATE USER does not work in clickhouse local,
// so there are only those of templates/users.xml.
const (
	writerUser = "ctxledger"
	readerUser = "reader"
	natsUser   = "ctxledger"
)

// settings are what the templates are filled with. Strings are XML text.
type settings struct {
	Log, Backups, Users     string
	WriterHash, ReaderHash  string
	MaxMemory, ReaderMemory int64
}

// writeSettings writes the engine's config.xml and users.xml into its folder
// and returns the path of the first.
func writeSettings(dir string, creds credentials, maxMemory int64) (string, error) {
	backups := filepath.Join(dir, "backups")
	for _, d := range []string{dir, backups} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
		}
	}
	users := filepath.Join(dir, "users.xml")
	s := settings{
		Log:          xmlText(filepath.Join(dir, "clickhouse.log")),
		Backups:      xmlText(backups + "/"),
		Users:        xmlText(users),
		WriterHash:   passwordHash(creds.Writer),
		ReaderHash:   passwordHash(creds.Reader),
		MaxMemory:    maxMemory,
		ReaderMemory: maxMemory / 2,
	}
	config := filepath.Join(dir, "config.xml")
	for _, path := range []string{users, config} {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, filepath.Base(path), s); err != nil {
			return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
		}
		if err := writeFile(path, b.Bytes()); err != nil {
			return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
		}
	}
	return config, nil
}

func passwordHash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func xmlText(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer takes everything
	return b.String()
}
