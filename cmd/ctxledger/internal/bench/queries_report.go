package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

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
