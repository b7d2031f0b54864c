package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Storage describes the tables in ClickHouse after one drain.
type Storage struct {
	PartsMade uint64 `json:"parts_made"` // inserted parts, before any merge
	PartsLeft uint64 `json:"parts_left"` // active parts at the end of the drain
	// DerivedRows is the number of rows per event of all tables except events and commits.
	DerivedRows float64 `json:"derived_rows_per_event"`
	// BytesSettled is the size on disk per event of active parts after the server's merges. Bytes
	// is the size after OPTIMIZE TABLE … FINAL of every table, the state of closed months. The
	// tables below have this state.
	BytesSettled float64 `json:"bytes_per_event_settled"`
	Bytes        float64 `json:"bytes_per_event"`
	Tables       []Table `json:"tables"`
}

// Table is one table on disk, in bytes.
type Table struct {
	Table     string   `json:"table"`
	PartsMade uint64   `json:"parts_made"`
	PartsLeft uint64   `json:"parts_left"`
	Rows      uint64   `json:"rows"`
	Bytes     uint64   `json:"bytes"`       // columns, marks, indexes and checksums
	Plain     uint64   `json:"plain_bytes"` // size of the columns before compression
	Columns   []Column `json:"columns"`     // largest column first
}

// Column is one column on disk, in bytes, without its marks.
type Column struct {
	Column string `json:"column"`
	Bytes  uint64 `json:"bytes"`
	Plain  uint64 `json:"plain_bytes"`
}

// perEvent divides a number of bytes by the number of events.
func perEvent(bytes uint64, events int) float64 { return float64(bytes) / float64(events) }

// tableParts reads the parts immediately after the drain.
func tableParts(ctx context.Context, s *servers) (map[string]Table, error) {
	found := make(map[string]Table)
	err := scan(ctx, s.admin, "parts", func(rows driver.Rows) error {
		var t Table
		if err := rows.Scan(&t.Table, &t.PartsMade, &t.PartsLeft); err != nil {
			return err
		}
		found[t.Table] = t
		return nil
	})
	return found, err
}

// measureStorage merges every table to one part per month and measures its size.
func measureStorage(ctx context.Context, s *servers, events int, parts map[string]Table) (Storage, error) {
	var st Storage
	settled, err := tableSizes(ctx, s)
	if err != nil {
		return st, err
	}
	for _, t := range settled {
		st.BytesSettled += perEvent(t.Bytes, events)
		name := clickhouse.Context(ctx, clickhouse.WithParameters(clickhouse.Parameters{"table": t.Table}))
		if err := s.admin.Exec(name, statement("optimize")); err != nil {
			return st, fmt.Errorf("merge %s: %w", t.Table, err)
		}
	}
	if st.Tables, err = tableSizes(ctx, s); err != nil {
		return st, err
	}
	for i := range st.Tables {
		t := &st.Tables[i]
		t.PartsMade, t.PartsLeft = parts[t.Table].PartsMade, parts[t.Table].PartsLeft
		st.PartsMade, st.PartsLeft = st.PartsMade+t.PartsMade, st.PartsLeft+t.PartsLeft
		st.Bytes += perEvent(t.Bytes, events)
		if !slices.Contains([]string{"events", "commits", "migrations"}, t.Table) {
			st.DerivedRows += float64(t.Rows) / float64(events)
		}
	}
	return st, columnSizes(ctx, s, st.Tables)
}

func tableSizes(ctx context.Context, s *servers) (list []Table, err error) {
	err = scan(ctx, s.admin, "tables", func(rows driver.Rows) error {
		var t Table
		if err := rows.Scan(&t.Table, &t.Rows, &t.Bytes, &t.Plain); err != nil {
			return err
		}
		list = append(list, t)
		return nil
	})
	return list, err
}

func columnSizes(ctx context.Context, s *servers, tables []Table) error {
	return scan(ctx, s.admin, "columns", func(rows driver.Rows) error {
		var table string
		var c Column
		if err := rows.Scan(&table, &c.Column, &c.Bytes, &c.Plain); err != nil {
			return err
		}
		if i := slices.IndexFunc(tables, func(t Table) bool { return t.Table == table }); i >= 0 {
			tables[i].Columns = append(tables[i].Columns, c)
		}
		return nil
	})
}

func scan(ctx context.Context, conn driver.Conn, name string, row func(driver.Rows) error) error {
	rows, err := conn.Query(ctx, statement(name))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
	return rows.Err()
}
