package storage

import "time"

// NearLimit is the share of a limit from which on room is scarce. The alert
// CtxledgerStreamNearLimit has the same one.
const NearLimit = 0.85

// A disk is scarce below leastFree bytes. It is also scarce below a share of leastShare if it is
// full within soon.
const (
	leastFree  = 512 << 20
	leastShare = 0.05
	soon       = 7 * 24 * time.Hour
)

// Scarce reports whether a stream is near its own limit, or at it.
func (s Stream) Scarce() bool { return nearItsLimit(s.Bytes, s.Limit) }

// Scarce reports whether a store is near its limit, or at it.
func (s Store) Scarce() bool { return nearItsLimit(s.Bytes, s.Limit) }

func nearItsLimit(bytes int64, limit *int64) bool {
	return limit != nil && float64(bytes) > NearLimit*float64(*limit)
}

// Scarce reports whether a disk is full or soon full.
func (d Disk) Scarce() bool {
	if d.Free < leastFree {
		return true
	}
	left := d.Forecast.Seconds
	return float64(d.Free) < leastShare*float64(d.Total) && left != nil && time.Duration(*left)*time.Second < soon
}
