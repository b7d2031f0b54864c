package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/keyfile"
	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/treehead"
	"github.com/ctxledger/ctxledger/ledger/proof"
	"github.com/ctxledger/ctxledger/projector"
	"github.com/ctxledger/ctxledger/projector/signing"
)

// HeadFlags set the times at which heads of the transparency log are signed, and their copies.
type HeadFlags struct {
	folder, command string
	every           int64
	interval        time.Duration
}

func (h *HeadFlags) Register(f *pflag.FlagSet) {
	defaults := projector.DefaultConfig(nil, nil).Signing
	f.StringVar(&h.folder, "checkpoint-dir", "", "folder that gets each signed head of the log, as <stream>.checkpoint (CTXLEDGER_CHECKPOINT_DIR)")
	f.StringVar(&h.command, "checkpoint-command", "", "shell command that gets each signed head on standard input (CTXLEDGER_CHECKPOINT_COMMAND)")
	f.Int64Var(&h.every, "checkpoint-every", defaults.Every, "sign a head at the latest after so many events")
	f.DurationVar(&h.interval, "checkpoint-interval", defaults.Interval, "and after so much of the stream's time; always when no event comes for a second")
}

// HeadsHelp explains the flags in the help of a command.
const HeadsHelp = `The events form a transparency log. Its heads are signed with the key of the data
folder, and kept in the table checkpoints and the stream CTX_CHECKPOINTS. A copy
elsewhere (--checkpoint-dir, --checkpoint-command) proves the log against its author;
see "ctxledger proof --help".`

func (h *HeadFlags) Check() error {
	if h.every < 1 {
		return UsageError("--checkpoint-every %d: want a number of events from 1", h.every)
	}
	if h.interval < 0 {
		return UsageError("--checkpoint-interval %v: want a duration that is not negative, such as 10s", h.interval)
	}
	return nil
}

// Heads returns the settings for a projector.
func (h *HeadFlags) Heads() signing.Config {
	return signing.Config{Every: h.every, Interval: h.interval, Sinks: treehead.Sinks(h.folder, h.command)}
}

// RingIn returns a way to read the ledger's ring in a data folder. A missing key is made.
func RingIn(data string) (func() (proof.Ring, error), error) {
	if _, err := keyfile.OpenRing(data); err != nil {
		return nil, err
	}
	return func() (proof.Ring, error) { return keyfile.ReadRing(data) }, nil
}

// OwnRing returns a way to read the ring for a command that goes by addresses. Only a data
// folder that was named gets a ring where it has none: the ring of a ledger elsewhere may be in
// another folder. The result is nil if there is none.
func (a *App) OwnRing() (func() (proof.Ring, error), error) {
	switch _, err := keyfile.ReadRing(a.Flags.Data); {
	case err == nil || a.Flags.dataGiven:
		return RingIn(a.Flags.Data)
	case !errors.Is(err, keyfile.ErrNoRing):
		return nil, err
	}
	fmt.Fprintf(a.Err, "no transparency log is kept and nothing is signed: %s has no key for it; run `ctxledger proof keygen`, or name the ledger's data folder with --data\n", a.Flags.Data)
	return nil, nil
}

// RingIfAny returns a way to read the ring, nil where the data folder has none.
func (a *App) RingIfAny() (func() (proof.Ring, error), error) {
	switch _, err := keyfile.ReadRing(a.Flags.Data); {
	case errors.Is(err, keyfile.ErrNoRing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return func() (proof.Ring, error) { return keyfile.ReadRing(a.Flags.Data) }, nil
}
