package contract

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/status"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/migrate"
	"github.com/ctxledger/ctxledger/schema"
)

func VersionCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of the program, the contract and the tables",
		Example: `  ctxledger version`,
		Args:    cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			build := status.ReadBuild()
			_, err := fmt.Fprintf(a.Out, "ctxledger %s\ncontract %s\ntables %s, projection %d\n%s %s/%s\n",
				strings.TrimSpace(build.Version+" "+build.Revision), schema.Version, migrate.Latest(), ledger.NewestRules,
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
