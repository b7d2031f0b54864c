package storage

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/ui"
)

// Report is what an installation stores. A side that did not answer has an error and no numbers.
type Report struct {
	NATS       NATS       `json:"nats"`
	ClickHouse ClickHouse `json:"clickhouse"`
	Local      *Local     `json:"local,omitempty"` // nil unless the servers of `up` on this machine were asked
}

// NATS is the side of the streams.
type NATS struct {
	Error   string   `json:"error,omitempty"`
	Streams []Stream `json:"streams,omitempty"`
	Account *Store   `json:"account,omitempty"`
	Server  *Store   `json:"server,omitempty"` // nil unless its monitoring address was asked
}

// Stream is a stream, or the stream of a bucket or of an object store. Bytes are those of one replica.
type Stream struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`             // stream, bucket or objects
	Tenant   string `json:"tenant,omitempty"` // whose own stream of events it is
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`
	Limit    *int64 `json:"limit_bytes,omitempty"`
	// Retention is the number of bytes from which on a retention removes the oldest messages.
	Retention *int64   `json:"retention_bytes,omitempty"`
	Growth    *Growth  `json:"growth,omitempty"` // nil for a bucket: its size depends on its keys
	Forecast  Forecast `json:"forecast"`
}

// Store is the sum of several streams, and its limit.
type Store struct {
	Bytes    int64    `json:"bytes"`
	Limit    *int64   `json:"limit_bytes,omitempty"`
	Growth   *Growth  `json:"growth,omitempty"`
	Forecast Forecast `json:"forecast"`
}

// ClickHouse is the side of the tables.
type ClickHouse struct {
	Error   string   `json:"error,omitempty"`
	Bytes   int64    `json:"bytes"` // of all tables
	Growth  *Growth  `json:"growth,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	Disks   []Disk   `json:"disks,omitempty"`
	Tenants []Tenant `json:"tenants,omitempty"`
}

// Table is a table of the ledger.
type Table struct {
	Name   string  `json:"name"`
	Rows   int64   `json:"rows"`
	Bytes  int64   `json:"bytes"` // compressed
	Parts  int64   `json:"parts"`
	Growth *Growth `json:"growth,omitempty"` // nil for a table that no batch writes
}

// Tenant is the share of a tenant in all tables.
type Tenant struct {
	Name      string `json:"name"`
	Events    int64  `json:"events"`
	DayEvents int64  `json:"day_events"`
	Bytes     int64  `json:"estimated_bytes"`
}

// Disk is a disk of a server or of this machine.
type Disk struct {
	Name     string   `json:"name"`
	Free     int64    `json:"free_bytes"`
	Total    int64    `json:"total_bytes"`
	Forecast Forecast `json:"forecast"`
}

// Local is the data folder of `up` on this machine, where both sides share a disk.
type Local struct {
	Disk    Disk  `json:"disk"`
	Backups int64 `json:"backup_staging_bytes"` // that ClickHouse has written and no backup has moved
}

// WriteTable writes a table for each side, and a line for each side that did not answer.
func (r Report) WriteTable(w io.Writer) error {
	streams, tables := r.NATS.table(), r.ClickHouse.table()
	if r.Local != nil {
		tables.Rows = append(tables.Rows, r.Local.Disk.row())
		if r.Local.Backups > 0 {
			tables.Rows = append(tables.Rows, []string{"staging of backups", "", Size(r.Local.Backups), "", "", ""})
		}
	}
	for _, part := range []struct {
		name, err string
		table     ui.Table
	}{
		{"NATS", r.NATS.Error, streams}, {"ClickHouse", r.ClickHouse.Error, tables}, {"", "", r.ClickHouse.shares()},
	} {
		if part.err != "" {
			if err := ui.Line(w, "%s: %s", part.name, part.err); err != nil {
				return err
			}
		}
		if len(part.table.Rows) == 0 {
			continue
		}
		if err := part.table.Write(w, ui.NoLimit, ""); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "A day's growth is the faster of the last hour's rate and the last day's. It is an estimate.")
	return nil
}

// columns are those of a table of sizes.
func columns(name string) []ui.Column {
	return []ui.Column{{Name: name}, {Name: "COUNT", Right: true}, {Name: "SIZE", Right: true}, {Name: "LIMIT", Right: true}, {Name: "GROWTH A DAY", Right: true}, {Name: "FULL"}}
}

func (n NATS) table() ui.Table {
	t := ui.Table{Columns: columns("NATS")}
	for _, s := range n.Streams {
		t.Rows = append(t.Rows, []string{s.Kind + " " + s.Name, ui.Plural(s.Messages, "message"), Size(s.Bytes), limit(s.Limit), rate(s.Growth), s.Forecast.String()})
	}
	for _, sum := range []struct {
		name  string
		store *Store
	}{{"account of JetStream", n.Account}, {"server, all accounts", n.Server}} {
		if s := sum.store; s != nil {
			t.Rows = append(t.Rows, []string{sum.name, "", Size(s.Bytes), limit(s.Limit), rate(s.Growth), s.Forecast.String()})
		}
	}
	return t
}

func (c ClickHouse) table() ui.Table {
	t := ui.Table{Columns: columns("CLICKHOUSE")}
	for _, one := range c.Tables {
		t.Rows = append(t.Rows, []string{one.Name, ui.Plural(one.Rows, "row") + ", " + ui.Plural(one.Parts, "part"), Size(one.Bytes), "", rate(one.Growth), ""})
	}
	if c.Error == "" {
		t.Rows = append(t.Rows, []string{"all tables", "", Size(c.Bytes), "", rate(c.Growth), ""})
	}
	for _, d := range c.Disks {
		t.Rows = append(t.Rows, d.row())
	}
	return t
}

func (c ClickHouse) shares() ui.Table {
	t := ui.Table{Columns: []ui.Column{{Name: "TENANT"}, {Name: "EVENTS", Right: true}, {Name: "OF THE LAST DAY", Right: true}, {Name: "SHARE OF THE TABLES", Right: true}}}
	for _, one := range c.Tenants {
		t.Rows = append(t.Rows, []string{one.Name, ui.Thousands(one.Events), ui.Thousands(one.DayEvents), "about " + Size(one.Bytes)})
	}
	return t
}

func (d Disk) row() []string {
	return []string{"disk " + d.Name, "", Size(d.Free) + " free", Size(d.Total), "", d.Forecast.String()}
}

// String returns the words of a table: the time until the limit, or why there is none.
func (f Forecast) String() string {
	if f.Seconds == nil {
		return string(f.Outlook)
	}
	switch left := time.Duration(*f.Seconds) * time.Second; {
	case left >= longest:
		return "in more than 100 years"
	case left >= 48*time.Hour:
		return fmt.Sprintf("in %d days", left/(24*time.Hour))
	case left >= 2*time.Hour:
		return fmt.Sprintf("in %d hours", left/time.Hour)
	default:
		return "in " + ui.Plural(int64(left/time.Minute), "minute")
	}
}

func limit(bytes *int64) string {
	if bytes == nil {
		return "none"
	}
	return Size(*bytes)
}

func rate(g *Growth) string {
	if g == nil {
		return "unknown"
	}
	return Size(int64(g.perDay()))
}

// Size writes a number of bytes in the largest unit that fits: 1.5 GiB.
func Size(bytes int64) string {
	const units = "KMGTPE"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes), 0
	for value /= 1 << 10; value >= 1<<10 && unit < len(units)-1; value /= 1 << 10 {
		unit++
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + units[unit:unit+1] + "iB"
}
