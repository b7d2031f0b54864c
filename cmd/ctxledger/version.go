package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/schema"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the versions of the program, the contract and the tables",
		Example: `  ctxledger version`,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			version, revision := "(devel)", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						revision = " " + s.Value
					}
				}
			}
			migrations := ledger.Migrations()
			_, err := fmt.Fprintf(a.out, "ctxledger %s%s\ncontract %s\ntables %s, projection %d\n%s %s/%s\n",
				version, revision, schema.Version, migrations[len(migrations)-1].Name, ledger.ProjectionVersion,
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
