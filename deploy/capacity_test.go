package deploy_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCapacity computes the second table of CAPACITY.md from the figures of the first one.
func TestCapacity(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CAPACITY.md")
	if err != nil {
		t.Fatal(err)
	}
	figures := make(map[string]float64)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		if value, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(cells[2]), ",", ""), 64); err == nil {
			figures[strings.TrimSpace(cells[1])] = value
		}
	}
	of := func(name string) float64 {
		value, ok := figures[name]
		if !ok {
			t.Fatalf("CAPACITY.md has no figure %q", name)
		}
		return value
	}
	events, stream, tables := of("E: events of a call"), of("S: bytes of an event in the stream"), of("T: bytes of an event in the tables")
	cpu, drain, peak := of("P: microseconds of CPU of an event"), of("D: events a second, at most, on two cores"), of("B: the busiest hour, in average hours")
	disk, year, query := of("N: gigabytes of the stream's disk"), 24*365.0, of("Q: seconds of a question about a million events")
	row := func(what, how string, value func(calls float64) string) string {
		return fmt.Sprintf("| %s | %s | %s | %s |\n", what, how, value(1_000), value(100_000))
	}
	number := func(format string, unit string, value func(calls float64) float64) func(float64) string {
		return func(calls float64) string { return fmt.Sprintf(format, value(calls)) + unit }
	}
	want := "| | how | 1,000 calls an hour | 100,000 calls an hour |\n|---|---|---|---|\n" +
		row("events a second, average", "X · E / 3600", number("%.1f", "", func(x float64) float64 { return x * events / 3600 })) +
		row("events a second in the busiest hour", "· B", number("%.0f", "", func(x float64) float64 { return x * events / 3600 * peak })) +
		row("of the rate of one projector", "/ D", number("%.2f", " %", func(x float64) float64 { return 100 * x * events / 3600 * peak / drain })) +
		row("cores in the busiest hour", "events a second · P", number("%.3f", "", func(x float64) float64 { return x * events / 3600 * peak * cpu / 1e6 })) +
		row("disk of the stream, a day", "X · E · 24 · S", number("%.2f", " GB", func(x float64) float64 { return x * events * 24 * stream / 1e9 })) +
		row("days until N is full", "N / that", number("%.1f", "", func(x float64) float64 { return disk * 1e9 / (x * events * 24 * stream) })) +
		row("disk of the tables, a year", "X · E · 8760 · T", number("%.0f", " GB", func(x float64) float64 { return x * events * year * tables / 1e9 })) +
		row("a question about everything of a year", "X · E · 8760 · Q / 1,000,000", number("%.0f", " s", func(x float64) float64 { return x * events * year / 1e6 * query }))
	if !strings.Contains(string(text), want) {
		t.Errorf("the figures of CAPACITY.md give\n%s", want)
	}
}
