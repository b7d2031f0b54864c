package bench

import "time"

const (
	barTurn    = 50 * time.Millisecond  // the window of a turn, and the reason why an item is not in it
	barSummary = 100 * time.Millisecond // the summary of a session
	barTenant  = time.Second            // a tenant's 30 days, and smaller scopes
	barAll     = 5 * time.Second
)

// barOf returns the time limit of a query at the 95th percentile. Queries for reading a session
// have a lower limit than queries for a report.
func barOf(query string, scope Scope) time.Duration {
	switch {
	case scope == scopeAll:
		return barAll
	case scope == scopeTurn && (query == "window" || query == "why"):
		return barTurn
	case scope == scopeSession && query == "sessions":
		return barSummary
	}
	return barTenant
}
