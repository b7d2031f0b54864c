package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the report for people.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	writeSetting(t, r.Machine, r.Stream)
	writeRates(t, rate{"raw copy", r.Raw}, rate{"drain without a log", r.Unlogged}, rate{"drain", r.Drain})
	r.writeRatio(t)
	r.writeStorage(t)
	r.writeLatency(t)
	return t.Flush()
}

func writeSetting(w io.Writer, m Machine, s Preloaded) {
	fmt.Fprintf(w, "%d cores, %s, %s, NATS %s, ClickHouse %s\n", m.Cores, m.Platform, m.Go, m.NATS, m.ClickHouse)
	fmt.Fprintf(w, "%d events (seed %d) of %.0f bytes in the stream: data %.0f, headers %.0f\n\n", s.Events, s.Seed, s.Stored, s.Data, s.Headers)
}

// rate is a way through the stream and its rate.
type rate struct {
	name string
	Summary
}

func writeRates(w io.Writer, ways ...rate) {
	fmt.Fprintf(w, "median of %d\tevents/s\tbatches\tCPU-s/M events: client\tNATS\tClickHouse\tpeak MB: client\tNATS\tClickHouse\n", len(ways[0].Rounds))
	for _, line := range ways {
		fmt.Fprintf(w, "%s\t%.0f\t%d", line.name, line.PerSecond, line.Rounds[0].Batches)
		for _, p := range line.CPUPerMillion.each() {
			fmt.Fprintf(w, "\t%s", figure(*p, 1, "%.1f"))
		}
		for _, p := range line.Peak.each() {
			fmt.Fprintf(w, "\t%s", figure(*p, 1e-6, "%.0f"))
		}
		fmt.Fprintln(w)
	}
}

func (r *Report) writeRatio(w io.Writer) {
	fmt.Fprintln(w, "ratio of rates\tmedian\tby round")
	for _, line := range []struct {
		name     string
		median   float64
		of, over Summary
	}{
		{"drain to raw copy", r.Ratio, r.Drain, r.Raw},
		{"drain without a log to raw copy", r.UnloggedRatio, r.Unlogged, r.Raw},
		{"drain to drain without a log", r.LogRatio, r.Drain, r.Unlogged},
	} {
		fmt.Fprintf(w, "%s\t%.3f\t%.2f\n", line.name, line.median, ratios(line.of.Rounds, line.over.Rounds))
	}
	fmt.Fprintln(w)
}

// figure formats a number that may be unknown.
func figure(value *float64, scale float64, format string) string {
	if value == nil {
		return "?"
	}
	return fmt.Sprintf(format, *value*scale)
}

// leastShown is the smallest column that the table shows, in bytes per event. JSON has all
// columns.
const leastShown = 2.0

func (r *Report) writeStorage(w io.Writer) {
	s, n := r.Storage, r.Stream.Events
	fmt.Fprintf(w, "%.2f derived rows per event; %d parts made, %d left at the end of the drain\n", s.DerivedRows, s.PartsMade, s.PartsLeft)
	fmt.Fprintf(w, "%.0f bytes on disk per event after the server's merges, %.0f after OPTIMIZE … FINAL (%.0f per KB stored in the stream):\n\n",
		s.BytesSettled, s.Bytes, 1000*s.Bytes/r.Stream.Stored)
	fmt.Fprintln(w, "table\tparts made\tleft\trows\tbytes per event\tits largest columns, bytes per event")
	for _, t := range s.Tables {
		var largest []string
		for _, c := range t.Columns {
			if share := perEvent(c.Bytes, n); share >= leastShown {
				largest = append(largest, fmt.Sprintf("%s %.1f", c.Column, share))
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.1f\t%s\n", t.Table, t.PartsMade, t.PartsLeft, t.Rows, perEvent(t.Bytes, n), strings.Join(largest, ", "))
	}
	fmt.Fprintln(w)
}

func (r *Report) writeLatency(w io.Writer) {
	if len(r.Latency) == 0 {
		return
	}
	fmt.Fprintln(w, "publish → queryable\tevents/s\tachieved\tp50 ms\tp99 ms\tmax ms")
	for _, l := range r.Latency {
		name := fmt.Sprintf("%s, %.0f%% of the drain", l.Setting, 100*l.Load)
		if l.Load == 0 {
			name = fmt.Sprintf("%s, linger %.0f ms", l.Setting, 1000*l.Linger)
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\n", name, l.Rate, l.Achieved, 1000*l.P50, 1000*l.P99, 1000*l.Max)
	}
}

// WriteTable writes the report for people.
func (r *QueriesReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%d events of %d sessions in %d tenants, %.1f GB in %d parts; database %s, ClickHouse %s\n\n",
		r.Events, r.Sessions, r.Tenants, float64(r.Bytes)/1e9, r.Parts, r.Database, r.ClickHouse)
	if !r.CachesDropped {
		fmt.Fprint(out, "cold is the first run: this user may not drop the server's caches\n\n")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "query\tscope\tcold p50 ms\tp95\twarm p50 ms\tp95\tbar\tCPU ms\trows read\tMB read\tpeak MB\trows\t")
	for _, q := range r.Queries {
		verdict := ""
		switch {
		case q.Error != "":
			verdict = "FAILS: " + q.Error
		case q.Over:
			verdict = "OVER"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f\t%.0f\t%d\t%.1f\t%.0f\t%d\t%s\n", q.Query, q.Scope, q.Cold.milliseconds(), q.Warm.milliseconds(),
			1000*q.Bar, 1000*q.CPU, q.Rows, float64(q.Bytes)/1e6, float64(q.Memory)/1e6, q.Result, verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d of %d over the bar\n", r.Over, len(r.Queries))
	if err == nil && r.Left > 0 {
		_, err = fmt.Fprintf(out, "interrupted: %d were not asked\n", r.Left)
	}
	return err
}

// milliseconds returns both percentiles as two cells.
func (p Percentile) milliseconds() string {
	if p.Runs == 0 {
		return "-\t-"
	}
	return fmt.Sprintf("%.0f\t%.0f", 1000*p.P50, 1000*p.P95)
}
