package cli

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/projector"
)

// LingerFlag is how long an event may wait for others, for the commands that project.
type LingerFlag time.Duration

// LingerHelp explains the flag in the help of a command.
const LingerHelp = `An event waits for others for up to the linger before it is written, while there
are few. A shorter one, such as --linger 20ms, lets queries find it sooner, and
gives ClickHouse more and smaller parts to write and to merge.`

func (l *LingerFlag) Register(f *pflag.FlagSet) {
	f.DurationVar((*time.Duration)(l), "linger", projector.DefaultConfig(nil, nil).Linger, "the longest that an event waits for others before it is written")
}

func (l LingerFlag) Check() error {
	if l < 0 {
		return UsageError("--linger %v: want a duration that is not negative, such as 20ms", time.Duration(l))
	}
	return nil
}
