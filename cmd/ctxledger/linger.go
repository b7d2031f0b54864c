package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ctxledger/ctxledger/projector"
)

// lingerFlag is how long an event may wait for others, for the commands that project.
type lingerFlag time.Duration

// lingerHelp is the part of a command's help that says what the flag is about.
const lingerHelp = `An event waits for others for up to the linger before it is written, while there
are few. A shorter one, such as --linger 20ms, lets queries find it sooner, and
gives ClickHouse more and smaller parts to write and to merge.`

func (l *lingerFlag) register(f *pflag.FlagSet) {
	f.DurationVar((*time.Duration)(l), "linger", projector.DefaultConfig(nil, nil).Linger, "the longest that an event waits for others before it is written")
}

func (l lingerFlag) check() error {
	if l < 0 {
		return usageError("--linger %v: want a duration that is not negative, such as 20ms", time.Duration(l))
	}
	return nil
}
