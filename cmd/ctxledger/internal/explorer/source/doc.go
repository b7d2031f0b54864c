// Package source asks a ledger what the pages and the report show.
package source
