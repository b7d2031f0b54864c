// Package embeddedtest gives a test real servers. [Installation] and a [Template] give
// a NATS server and a database of the test's own. The databases of one
// test binary are in one ClickHouse, which starts with the first of them. [Start] gives
// servers that a test may kill.
//
// A binary's TestMain calls [embedded.Main] first. A test is skipped where no engine is
// available (no npm, no network, no pin, no space); it fails there when CI is "true".
package embeddedtest
