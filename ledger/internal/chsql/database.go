package chsql

import "strings"

const ofTenant = "_of_"

// ReaderDatabase returns the name of the database of a tenant's reader. That database has views of
// the tenant's rows only, and belongs to the ledger in another database.
func ReaderDatabase(ledger, tenant string) string { return ledger + ofTenant + tenant }

// IsReaderDatabase reports whether a database can be one of [ReaderDatabase].
func IsReaderDatabase(name string) bool { return strings.Contains(name, ofTenant) }
