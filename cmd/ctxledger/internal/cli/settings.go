package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
)

// settings pairs flags with environment variables. Some of the flags belong to single
// commands. A variable whose name ends in _FILE holds the path of a file with the value,
// for secrets.
var settings = []struct{ flag, env string }{
	{"nats", "CTXLEDGER_NATS_URL"},
	{"nats-context", "CTXLEDGER_NATS_CONTEXT"},
	{"clickhouse", "CTXLEDGER_CLICKHOUSE_DSN"},
	{"ca", "CTXLEDGER_CA"},
	{"client-cert", "CTXLEDGER_CLIENT_CERT"},
	{"data", "CTXLEDGER_DATA"},
	{"checkpoint-dir", "CTXLEDGER_CHECKPOINT_DIR"},
	{"checkpoint-command", "CTXLEDGER_CHECKPOINT_COMMAND"},
}

// Complete fills settings without a flag from the environment and the settings file. It
// refuses an unknown form of output.
func (g *GlobalFlags) Complete(cmd *cobra.Command) error {
	file, path, err := readSettings(g.config)
	if err != nil {
		return err
	}
	g.origins = make(map[string]Origin)
	for _, s := range settings {
		flag := cmd.Root().PersistentFlags().Lookup(s.flag)
		if flag == nil {
			flag = cmd.Flags().Lookup(s.flag)
		}
		if flag == nil {
			continue
		}
		if flag.Changed {
			if err := refuseSecret(s.flag, s.env, flag.Value.String()); err != nil {
				return err
			}
			continue
		}
		value, origin, err := fromEnvironment(s.env)
		if err != nil {
			return err
		}
		if value == "" {
			value, origin = file[s.flag], Origin{Settings: path}
		}
		if value != "" {
			g.origins[s.flag] = origin
			_ = flag.Value.Set(value) // a string flag takes any value
		}
	}
	if g.dataGiven = g.Data != ""; !g.dataGiven {
		g.Data = defaultData()
	}
	g.leaveOutOwnFiles()
	if err := g.useCertificates(); err != nil {
		return err
	}
	if g.logFormat != logText && g.logFormat != logJSON {
		return UsageError("--log-format %q is unknown: use %s or %s", g.logFormat, logText, logJSON)
	}
	return checkOutput(cmd.Flags().Lookup("output"))
}

func fromEnvironment(name string) (string, Origin, error) {
	if value := os.Getenv(name); value != "" {
		return value, Origin{Variable: name}, nil
	}
	path := os.Getenv(name + "_FILE")
	if path == "" {
		return "", Origin{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", Origin{}, UsageError("read %s_FILE: %w", name, err)
	}
	return strings.TrimSpace(string(text)), Origin{Variable: name + "_FILE", File: path}, nil
}

// refuseSecret keeps passwords and tokens out of the list of processes.
func refuseSecret(flag, env, value string) error {
	for address := range strings.SplitSeq(value, ",") {
		u, err := ParseAddress(address)
		if flag != "nats" && flag != "clickhouse" || err == nil && !holdsSecret(u) {
			continue
		}
		if err != nil && !strings.Contains(address, "@") {
			continue // refused later, by the code that reads it
		}
		return UsageError("--%s holds a password, which every user of this machine could read: give the address in %s, or in a file that %s_FILE names", flag, env, env)
	}
	return nil
}

// holdsSecret reports whether an address has a password or a NATS token. A token is
// the whole text before the @.
func holdsSecret(u *url.URL) bool {
	if u.Query().Has("password") {
		return true
	}
	if u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has || u.Scheme == "nats" || u.Scheme == "tls" || u.Scheme == "ws" || u.Scheme == "wss"
}

func readSettings(path string) (_ map[string]string, from string, err error) {
	given := path != ""
	if !given {
		if path = os.Getenv("CTXLEDGER_CONFIG"); path == "" {
			path = "ctxledger.yaml"
		} else {
			given = true
		}
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !given {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, UsageError("read settings: %w", err)
	}
	var file map[string]string
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, path, UsageError("settings file %s: want lines of the form name: value: %s", path, yaml.FormatError(err, false, false))
	}
	for name := range file {
		if !knownSetting(name) {
			return nil, path, UsageError("settings file %s: unknown setting %q; there are nats, nats-context, clickhouse, ca, data, checkpoint-dir and checkpoint-command", path, name)
		}
	}
	return file, path, nil
}

func knownSetting(name string) bool {
	for _, s := range settings {
		if s.flag == name {
			return true
		}
	}
	return false
}

// defaultData is where one user's ledger lives unless told otherwise.
func defaultData() string {
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "ctxledger")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), fmt.Sprintf("ctxledger-%d", os.Getuid()))
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "ctxledger")
	}
	return filepath.Join(home, ".local", "share", "ctxledger")
}
