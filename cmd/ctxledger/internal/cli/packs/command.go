package packs

import (
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/spf13/cobra"
)

func Command(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "evidence",
		Short: "Export evidence packs, and verify them offline",
		Long: `An evidence pack is a folder or a zip with the facts of a turn, a run, a task or a
session. It holds the records byte for byte, the proof that the signed log has them,
documents of Agent Context and Agent Evidence, and a signed list of all files. The
pack and the public key of the log suffice to check it.`,
		Example: `  ctxledger evidence export --turn turn-1 --out pack
  ctxledger evidence export --session demo-session --out demo.zip --zip
  ctxledger evidence verify pack --key ledger.pub`,
	}, evidenceExportCommand(a), evidenceVerifyCommand(a))
}
