package operate

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/projector/backup"
)

func backupKeysCommand(a *cli.App) *cobra.Command {
	var identity string
	var store storeFlags
	cmd := &cobra.Command{
		Use: "keys BACKUP", Short: "Write the keys of a backup into the data folder",
		Long: `Write the keys of a backup into keys/ of the data folder. --identity names the file with
the secret key of a recipient of "ctxledger backup create --recipient". Run the command
before the first start of "ctxledger up" on the data folder, because "up" makes new keys
where there are none. No key file is overwritten. The command needs no server.`,
		Example: "  ctxledger backup keys /mnt/backups/backup-20261126T010000Z --identity backup.key",
		Args:    folder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if identity == "" {
				return cli.UsageError("name the file with the secret key by --identity")
			}
			dir, done, err := store.local(cmd.Context(), a, args[0], backup.KeysFile)
			if err != nil {
				return err
			}
			defer done()
			return unpackKeys(a, dir, identity)
		},
	}
	store.add(cmd.Flags())
	cmd.Flags().StringVar(&identity, "identity", "", "file with the secret key of age of one recipient")
	return cmd
}

func unpackKeys(a *cli.App, dir, identity string) error {
	file, err := os.Open(identity)
	if err != nil {
		return cli.UsageError("--identity: %v", err)
	}
	defer file.Close()
	identities, err := age.ParseIdentities(file)
	if err != nil { // its text may quote the secret
		return cli.UsageError("--identity %s: want a file of \"age-keygen\", with a line AGE-SECRET-KEY-…", identity)
	}
	if _, err := backup.ReadManifest(dir); err != nil {
		return cli.WithCode(cli.ExitNotVerified, err)
	}
	names, err := backup.UnpackKeys(dir, identities, keyfile.Folder(a.Flags.Data))
	if errors.Is(err, backup.ErrChanged) {
		return cli.WithCode(cli.ExitNotVerified, err)
	}
	if err == nil {
		fmt.Fprintf(a.Out, "%s has the keys of the backup: %s\n", keyfile.Folder(a.Flags.Data), strings.Join(names, ", "))
	}
	return err
}

// recipientsOf reads the recipients of the flags.
func recipientsOf(texts []string) (list []age.Recipient, err error) {
	for _, text := range texts {
		some, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, cli.UsageError("--recipient %q: want the public key of \"age-keygen\", such as age1…", text)
		}
		list = append(list, some...)
	}
	return list, nil
}
