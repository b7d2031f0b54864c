package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/access"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/schema"
)

func TokenCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make, list and revoke the tokens of a server",
		Long: `Make, list and revoke tokens for "ctxledger serve --tokens FILE". A token is bound to a
tenant and to roles:

  read      pages and the read API
  publish   events, OpenTelemetry and receipts over HTTP
  evidence  the evidence page

The file has a line for each token, with the digest of the token and never the token. A
server reads the file again after a change, within a second.`,
		Example: `  ctxledger token create --file tokens --name ann --tenant acme --role read --role evidence
  ctxledger token list --file tokens
  ctxledger token revoke --file tokens --name bob`,
	}
	var file string
	var i access.Identity
	var roles []string
	create := &cobra.Command{
		Use: "create", Short: "Make a token and print it, once", Args: cli.NoArgs,
		Long: `Make a token, add its digest to the file and print the token. It cannot be printed
again. The file is made if it does not exist, readable by its owner only.`,
		Example: `  ctxledger token create --file tokens --name ci --tenant acme --role publish`,
		RunE: func(*cobra.Command, []string) error {
			for _, role := range roles {
				i.Roles = append(i.Roles, access.Role(role))
			}
			token, err := access.Create(file, i)
			if errors.Is(err, access.ErrFormat) {
				return cli.WithCode(cli.ExitUsage, err)
			}
			if err == nil {
				_, err = fmt.Fprintln(a.Out, token)
			}
			return err
		},
	}
	create.Flags().StringVar(&i.Name, "name", "", "name of the token, for the list and for revoke (required)")
	create.Flags().StringVar(&i.Tenant, "tenant", schema.DefaultTenant, "whose facts the token shows and publishes")
	create.Flags().StringArrayVar(&roles, "role", nil, "read, publish or evidence; may be given several times (required)")
	list := &cobra.Command{
		Use: "list", Short: "List the tokens of a file, without digests", Args: cli.NoArgs,
		Example: `  ctxledger token list --file tokens`,
		RunE: func(*cobra.Command, []string) error {
			known, err := access.List(file)
			if err != nil {
				return err
			}
			t := ui.Table{Columns: []ui.Column{{Name: "NAME", Least: 6}, {Name: "TENANT"}, {Name: "ROLES"}}}
			for _, i := range known {
				t.Rows = append(t.Rows, []string{i.Name, i.Tenant, strings.Trim(fmt.Sprint(i.Roles), "[]")})
			}
			return t.Write(a.Out, a.TableWidth(), "")
		},
	}
	revoke := &cobra.Command{
		Use: "revoke", Short: "Remove a token from a file", Args: cli.NoArgs,
		Example: `  ctxledger token revoke --file tokens --name bob`,
		RunE: func(*cobra.Command, []string) error {
			err := access.Revoke(file, i.Name)
			if errors.Is(err, access.ErrUnknown) {
				return cli.WithCode(cli.ExitUsage, err)
			}
			return err
		},
	}
	revoke.Flags().StringVar(&i.Name, "name", "", "name of the token (required)")
	for _, c := range []*cobra.Command{create, list, revoke} {
		c.Flags().StringVar(&file, "file", "tokens", "the tokens file")
	}
	return cli.Group(cmd, create, list, revoke)
}
