package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/ctxledger/ctxledger/ledger"
)

// Report is the result of a run.
type Report struct {
	Machine Machine   `json:"machine"`
	Stream  Preloaded `json:"stream"`
	Raw     Summary   `json:"raw"`
	// Unlogged is a drain without a transparency log.
	Unlogged Summary `json:"unlogged"`
	Drain    Summary `json:"drain"`
	// Ratio is the drain's rate divided by the raw copy's rate, as the median of the rounds.
	// UnloggedRatio is the same ratio for the drain without a log. LogRatio is the drain's rate
	// divided by the rate without a log.
	Ratio         float64   `json:"ratio"`
	UnloggedRatio float64   `json:"unlogged_ratio"`
	LogRatio      float64   `json:"log_ratio"`
	Storage       Storage   `json:"storage"`
	Latency       []Latency `json:"latency"` // empty if skipped
}

// Machine describes the machine of the figures.
type Machine struct {
	Cores      int    `json:"cores"`
	Platform   string `json:"platform"`
	Go         string `json:"go"`
	NATS       string `json:"nats"`
	ClickHouse string `json:"clickhouse"`
	Began      string `json:"began"` // start time, RFC 3339
}

// Run measures. ctx can end the run early. All started processes have ended when Run returns. The
// data folder remains.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	s, err := startServers(ctx, c)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r.Machine = s.machine()
	if r.Stream, err = preload(ctx, s.js, c.Seed, c.Events, c.Progress); err != nil {
		return r, err
	}
	l, err := s.rounds(ctx, c, &r)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if r.Machine.ClickHouse, err = l.Version(); err != nil {
		return r, err
	}
	return r, s.latencies(ctx, c, l, &r)
}

// machine describes the machine of the servers, without the version of ClickHouse.
func (s *servers) machine() Machine {
	return Machine{
		Cores: runtime.GOMAXPROCS(0), Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		NATS: s.nc.ConnectedServerVersion(), Began: time.Now().UTC().Format(time.RFC3339),
	}
}

// rounds copies and drains in alternation, without a log and with it. rounds measures the storage
// of the last drain and returns its ledger.
func (s *servers) rounds(ctx context.Context, c Config, r *Report) (*ledger.Ledger, error) {
	var raws, unlogged, drains []Round
	for i := range c.Rounds {
		c.progress("copying and draining", int64(3*i), int64(3*c.Rounds))
		raw, err := s.rawRound(ctx, c.Events)
		if err != nil {
			return nil, err
		}
		c.progress("copying and draining", int64(3*i+1), int64(3*c.Rounds))
		bare, l, err := s.drainRound(ctx, unloggedWay, c, "")
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return nil, err
		}
		c.progress("copying and draining", int64(3*i+2), int64(3*c.Rounds))
		last := i == c.Rounds-1
		profile := ""
		if last {
			profile = c.Profile
		}
		drain, l, err := s.drainRound(ctx, drainWay, c, profile)
		if err != nil {
			return nil, err
		}
		raws, unlogged, drains = append(raws, raw), append(unlogged, bare), append(drains, drain)
		if !last {
			if err := l.Close(); err != nil {
				return nil, err
			}
			continue
		}
		r.Raw, r.Unlogged, r.Drain = summarise(raws, c.Events), summarise(unlogged, c.Events), summarise(drains, c.Events)
		r.Ratio, r.UnloggedRatio, r.LogRatio = middle(ratios(drains, raws)), middle(ratios(unlogged, raws)), middle(ratios(drains, unlogged))
		c.progress("measuring the tables", 0, 1)
		if r.Storage, err = measureStorage(ctx, s, c.Events, drain.parts); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		return l, nil
	}
	return nil, errors.New("no round")
}

// ratios returns the ratios of the rates by round.
func ratios(of, to []Round) []float64 {
	list := make([]float64, len(of))
	for i := range list {
		list[i] = of[i].PerSecond / to[i].PerSecond
	}
	return list
}

func (s *servers) latencies(ctx context.Context, c Config, l *ledger.Ledger, r *Report) error {
	if c.Latency == 0 {
		return nil
	}
	list := loads(r.Drain.PerSecond)
	messages := newRing(c.Seed+1, min(c.Events, 20_000))
	for i, want := range list {
		c.progress("measuring latency", int64(i), int64(len(list)))
		if err := s.settle(ctx); err != nil {
			return err
		}
		found, err := s.latency(ctx, c, l, want, messages)
		if err != nil {
			return fmt.Errorf("latency at %.0f events/s: %w", want.Rate, err)
		}
		r.Latency = append(r.Latency, found)
	}
	return nil
}
