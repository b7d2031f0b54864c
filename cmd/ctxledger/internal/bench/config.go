package bench

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Config says what to measure. Start from DefaultConfig and set Dir.
type Config struct {
	// Dir holds the data of both servers, each in a folder of its own. Required.
	Dir string
	// Events is how many events the stream is preloaded with. Defaults to 300,000.
	Events int
	// Rounds is how often it is copied and drained; figures are medians.
	// Defaults to 5.
	Rounds int
	// Seed of the events. Defaults to 1.
	Seed uint64
	// Latency is how long to publish at each rate; 0 leaves latency out.
	// Defaults to 10 s.
	Latency time.Duration
	// Profile is a file for a CPU profile of this process during the last
	// drain; empty makes none.
	Profile string
	// Progress is told how far each step is. Nil is quiet.
	Progress Progress
	// Fetch is told how far the fetch of the engine is. Nil is quiet.
	Fetch embedded.Progress
	// Log gets what servers and projector have to say. Nil discards it.
	Log *slog.Logger
}

// Progress is told a step and how far it is. It is called from one goroutine at
// a time.
type Progress func(step string, done, total int64)

// DefaultConfig returns what the issues' figures are made with.
func DefaultConfig(dir string) Config {
	return Config{Dir: dir, Events: 300_000, Rounds: 5, Seed: 1, Latency: 10 * time.Second}
}

// Validate says what is wrong with c and changes nothing.
func (c Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("no folder was given")
	case c.Events < 1:
		return errors.New("the number of events must be above zero")
	case c.Rounds < 1:
		return errors.New("the number of rounds must be above zero")
	case c.Latency < 0:
		return errors.New("the time for latency must not be negative")
	}
	return nil
}

func (c Config) progress(step string, done, total int64) {
	if c.Progress != nil {
		c.Progress(step, done, total)
	}
}
