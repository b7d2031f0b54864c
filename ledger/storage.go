package ledger

import (
	"context"
	"fmt"
)

// Storage is what the tables of the ledger take on the disks of ClickHouse.
type Storage struct {
	Tables  []TableStorage  // the largest first; empty tables are left out
	Disks   []Disk          // of the server
	Tenants []TenantStorage // the largest first
}

// TableStorage is what one table takes.
type TableStorage struct {
	Table string
	Rows  uint64 // with rows that a merge will collapse
	Bytes uint64 // compressed, of the active parts
	Parts uint64
	// HourRows and DayRows are the rows of batches of the last hour and day, by the stream's time.
	// They are nil for a table that no batch writes.
	HourRows, DayRows *uint64
}

// Disk is a disk of ClickHouse. Its server writes no more than Free to it.
type Disk struct {
	Name        string
	Total, Free uint64 // bytes
}

// TenantStorage is the share of one tenant in the table of events.
type TenantStorage struct {
	Tenant            string
	Events, DayEvents uint64 // stored, and stored of the last day
}

// ReadStorage reads what the tables take, from the server's own lists, the table of commits, and
// two columns of the events. It needs the rights of the writer.
func ReadStorage(ctx context.Context, l *Ledger) (s Storage, err error) {
	for _, read := range []func(context.Context, *Ledger) error{s.readTables, s.readGrowth, s.readDisks, s.readTenants} {
		if err := read(ctx, l); err != nil {
			return s, fmt.Errorf("read the sizes of the tables: %w", err)
		}
	}
	return s, nil
}

func (s *Storage) readTables(ctx context.Context, l *Ledger) error {
	for row := range l.sql.Rows(ctx, "storage_tables", nil) {
		var t TableStorage
		if err := row.Scan(&t.Table, &t.Rows, &t.Bytes, &t.Parts); err != nil {
			return err
		}
		s.Tables = append(s.Tables, t)
	}
	return nil
}

// readGrowth fills in the rows of the last hour and day.
func (s *Storage) readGrowth(ctx context.Context, l *Ledger) error {
	type growth struct{ hour, day uint64 }
	grown := make(map[string]growth)
	for _, name := range Tables() {
		grown[name] = growth{}
	}
	for row := range l.sql.Rows(ctx, "storage_growth", nil) {
		var table string
		var g growth
		if err := row.Scan(&table, &g.hour, &g.day); err != nil {
			return err
		}
		grown[table] = g
	}
	for i, t := range s.Tables {
		if g, ok := grown[t.Table]; ok {
			s.Tables[i].HourRows, s.Tables[i].DayRows = &g.hour, &g.day
		}
	}
	return nil
}

func (s *Storage) readDisks(ctx context.Context, l *Ledger) error {
	for row := range l.sql.Rows(ctx, "storage_disks", nil) {
		var d Disk
		if err := row.Scan(&d.Name, &d.Total, &d.Free); err != nil {
			return err
		}
		s.Disks = append(s.Disks, d)
	}
	return nil
}

func (s *Storage) readTenants(ctx context.Context, l *Ledger) error {
	for row := range l.sql.Rows(ctx, "storage_tenants", nil) {
		var t TenantStorage
		if err := row.Scan(&t.Tenant, &t.Events, &t.DayEvents); err != nil {
			return err
		}
		s.Tenants = append(s.Tenants, t)
	}
	return nil
}
