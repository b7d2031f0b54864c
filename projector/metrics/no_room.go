package metrics

import "slices"

// fullCodes are the codes of a server without room. ClickHouse answers 243 without bytes on its disk,
// and 1001 without files in its file system. NATS answers 10023 at the limit of the server, 10002
// at that of the account, and 10047 at the end of its disk.
var fullCodes = map[string][]string{
	"clickhouse": {"243", "1001"},
	"nats":       {"10023", "10002", "10047"},
	"lease":      {"10023", "10002", "10047"},
}

// Full reports whether the server has no room left.
func (f Failure) Full() bool { return slices.Contains(fullCodes[f.Who], f.Code) }
