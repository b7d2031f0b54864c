package prove

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
	"github.com/ctxledger/ctxledger/ledger"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/ledger/translog"
	"github.com/ctxledger/ctxledger/schema"
)

func Command(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "proof",
		Short: "Keys, signed heads and witnesses of the transparency log",
		Long: `Every event has a leaf in a Merkle tree, the transparency log of its stream. The
projector signs the head of the log: its size and root. Two heads of one log are
consistent if the log of the first is a beginning of the log of the second. Then
nothing that the first head covers was altered, removed or inserted.

A head is a note as of c2sp.org/tlog-checkpoint, signed with Ed25519.`,
		Example: `  ctxledger proof keygen
  ctxledger proof checkpoint --out head
  ctxledger proof consistency 1000 head
  ctxledger proof witness --state /mnt/elsewhere/witness --key ledger.pub`,
	}, proofKeygenCommand(a), proofCheckpointCommand(a), proofConsistencyCommand(a), proofWitnessCommand(a))
}

func proofKeygenCommand(a *cli.App) *cobra.Command {
	var rotate bool
	var output string
	cmd := &cobra.Command{
		Use: "keygen", Short: "Make the ledger's signing key, or rotate it, and print the public keys", Args: cli.NoArgs,
		Long: `Print the public keys of the log, the newest last. If the data folder has no key, make
the key that signs heads and the secret of the salts. The file is keys/ledger.proof in
the data folder, readable by its owner only. Back up the file, and copy it to every
machine that projects into this ledger.

--rotate makes a new signing key. The public half of the old key stays, for heads that
it signed. Give all public keys to verifiers, in one file. The secret of the salts does
not change, since every salt follows from it.`,
		Example: `  ctxledger proof keygen > ledger.pub
  ctxledger proof keygen --rotate -o json`,
		RunE: func(*cobra.Command, []string) error {
			ring, err := keyfile.OpenRing(a.Flags.Data)
			if err == nil && rotate {
				ring, err = keyfile.RotateRing(a.Flags.Data)
			}
			if err != nil {
				return err
			}
			if output == "json" {
				return a.PrintJSON(publicKeys(ring))
			}
			_, err = a.Out.Write(ring.Public())
			return err
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "make a new signing key")
	cli.OutputFlag(cmd.Flags(), &output, "table, which is a public key a line, or json", "table", "json")
	return cmd
}

// publicKey is a key in the output of `proof keygen -o json`.
type publicKey struct {
	Key     string    `json:"key"`
	Created time.Time `json:"created"`
	Signs   bool      `json:"signs"`
}

func publicKeys(ring proof.Ring) []publicKey {
	var keys []publicKey
	for i, k := range ring.Keys {
		keys = append(keys, publicKey{k.Public, k.Created, i == len(ring.Keys)-1})
	}
	return keys
}

func proofCheckpointCommand(a *cli.App) *cobra.Command {
	var stream, key, out, output string
	cmd := &cobra.Command{
		Use: "checkpoint", Short: "Show the newest signed head of the log, or write it to a file", Args: cli.NoArgs,
		Long: `Show the newest signed head of the log of a stream, after a check of its signature with
the public keys of --key or of the data folder.`,
		Example: `  ctxledger proof checkpoint
  ctxledger proof checkpoint --out head --key ledger.pub
  ctxledger proof checkpoint -o note | mail -s head auditor@example.org`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			known, err := Verifiers(a, key)
			if err != nil {
				return err
			}
			return withReader(cmd.Context(), a, stream, nil, func(l *ledger.Ledger) error {
				h, opened, err := newestHead(cmd.Context(), l, stream, known)
				if err != nil {
					return err
				}
				if out != "" {
					if err := os.WriteFile(out, h.Note, 0o644); err != nil {
						return err
					}
				}
				return printHead(a, h, opened, output)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&stream, "stream", schema.EventStream, "whose log: a stream of events")
	f.StringVar(&key, "key", "", "file with the public keys (default: the keys of the data folder)")
	f.StringVar(&out, "out", "", "file to write the signed head to, too")
	cli.OutputFlag(f, &output, "table, json, or note for the signed head itself", "table", "json", "note")
	return cmd
}

// headJSON is the output of `proof checkpoint -o json`.
type headJSON struct {
	Origin     string            `json:"origin"`
	Size       int64             `json:"size"`
	Root       string            `json:"root"`
	RecordedAt time.Time         `json:"recorded_at"`
	Signers    []proof.Signature `json:"signers"`
	Note       string            `json:"note"`
}

func printHead(a *cli.App, h translog.SignedHead, opened proof.Opened, output string) error {
	switch output {
	case "note":
		_, err := a.Out.Write(h.Note)
		return err
	case "json":
		return a.PrintJSON(headJSON{opened.Origin, opened.Size, opened.Root.String(), h.RecordedAt, opened.Signers, string(h.Note)})
	}
	t := ui.Table{Columns: []ui.Column{{}, {Least: 20, Wrap: true}}, Rows: [][]string{
		{"log", opened.Origin}, {"size", fmt.Sprint(opened.Size)}, {"root", fmt.Sprint(opened.Root)}, {"last event", h.RecordedAt.UTC().Format(time.RFC3339Nano)},
	}}
	for _, s := range opened.Signers {
		t.Rows = append(t.Rows, []string{"signed by", fmt.Sprintf("%s+%08x", s.Name, s.Hash)})
	}
	return t.Write(a.Out, a.TableWidth(), "")
}

// Verifiers returns the public keys of a file, or of the data folder.
func Verifiers(a *cli.App, file string) (note.Verifiers, error) {
	if file == "" {
		ring, err := keyfile.ReadRing(a.Flags.Data)
		if errors.Is(err, keyfile.ErrNoRing) {
			return nil, cli.UsageError("no public key to verify with: %s has none; name a file with --key", a.Flags.Data)
		}
		return ring.Verifiers(), err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.UsageError("--key: %w", err)
	}
	list, err := proof.ParseVerifiers(text)
	if err != nil {
		return nil, cli.UsageError("--key %s: %w", file, err)
	}
	return note.VerifierList(list...), nil
}

// withReader opens the ledger to read it. On a cluster that is the shard with the log of the stream, or
// of the first head in the files.
func withReader(ctx context.Context, a *cli.App, stream string, files []string, do func(*ledger.Ledger) error) error {
	plain, shards, err := cli.OpenReaders(ctx, a)
	if err != nil {
		return err
	}
	if shards == nil {
		return do(plain)
	}
	stream = streamIn(files, stream)
	for i, l := range shards.All() {
		list, err := translog.Of(l).NewestHeads(ctx)
		if err != nil {
			return shards.Shards[i].Failed(err)
		}
		if slices.ContainsFunc(list, func(h translog.SignedHead) bool { _, ok := originIn(h, stream); return ok }) {
			return do(l)
		}
	}
	return noHead(stream)
}

// streamIn returns the stream of the first file with a head, or the given stream. What else is wrong
// with the files shows later.
func streamIn(files []string, given string) string {
	for _, file := range files {
		text, err := os.ReadFile(file)
		origin, _, _ := strings.Cut(string(text), "\n")
		if stream, _, ok := proof.ParseOrigin(origin); ok && err == nil {
			return stream
		}
	}
	return given
}

func noHead(stream string) error {
	return fmt.Errorf("the log of stream %s has no signed head yet: see whether the projector has a key, with `ctxledger proof keygen`, and is at work", stream)
}

// newestHead returns the newest head of a stream's log, verified.
func newestHead(ctx context.Context, l *ledger.Ledger, stream string, known note.Verifiers) (translog.SignedHead, proof.Opened, error) {
	list, err := translog.Of(l).NewestHeads(ctx)
	if err != nil {
		return translog.SignedHead{}, proof.Opened{}, err
	}
	for _, h := range list {
		if _, ok := originIn(h, stream); !ok {
			continue
		}
		opened, err := openHead(h.Note, known)
		return h, opened, err
	}
	return translog.SignedHead{}, proof.Opened{}, noHead(stream)
}

// originIn returns the origin of a head, and whether it names the stream. The origin names the stream,
// also under a wrong signature.
func originIn(h translog.SignedHead, stream string) (string, bool) {
	origin, _, _ := strings.Cut(string(h.Note), "\n")
	name, incarnation, ok := proof.ParseOrigin(origin)
	return origin, ok && name == stream && incarnation == h.Incarnation.String()
}

// openHead is [proof.Open] with the exit code of a verification.
func openHead(text []byte, known note.Verifiers) (proof.Opened, error) {
	opened, err := proof.Open(text, known)
	if err != nil {
		err = cli.WithCode(cli.ExitNotVerified, err)
	}
	return opened, err
}

// incarnationOf returns that of the stream whose log has the origin.
func incarnationOf(origin string) (uuid.UUID, error) {
	_, incarnation, ok := proof.ParseOrigin(origin)
	id, err := uuid.Parse(incarnation)
	if err != nil || !ok {
		return id, cli.WithCode(cli.ExitNotVerified, fmt.Errorf("%w: %q is no log of ctxledger", proof.ErrCheckpoint, origin))
	}
	return id, nil
}
