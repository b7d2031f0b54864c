package bench

import (
	"strings"
	"testing"
)

// TestAllFiguresOfASuite: each suite that ran has figures, with the peer of the same run; a
// suite that did not run has none.
func TestAllFiguresOfASuite(t *testing.T) {
	t.Parallel()
	r := AllReport{
		Projector: &Report{
			Stream: Preloaded{Events: 100, Stored: 1700}, Raw: Summary{PerSecond: 80_000, CPUPerMillion: Processes{Client: new(10.0)}},
			Drain: Summary{PerSecond: 32_000, CPUPerMillion: Processes{Client: new(25.0)}}, Storage: Storage{Bytes: 340},
			Latency: []Latency{{Setting: "default", Rate: 16_000, P99: 0.5}},
		},
		Rebuild: &RebuildReport{Ratio: 1.1, Rebuild: Summary{PerSecond: 29_000}, Drain: Summary{PerSecond: 32_000}},
		Soak:    &Soak{Rate: 1000, Achieved: 990, Parts: map[string]int{"events": 7, "commits": 12}},
		Queries: &QueriesReport{Over: 1, Queries: []QueryFigures{
			{Query: "window", Scope: scopeTurn, Warm: Percentile{P95: 0.2}, Bar: 1},
			{Query: "why", Scope: scopeTurn, Warm: Percentile{P95: 2}, Bar: 1, Over: true},
			{Query: "sessions", Scope: scopeAll, Error: "memory"},
		}},
	}
	r.Figures = r.figures()
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{
		"projector drain into all tables 32000 events/s raw copy 80000 0.40",
		"projector CPU time of the client 25 s/M events raw copy 10 2.50",
		"projector on disk 340 bytes/event stream 1700 0.20",
		"projector p99 until queryable, default, 16000 events/s 0.5 s",
		"rebuild rebuild, compared and swapped 29000 events/s drain 32000 0.91",
		"rebuild its time, divided by a drain's 1.1 bar: at most 1.2",
		"soak queryable, for 0 s 990 events/s published 1000 0.99",
		"soak most parts of a table 12 bar: at most 300",
		"queries slowest about turn, p95: why 2 s bar: at most 1",
		"queries over their bar, of 3 1 bar: at most 0",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, &table)
		}
	}
	for _, absent := range []string{"CPU time of ClickHouse", "about everything"} {
		if strings.Contains(text, absent) {
			t.Errorf("the table has %q, which is unknown", absent)
		}
	}
	if list := (&AllReport{Soak: r.Soak}).figures(); len(list) != 4 || list[0].Suite != suiteSoak {
		t.Errorf("of one suite: %v", list)
	}
}
