//go:build static

package embedded

import "errors"

// runLibrary always fails. A statically linked program cannot load a library, but can still start
// a `clickhouse` program.
func runLibrary(string, []string) error {
	return errors.New("this ctxledger was built with the tag static and cannot load the ClickHouse library: put a `clickhouse` program on the PATH")
}
