package embedded

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/ctxledger/ctxledger/deploy"
)

//go:embed templates/config.xml templates/users.xml
var templateFiles embed.FS

var templates = template.Must(template.ParseFS(templateFiles, "templates/*.xml"))

// The users of the engine. SQL CREATE USER does not work in clickhouse local. The only users are
// the users of templates/users.xml and of package deploy.
const (
	writerUser = "ctxledger"
	readerUser = "reader"
	natsUser   = "ctxledger"
)

const (
	backupsFolder = "backups"
	engineLogFile = "clickhouse.log"
)

// BackupsDir returns the folder below a data folder that the engine may write its backups to.
func BackupsDir(dir string) string { return filepath.Join(dir, engineFolder, backupsFolder) }

// EngineLog returns the path of the engine's log below a data folder.
func EngineLog(dir string) string { return filepath.Join(dir, engineFolder, engineLogFile) }

// BackupsDir returns the folder that the engine may write its backups to.
func (s *Servers) BackupsDir() string { return BackupsDir(s.config.Dir) }

// settings are the values of the templates. Strings are XML text.
type settings struct {
	Log, Backups, Users string
	MaxMemory           int64
}

// writeSettings writes the engine's configuration into its folder and returns the path of
// config.xml. The configuration is the templates for this machine and the files of package
// deploy. The engine also reads other files in config.d and users.d, which writeSettings leaves
// unchanged.
func writeSettings(dir string, c Config) (string, error) {
	backups := filepath.Join(dir, backupsFolder)
	users := filepath.Join(dir, "users.xml")
	config := filepath.Join(dir, "config.xml")
	s := settings{
		Log:       xmlText(filepath.Join(dir, engineLogFile)),
		Backups:   xmlText(backups + "/"),
		Users:     xmlText(users),
		MaxMemory: c.MaxMemory,
	}
	texts := make(map[string][]byte)
	for _, path := range []string{users, config} {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, filepath.Base(path), s); err != nil {
			return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
		}
		texts[path] = b.Bytes()
	}
	for _, d := range []string{dir, backups, filepath.Join(dir, "config.d"), filepath.Join(dir, "users.d")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
		}
	}
	err := addShared(texts, dir, c.SyncAlways)
	for path, text := range texts {
		if err == nil {
			err = writeFile(path, text)
		}
	}
	if err != nil {
		return "", fmt.Errorf("write the ClickHouse configuration: %w", err)
	}
	return config, nil
}

// addShared adds the files of production. If writes need no fsync, it removes the durability file
// of an earlier start.
func addShared(texts map[string][]byte, dir string, durable bool) error {
	files, err := deploy.ClickHouse().Files()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(f.Path, "clickhouse/")))
		switch name := filepath.Base(path); {
		case name == "ctxledger.xml", name == "durable.xml" && durable:
			texts[path] = []byte(f.Text)
		case name == "durable.xml":
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// environment returns the variables that the shared files read.
func (c credentials) environment() []string {
	return []string{deploy.WriterHash + "=" + passwordHash(c.Writer), deploy.ReaderHash + "=" + passwordHash(c.Reader)}
}

func passwordHash(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func xmlText(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer returns no error
	return b.String()
}
