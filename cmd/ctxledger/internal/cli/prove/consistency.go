package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/schema"
)

func proofConsistencyCommand(a *cli.App) *cobra.Command {
	var stream, key, output string
	cmd := &cobra.Command{
		Use: "consistency A B", Short: "Prove that the log has only grown from one head to another", Args: cobra.ExactArgs(2),
		Long: `Prove from the tables of the ledger that the log of size A is a beginning of the log of
size B. A and B are sizes, or files with a signed head. The signatures of heads are
checked. The exit code is 4 if the proof fails, if a head differs from the tables, or
if no known key signed a head.

-o json has the hashes of the proof, for a check without the ledger.`,
		Example: `  ctxledger proof consistency head.monday head.tuesday
  ctxledger proof consistency 1000 head -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withReader(cmd.Context(), a, stream, args, func(l *ledger.Ledger) error {
				return consistency(cmd.Context(), a, l, args, stream, key, output)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "stream", schema.EventStream, "whose log, where A and B are sizes")
	f.StringVar(&key, "key", "", "file with the public keys (default: the keys of the data folder)")
	cli.OutputFlag(f, &output, "table or json", "table", "json")
	return cmd
}

// consistencyJSON is the output of `proof consistency -o json`.
type consistencyJSON struct {
	Consistent bool     `json:"consistent"`
	Origin     string   `json:"origin"`
	From       treeJSON `json:"from"`
	To         treeJSON `json:"to"`
	Proof      []string `json:"proof"` // base64, for RFC 6962, section 2.1.2
}

type treeJSON struct {
	Size int64  `json:"size"`
	Root string `json:"root"`
}

func treeOf(c proof.Checkpoint) treeJSON { return treeJSON{c.Size, c.Root.String()} }

func consistency(ctx context.Context, a *cli.App, l *ledger.Ledger, args []string, stream, key, output string) error {
	var heads [2]proof.Checkpoint
	var known note.Verifiers
	origin := ""
	for i, arg := range args {
		if size, err := strconv.ParseInt(arg, 10, 64); err == nil {
			if size < 0 {
				return cli.UsageError("%s is no size of a log", arg)
			}
			heads[i].Size = size
			continue
		}
		text, err := os.ReadFile(arg)
		if err != nil {
			return cli.UsageError("%q is neither a size nor a file with a head: %w", arg, err)
		}
		if known == nil {
			if known, err = Verifiers(a, key); err != nil {
				return err
			}
		}
		opened, err := openHead(text, known)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		heads[i], origin = opened.Checkpoint, opened.Origin
	}
	if origin == "" {
		var err error
		if origin, err = newestOrigin(ctx, l, stream); err != nil {
			return err
		}
	}
	incarnation, err := incarnationOf(origin)
	if err != nil {
		return err
	}
	log, err := translog.Of(l).LogAt(ctx, incarnation, math.MaxInt64)
	if err != nil {
		return err
	}
	now := proof.Checkpoint{Origin: origin, Size: log.Tree.Size, Root: log.Root}
	tiles := translog.Of(l).LogTiles(ctx, incarnation)
	for i := range heads {
		if heads[i].Origin != "" {
			continue
		}
		if heads[i], err = headOfSize(heads[i].Size, now, tiles); err != nil {
			return err
		}
	}
	found, err := proof.Grown(heads[0], heads[1], tiles)
	if err == nil { // and both are the ledger's
		_, err = proof.Grown(heads[1], now, tiles)
	}
	if errors.Is(err, proof.ErrFork) {
		return cli.WithCode(cli.ExitNotVerified, err)
	}
	if err != nil {
		return err
	}
	if output == "json" {
		answer := consistencyJSON{Consistent: true, Origin: origin, From: treeOf(heads[0]), To: treeOf(heads[1])}
		for _, h := range found {
			answer.Proof = append(answer.Proof, h.String())
		}
		return a.PrintJSON(answer)
	}
	fmt.Fprintf(a.Out, "consistent: %d to %d leaves of %s\n", heads[0].Size, heads[1].Size, origin)
	return nil
}

// headOfSize returns the head that the log had at a size.
func headOfSize(size int64, now proof.Checkpoint, tiles tlog.TileReader) (proof.Checkpoint, error) {
	if size > now.Size {
		return now, cli.WithCode(cli.ExitNotVerified, fmt.Errorf("%w: it has %d leaves, not %d", proof.ErrFork, now.Size, size))
	}
	root, err := tlog.TreeHash(size, tlog.TileHashReader(now.Tree(), tiles))
	return proof.Checkpoint{Origin: now.Origin, Size: size, Root: root}, err
}

// newestOrigin returns the origin of a stream's log, by its newest head.
func newestOrigin(ctx context.Context, l *ledger.Ledger, stream string) (string, error) {
	list, err := translog.Of(l).NewestHeads(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range list {
		if origin, ok := originIn(h, stream); ok {
			return origin, nil
		}
	}
	return "", noHead(stream)
}

// logOf returns the tiles of the log that a head is of.
func logOf(ctx context.Context, l *ledger.Ledger, c proof.Checkpoint) (tlog.TileReader, uuid.UUID, error) {
	incarnation, err := incarnationOf(c.Origin)
	if err != nil {
		return nil, incarnation, err
	}
	return translog.Of(l).LogTiles(ctx, incarnation), incarnation, nil
}
