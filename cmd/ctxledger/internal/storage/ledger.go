package storage

import (
	"math"
	"slices"

	"github.com/ctxledger/ctxledger/ledger"
)

// OfLedger converts the sizes of the tables, and estimates when the disks are full. The share of a
// tenant in bytes is its share of the events.
func OfLedger(s ledger.Storage) (c ClickHouse) {
	total, grown, events := int64(0), Growth{}, uint64(0)
	for _, t := range s.Tables {
		row := Table{Name: t.Table, Rows: int64(t.Rows), Bytes: int64(t.Bytes), Parts: int64(t.Parts)}
		if t.DayRows != nil {
			each := float64(t.Bytes) / float64(max(t.Rows, 1))
			row.Growth = &Growth{int64(each * float64(*t.HourRows)), int64(each * float64(*t.DayRows))}
			grown = Growth{grown.Hour + row.Growth.Hour, grown.Day + row.Growth.Day}
		}
		total += row.Bytes
		c.Tables = append(c.Tables, row)
	}
	c.Bytes, c.Growth = total, &grown
	for _, d := range s.Disks {
		disk := Disk{Name: d.Name, Free: bytesOf(d.Free), Total: bytesOf(d.Total)}
		disk.Forecast = Estimate(&disk.Free, c.Growth)
		c.Disks = append(c.Disks, disk)
	}
	for _, t := range s.Tenants {
		events += t.Events
	}
	for _, t := range s.Tenants {
		share := float64(t.Events) / float64(max(events, 1))
		c.Tenants = append(c.Tenants, Tenant{Name: t.Tenant, Events: int64(t.Events), DayEvents: int64(t.DayEvents), Bytes: int64(share * float64(total))})
	}
	return c
}

// Add adds what another server stores. Its disks are named after it, unless the name is "".
func (c *ClickHouse) Add(other ClickHouse, name string) {
	c.Bytes, c.Growth = c.Bytes+other.Bytes, c.Growth.Add(other.Growth)
	for _, t := range other.Tables {
		at := slices.IndexFunc(c.Tables, func(own Table) bool { return own.Name == t.Name })
		if at < 0 {
			c.Tables = append(c.Tables, t)
			continue
		}
		own := &c.Tables[at]
		own.Rows, own.Bytes, own.Parts, own.Growth = own.Rows+t.Rows, own.Bytes+t.Bytes, own.Parts+t.Parts, own.Growth.Add(t.Growth)
	}
	for _, t := range other.Tenants {
		at := slices.IndexFunc(c.Tenants, func(own Tenant) bool { return own.Name == t.Name })
		if at < 0 {
			c.Tenants = append(c.Tenants, t)
			continue
		}
		own := &c.Tenants[at]
		own.Events, own.DayEvents, own.Bytes = own.Events+t.Events, own.DayEvents+t.DayEvents, own.Bytes+t.Bytes
	}
	for _, d := range other.Disks {
		if name != "" {
			d.Name += " of " + name
		}
		c.Disks = append(c.Disks, d)
	}
}

// bytesOf converts a number of the server, which is 2^64-1 for a disk without an end.
func bytesOf(n uint64) int64 { return int64(min(n, math.MaxInt64)) }
