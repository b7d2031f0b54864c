package prove

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/treehead"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/schema"
)

type witnessFlags struct {
	state, key, stream, checkpoint, out, output string
}

func proofWitnessCommand(a *cli.App) *cobra.Command {
	var flags witnessFlags
	cmd := &cobra.Command{
		Use: "witness", Short: "Remember the heads of the log, and sign heads that only grew", Args: cli.NoArgs,
		Long: `A witness is independent of the ledger. It remembers the last head of each log. For a
new head it proves from the tables that the log only grew, signs the head with its own
key, and remembers the head. A head that shrank, or belongs to another tree, is refused
with exit code 4. The last good head stays as evidence.

The folder --state holds the key and the memory of the witness, and is made if missing.
Keep the folder where the owner of the ledger cannot write. Run the command by cron.`,
		Example: `  ctxledger proof witness --state /var/lib/witness --key ledger.pub
  ctxledger proof witness --state ./witness --key ledger.pub --checkpoint head --out cosigned`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.state == "" {
				return cli.UsageError("--state is missing: the folder of the witness")
			}
			if flags.output != "table" && flags.output != "json" && flags.output != "note" {
				return cli.UsageError("-o %q: want table, json or note", flags.output)
			}
			known, err := Verifiers(a, flags.key)
			if err != nil {
				return err
			}
			return withReader(cmd.Context(), a, flags.stream, []string{flags.checkpoint}, func(l *ledger.Ledger) error { return witness(cmd.Context(), a, l, known, flags) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.state, "state", "", "folder of the witness's key and memory")
	f.StringVar(&flags.key, "key", "", "file with the public keys of the ledger (default: the keys of the data folder)")
	f.StringVar(&flags.stream, "stream", schema.EventStream, "whose log")
	f.StringVar(&flags.checkpoint, "checkpoint", "", "file with the head to look at (default: the newest in the ledger)")
	f.StringVar(&flags.out, "out", "", "file to write the head to, with both signatures")
	f.StringVarP(&flags.output, "output", "o", "table", "table, json, or note for the head with both signatures")
	return cmd
}

func witness(ctx context.Context, a *cli.App, l *ledger.Ledger, known note.Verifiers, flags witnessFlags) error {
	ring, err := keyfile.OpenRing(flags.state)
	if err != nil {
		return err
	}
	signer, err := ring.Signer()
	if err != nil {
		return err
	}
	lock := flock.New(filepath.Join(flags.state, ".lock"))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the folder of the witness: %w", err)
	}
	defer lock.Unlock()
	h, opened, err := headToWitness(ctx, l, known, flags)
	if err != nil {
		return err
	}
	tiles, incarnation, err := logOf(ctx, l, opened.Checkpoint)
	if err != nil {
		return err
	}
	memory := filepath.Join(flags.state, incarnation.String()+".checkpoint")
	last, seen, err := remembered(memory, ring)
	if err != nil {
		return err
	}
	if seen {
		_, err := proof.Grown(last.Checkpoint, opened.Checkpoint, tiles)
		if errors.Is(err, proof.ErrFork) {
			return cli.WithCode(cli.ExitNotVerified, fmt.Errorf("refused: %w; the last good head is in %s", err, memory))
		}
		if err != nil {
			return err
		}
	}
	if h.Note, err = proof.Cosign(h.Note, known, signer); err != nil {
		return err
	}
	if err := treehead.Write(memory, h.Note); err != nil {
		return err
	}
	if flags.out != "" {
		if err := treehead.Write(flags.out, h.Note); err != nil {
			return err
		}
	}
	opened.Signers = append(opened.Signers, proof.Signature{Name: signer.Name(), Hash: signer.KeyHash()})
	if err := printHead(a, h, opened, flags.output); err != nil || flags.output != "table" {
		return err
	}
	if seen {
		fmt.Fprintf(a.Out, "grown from %d\n", last.Size)
	} else {
		fmt.Fprintln(a.Out, "the first head that this witness has seen of this log")
	}
	return nil
}

// headToWitness returns the head of the file, or the newest of the ledger.
func headToWitness(ctx context.Context, l *ledger.Ledger, known note.Verifiers, flags witnessFlags) (translog.SignedHead, proof.Opened, error) {
	if flags.checkpoint == "" {
		return newestHead(ctx, l, flags.stream, known)
	}
	text, err := os.ReadFile(flags.checkpoint)
	if err != nil {
		return translog.SignedHead{}, proof.Opened{}, cli.UsageError("--checkpoint: %w", err)
	}
	opened, err := openHead(text, known)
	return translog.SignedHead{Note: text, Size: opened.Size, RecordedAt: time.Time{}}, opened, err
}

// remembered returns the head that a witness has signed last.
func remembered(file string, ring proof.Ring) (proof.Opened, bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return proof.Opened{}, false, nil
	}
	if err != nil {
		return proof.Opened{}, false, fmt.Errorf("read the memory of the witness: %w", err)
	}
	opened, err := openHead(text, ring.Verifiers())
	if err != nil {
		return opened, false, fmt.Errorf("the memory of the witness, %s: %w", file, err)
	}
	return opened, true, nil
}
