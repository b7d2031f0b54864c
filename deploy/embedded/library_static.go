//go:build static

package embedded

import "errors"

// runLibrary cannot: a program that is linked statically, for containers with
// nothing beside it, has no way to load a library. A `clickhouse` program still
// can be run.
func runLibrary(string, []string) error {
	return errors.New("this ctxledger was built with the tag static and cannot load the ClickHouse library: put a `clickhouse` program on the PATH")
}
