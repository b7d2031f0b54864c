package operate

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/schema"
)

func KeysCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "List and rotate the tenants' keys for content digests",
		Long: `Content is committed to by a digest under a tenant's key, never by a bare hash.
Keys are made on first use, in the data folder, readable by their owner only.
Every digest names its key; old keys stay after a rotation. Secrets are never
printed: back up the folder "keys" of the data folder.`,
		Example: `  ctxledger keys list
  ctxledger keys rotate --tenant acme`,
	}
	list := &cobra.Command{
		Use: "list", Short: "List the keys of every tenant, without secrets", Args: cli.NoArgs,
		Example: `  ctxledger keys list`,
		RunE: func(*cobra.Command, []string) error {
			rings, err := keyfile.List(a.Flags.Data)
			if err != nil {
				return err
			}
			return printKeys(a, rings...)
		},
	}
	var tenant string
	rotate := &cobra.Command{
		Use: "rotate", Short: "Make a new key the tenant's current one", Args: cli.NoArgs,
		Example: `  ctxledger keys rotate --tenant acme`,
		RunE: func(*cobra.Command, []string) error {
			if tenant == "" {
				return cli.UsageError("--tenant is empty: leave it away for %q", schema.DefaultTenant)
			}
			ring, err := keyfile.Rotate(a.Flags.Data, tenant)
			if err != nil {
				return err
			}
			return printKeys(a, ring)
		},
	}
	rotate.Flags().StringVar(&tenant, "tenant", schema.DefaultTenant, "whose key")
	return cli.Group(cmd, list, rotate)
}

func printKeys(a *cli.App, rings ...schema.KeyRing) error {
	t := ui.Table{Columns: []ui.Column{{Name: "TENANT", Least: 6}, {Name: "KEY"}, {Name: "CREATED"}, {Name: "USE"}}}
	for _, ring := range rings {
		for _, key := range ring.Keys {
			use := "old digests"
			if key.ID == ring.Current().ID {
				use = "current"
			}
			t.Rows = append(t.Rows, []string{ring.Tenant, key.ID, key.Created.Format(time.RFC3339), use})
		}
	}
	return t.Write(a.Out, a.TableWidth(), "")
}
