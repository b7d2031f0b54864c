package operate

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/deploy"
	"github.com/ctxledger/ctxledger/schema"
)

func DeployCommand(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "deploy",
		Short: "Configuration of a production node and its tenants",
		Long: `Print the configuration of a production NATS or ClickHouse server, or units of systemd, or
write them into a folder. The embedded servers and the tests use the same configuration.

--out also writes passwords, into files that only their owner can read:

  secrets/nats-server.env, secrets/clickhouse-server.env
      environment of the servers: hashes of the passwords
  secrets/nats-projector.env, secrets/clickhouse-writer.env, …
      environment of a client: the address with the password

Existing passwords are kept. The configuration has exactly the named tenants: name all
tenants each time. A tenant publishes on NATS and reads nothing there. On ClickHouse a
tenant reads its rows and writes nothing.`,
		Example: `  ctxledger deploy nats --tenant acme
  ctxledger deploy nats --tenant acme --tenant zeta --host nats.internal --out node
  ctxledger deploy nats --tenant acme --cluster n1.internal,n2.internal,n3.internal --out node
  ctxledger deploy clickhouse --tenant acme --tenant zeta --host db.internal --out node
  ctxledger deploy systemd --out node`,
	},
		deployServerCommand(a, "nats", "Configuration of NATS: limits, durability, an account for each tenant", deploy.NATS()),
		deployServerCommand(a, "clickhouse", "Configuration of ClickHouse: memory, parts, a writer and readers", deploy.ClickHouse()),
		deployUnitsCommand(a),
	)
}

func deployServerCommand(a *cli.App, name, short string, server deploy.Server) *cobra.Command {
	var tenants, cluster []string
	var out, host string
	cmd := &cobra.Command{
		Use: name, Short: short, Args: cli.NoArgs,
		Example: fmt.Sprintf("  ctxledger deploy %[1]s\n  ctxledger deploy %[1]s --tenant acme --tenant zeta --host %[1]s.internal --out node", name),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(cluster) > 0 {
				if cmd.Flags().Changed("host") {
					return cli.UsageError("--host and --cluster: the hosts of a cluster are the hosts for clients; give one of the two")
				}
				var err error
				if server, err = deploy.NATSCluster(cluster...); err != nil {
					return deployError(err)
				}
			}
			if out == "" {
				if cmd.Flags().Changed("host") {
					return cli.UsageError("--host is for the addresses in secrets/: give a folder with --out")
				}
				return printDeployment(a, server, tenants)
			}
			written, err := server.Write(out, host, tenants...)
			for _, path := range written {
				_ = ui.Line(a.Out, "%s", filepath.Join(out, path))
			}
			return deployError(err)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&tenants, "tenant", []string{schema.DefaultTenant}, "a tenant of the node; may be repeated")
	f.StringVar(&out, "out", "", "write into this folder, with passwords, instead of printing")
	f.StringVar(&host, "host", "localhost", "where clients find the server: a name or an address, with a port if it is not the usual one")
	if name == "nats" {
		f.StringSliceVar(&cluster, "cluster", nil, "hosts of a cluster, at least three: the files are the same for all of them")
	}
	return cmd
}

func deployUnitsCommand(a *cli.App) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "systemd", Short: "Units of systemd for the projector, the pages, and all on one machine", Args: cli.NoArgs,
		Long: `Print the units of systemd, or write them into a folder. The comment at the head of each
unit lists the files that it needs. The units wait until the program is ready, restart it
when it gives no sign of life, and give it no more rights than it needs.`,
		Example: `  ctxledger deploy systemd
  ctxledger deploy systemd --out node`,
		RunE: func(*cobra.Command, []string) error {
			if out == "" {
				printFiles(a, deploy.Units())
				return nil
			}
			written, err := deploy.WriteUnits(out)
			for _, path := range written {
				_ = ui.Line(a.Out, "%s", filepath.Join(out, path))
			}
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write into this folder instead of printing")
	return cmd
}

func printDeployment(a *cli.App, server deploy.Server, tenants []string) error {
	files, err := server.Files(tenants...)
	printFiles(a, files)
	return deployError(err)
}

// printFiles prints every file below a line with its path. There is nothing secret in them.
func printFiles(a *cli.App, files []deploy.File) {
	for i, f := range files {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		fmt.Fprintf(a.Out, "==> %s <==\n%s", f.Path, f.Text)
	}
}

// deployError makes a name that the servers cannot have a wrong command line.
func deployError(err error) error {
	if errors.Is(err, deploy.ErrTenant) || errors.Is(err, deploy.ErrHost) {
		return cli.WithCode(cli.ExitUsage, err)
	}
	return err
}
