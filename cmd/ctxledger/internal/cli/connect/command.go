package connect

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
)

// The topics.
const (
	topicNATS       = "nats"
	topicClickHouse = "clickhouse"
	topicEnv        = "env"
	topicGrafana    = "grafana"
)

var topics = []cobra.Completion{
	topicNATS + "\tNATS for the nats command line, Go, Python and TypeScript",
	topicClickHouse + "\tClickHouse for SQL clients, curl, Go, Python and TypeScript",
	topicEnv + "\tlines for a shell",
	topicGrafana + "\ta data source for Grafana",
}

// Command is `connect`.
func Command(a *cli.App) *cobra.Command {
	var showSecrets bool
	var output string
	cmd := &cobra.Command{
		Use:   "connect [nats|clickhouse|env|grafana]",
		Short: "Print the addresses of the servers, and lines that connect a program to them",
		Long: `Print how programs, SQL clients and Grafana reach the servers of the running
instance: addresses, users, and lines that can be pasted.

  nats         the nats command line; a program in Go, Python and TypeScript
  clickhouse   clickhouse-client, DBeaver, curl; a program in each language
  env          lines for "eval" in a shell, which set the addresses
  grafana      a provisioning file for Grafana with the ClickHouse data source

Each password is in a file of its own in the data folder, which only its owner may
read. The printed lines name the file. --show-secrets prints the passwords, too.
ClickHouse's user is the reader, who cannot write.

For a server that --nats or --clickhouse names, this command prints the address
and where its password comes from.`,
		Example: `  ctxledger connect
  ctxledger connect nats
  ctxledger connect clickhouse
  ctxledger connect clickhouse -o json
  eval "$(ctxledger connect env)"
  ctxledger connect grafana > ctxledger.yaml`,
		ValidArgs: topics,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.UsageError("connect takes one topic, found %d: want nats, clickhouse, env or grafana", len(args))
			}
			if len(args) == 1 && !slices.Contains([]string{topicNATS, topicClickHouse, topicEnv, topicGrafana}, args[0]) {
				return cli.UsageError("unknown topic %q: want nats, clickhouse, env or grafana", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return run(a, strings.Join(args, ""), output, showSecrets)
		},
	}
	cmd.Flags().BoolVar(&showSecrets, "show-secrets", false, "print the passwords, too")
	cli.OutputFlag(cmd.Flags(), &output, "table or json", "table", "json")
	return cmd
}

func run(a *cli.App, topic, output string, showSecrets bool) error {
	p, err := find(a, showSecrets)
	if err != nil {
		return err
	}
	switch {
	case topic == topicNATS && p.NATS == nil:
		return missing("NATS", "--nats")
	case (topic == topicClickHouse || topic == topicGrafana) && p.ClickHouse == nil:
		return missing("ClickHouse", "--clickhouse")
	case output == "json":
		return printJSON(a, p.part(topic))
	}
	return p.print(a.Out, topic)
}

// part is a topic in the output of -o json.
func (p places) part(topic string) any {
	switch topic {
	case topicNATS:
		return p.NATS
	case topicClickHouse:
		return p.ClickHouse
	case topicEnv:
		return p.variables()
	case topicGrafana:
		return provisioning(p.ClickHouse)
	}
	return p
}

func printJSON(a *cli.App, value any) error {
	text, err := json.Marshal(value, json.Deterministic(true), indent)
	if err == nil {
		_, err = a.Out.Write(append(text, '\n'))
	}
	return err
}

// missing is the error for a server that no flag names while the other one is named.
func missing(server, flag string) error {
	return cli.WithCode(cli.ExitUnreachable, errors.New("no "+server+" address: name the server with "+flag+", or leave out the other server to use the instance that `ctxledger up` runs"))
}
