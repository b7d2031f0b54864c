package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Figure is one line of the table of all suites.
type Figure struct {
	Suite string  `json:"suite"`
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitzero"`
	Ours  float64 `json:"ours"`
	// Peer is the same figure of what PeerName names, measured in the same run.
	Peer     *float64 `json:"peer,omitzero"`
	PeerName string   `json:"peer_name,omitzero"`
	// Bar is the most that the figure may be.
	Bar *float64 `json:"bar,omitzero"`
}

// figures are the main figures of the suites that ran.
func (r *AllReport) figures() (list []Figure) {
	if r.Projector != nil {
		list = append(list, r.Projector.figures()...)
	}
	if r.Rebuild != nil {
		list = append(list, r.Rebuild.figures()...)
	}
	if r.Soak != nil {
		list = append(list, r.Soak.figures()...)
	}
	if r.Queries != nil {
		list = append(list, r.Queries.figures()...)
	}
	return list
}

// figures has the raw copy as a peer. A figure that is unknown on this machine is left out.
func (r *Report) figures() (list []Figure) {
	add := func(name, unit string, scale float64, ours, raw *float64) {
		if ours == nil {
			return
		}
		f := Figure{Suite: suiteProjector, Name: name, Unit: unit, Ours: *ours * scale}
		if raw != nil {
			f.Peer, f.PeerName = new(*raw*scale), "raw copy"
		}
		list = append(list, f)
	}
	add("drain into all tables", "events/s", 1, &r.Drain.PerSecond, &r.Raw.PerSecond)
	add("drain without the transparency log", "events/s", 1, &r.Unlogged.PerSecond, &r.Raw.PerSecond)
	add("CPU time of the client", "s/M events", 1, r.Drain.CPUPerMillion.Client, r.Raw.CPUPerMillion.Client)
	add("CPU time of ClickHouse", "s/M events", 1, r.Drain.CPUPerMillion.ClickHouse, r.Raw.CPUPerMillion.ClickHouse)
	add("peak memory of the client", "MB", 1e-6, r.Drain.Peak.Client, r.Raw.Peak.Client)
	list = append(list, Figure{Suite: suiteProjector, Name: "on disk", Unit: "bytes/event", Ours: r.Storage.Bytes, Peer: new(r.Stream.Stored), PeerName: "stream"})
	for _, l := range r.Latency {
		list = append(list, Figure{Suite: suiteProjector, Name: fmt.Sprintf("p99 until queryable, %s, %.0f events/s", l.Setting, l.Rate), Unit: "s", Ours: l.P99})
	}
	return list
}

// figures has the drain as a peer. The comparison is that of the last round.
func (r *RebuildReport) figures() []Figure {
	list := []Figure{
		{Suite: suiteRebuild, Name: "rebuild, compared and swapped", Unit: "events/s", Ours: r.Rebuild.PerSecond, Peer: new(r.Drain.PerSecond), PeerName: "drain"},
		{Suite: suiteRebuild, Name: "its time, divided by a drain's", Ours: r.Ratio, Bar: new(1.2)},
	}
	if n := len(r.Steps); n > 0 {
		list = append(list, Figure{Suite: suiteRebuild, Name: "comparison of the tables", Unit: "s", Ours: r.Steps[n-1].Compare})
	}
	return list
}

func (r *Soak) figures() []Figure {
	most := 0
	for _, parts := range r.Parts {
		most = max(most, parts)
	}
	return []Figure{
		{Suite: suiteSoak, Name: fmt.Sprintf("queryable, for %.0f s", r.Seconds), Unit: "events/s", Ours: r.Achieved, Peer: new(r.Rate), PeerName: "published"},
		{Suite: suiteSoak, Name: "p50 until queryable", Unit: "s", Ours: r.P50},
		{Suite: suiteSoak, Name: "p99 until queryable", Unit: "s", Ours: r.P99},
		{Suite: suiteSoak, Name: "most parts of a table", Ours: float64(most), Bar: new(300.0)},
	}
}

// figures are the slowest query of each scope and how many are over their bars.
func (r *QueriesReport) figures() (list []Figure) {
	for _, scope := range []Scope{scopeTurn, scopeSession, scopeTenant, scopeAll} {
		var slowest *QueryFigures
		for i, q := range r.Queries {
			if q.Scope == scope && q.Error == "" && (slowest == nil || q.Warm.P95 > slowest.Warm.P95) {
				slowest = &r.Queries[i]
			}
		}
		if slowest != nil {
			list = append(list, Figure{Suite: suiteQueries, Name: fmt.Sprintf("slowest about %s, p95: %s", scope, slowest.Query), Unit: "s", Ours: slowest.Warm.P95, Bar: new(slowest.Bar)})
		}
	}
	return append(list, Figure{Suite: suiteQueries, Name: fmt.Sprintf("over their bar, of %d", len(r.Queries)), Ours: float64(r.Over), Bar: new(0.0)})
}

// WriteTable writes the figures for people.
func (r *AllReport) WriteTable(w io.Writer) error {
	if p := r.Projector; p != nil {
		m := p.Machine
		fmt.Fprintf(w, "%d cores, %s, %s, NATS %s, ClickHouse %s\n", m.Cores, m.Platform, m.Go, m.NATS, m.ClickHouse)
		fmt.Fprintf(w, "projector: %d events of %.0f bytes\n", p.Stream.Events, p.Stream.Stored)
	}
	if q := r.Queries; q != nil {
		fmt.Fprintf(w, "queries: %d events of %d sessions\n", q.Events, q.Sessions)
	}
	if r.Projector != nil || r.Queries != nil {
		fmt.Fprintln(w)
	}
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SUITE\tFIGURE\tOURS\tUNIT\tPEER\tOURS/PEER")
	for _, f := range r.Figures {
		peer, ratio := "", ""
		switch {
		case f.Peer != nil:
			peer, ratio = f.PeerName+" "+shortNumber(*f.Peer), fmt.Sprintf("%.2f", f.Ours / *f.Peer)
		case f.Bar != nil:
			peer = "bar: at most " + shortNumber(*f.Bar)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Suite, f.Name, shortNumber(f.Ours), f.Unit, peer, ratio)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	_, err := fmt.Fprintln(w, "\nBENCHMARKS.md names the `go test -bench` lines for single packages.")
	return err
}

// shortNumber writes a number with three significant digits, or all digits before the point.
func shortNumber(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
