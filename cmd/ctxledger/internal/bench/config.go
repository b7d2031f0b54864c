package bench

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ctxledger/ctxledger/deploy/embedded"
)

// Config configures a measurement. Start from DefaultConfig and set Dir.
type Config struct {
	// Dir holds the data of both servers in separate folders. Required.
	Dir string
	// Events is the number of events in the preloaded stream. Defaults to 300,000.
	Events int
	// Rounds is the number of copies and drains; figures are medians. Defaults to 5.
	Rounds int
	// Seed is the seed of the events. Defaults to 1.
	Seed uint64
	// Latency is the duration of the load at each rate; 0 skips latency. Defaults to 10 s.
	Latency time.Duration
	// Profile is the file for a CPU profile of the last drain; empty writes no profile.
	Profile string
	// Progress receives the progress of each step. Nil reports nothing.
	Progress Progress
	// Fetch receives the progress of the engine's fetch. Nil reports nothing.
	Fetch embedded.Progress
	// Log receives the messages of servers and projector. Nil discards them.
	Log *slog.Logger
}

// Progress receives the name of a step and its progress. Progress is called from one goroutine at
// a time.
type Progress func(step string, done, total int64)

// DefaultConfig returns the configuration of the published figures.
func DefaultConfig(dir string) Config {
	return Config{Dir: dir, Events: 300_000, Rounds: 5, Seed: 1, Latency: 10 * time.Second}
}

// Validate returns an error for the first invalid field. Validate changes nothing.
func (c Config) Validate() error {
	switch {
	case c.Dir == "":
		return errors.New("Config.Dir is empty: set it to a folder")
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
