package read

import "time"

// Limits bound one query on the server. The zero value of a field leaves that
// bound to the server.
type Limits struct {
	Time   time.Duration // rounded up to seconds
	Rows   uint64        // of the result
	Memory uint64        // bytes, on the server
}

// DefaultLimits fit a question that a person asks: a minute, a million rows,
// a gibibyte.
func DefaultLimits() Limits {
	return Limits{Time: time.Minute, Rows: 1_000_000, Memory: 1 << 30}
}
