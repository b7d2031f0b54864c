package cli

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// GlobalFlags are the settings of every command. A flag wins over the
// environment, and that over ctxledger.yaml.
type GlobalFlags struct {
	NATS        string
	natsContext string
	ClickHouse  string
	// CA is a file with the authorities of the servers' certificates, or "" for those of the system.
	CA string
	// ClientCert is a file with the certificate and the key that servers ask of this client, or "" for none.
	ClientCert string
	Data       string
	dataGiven  bool // by a flag, the environment or the settings file
	config     string
	verbose    bool
	logLevel   slog.Level
	logFormat  string
	origins    map[string]Origin
}

// The log formats.
const (
	logText = "text"
	logJSON = "json"
)

func (g *GlobalFlags) Register(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.NATS, "nats", "", "NATS address, nats://host:4222 (CTXLEDGER_NATS_URL)")
	f.StringVar(&g.natsContext, "nats-context", "", "a context of the nats command line (CTXLEDGER_NATS_CONTEXT)")
	f.StringVar(&g.ClickHouse, "clickhouse", "", "ClickHouse address, clickhouse://user@host:9000/ctxledger (CTXLEDGER_CLICKHOUSE_DSN)")
	f.StringVar(&g.CA, "ca", "", "file with the authorities of the certificates of NATS and ClickHouse (CTXLEDGER_CA, default those of the system)")
	f.StringVar(&g.ClientCert, "client-cert", "", "file with the certificate and the key of this client, if NATS or ClickHouse ask for one (CTXLEDGER_CLIENT_CERT)")
	f.StringVar(&g.Data, "data", "", "data folder of the embedded servers and the keys (CTXLEDGER_DATA, default "+defaultData()+")")
	f.StringVar(&g.config, "config", "", "settings file (CTXLEDGER_CONFIG, default ctxledger.yaml if it is there)")
	f.BoolVarP(&g.verbose, "verbose", "v", false, "log more on standard error, like --log-level debug")
	f.TextVar(&g.logLevel, "log-level", slog.LevelWarn, "least level to log on standard error: debug, info, warn or error")
	f.StringVar(&g.logFormat, "log-format", logText, "how to log: text, or json for a line of JSON each")
}

// outputForms annotates -o with the forms that it takes.
const outputForms = "ctxledger.output"

// OutputFlag registers -o, the form of the results. The first of the forms is the default.
// Complete refuses others.
func OutputFlag(f *pflag.FlagSet, output *string, help string, forms ...string) {
	f.StringVarP(output, "output", "o", forms[0], help)
	_ = f.SetAnnotation("output", outputForms, forms) // the flag is there
}

func checkOutput(flag *pflag.Flag) error {
	if flag == nil || flag.Annotations[outputForms] == nil || slices.Contains(flag.Annotations[outputForms], flag.Value.String()) {
		return nil
	}
	forms := flag.Annotations[outputForms]
	last := len(forms) - 1
	return UsageError("-o %q: want %s or %s", flag.Value.String(), strings.Join(forms[:last], ", "), forms[last])
}
