// Package embeddedtest starts servers for tests. [Installation] and a [Template] give a test a
// separate NATS server and a separate database. All databases of a test binary are in one
// ClickHouse, which starts with the first database. [Start] gives servers that a test may kill.
// [NewCluster] gives several NATS servers in processes of their own.
//
// TestMain of the binary must call [Main] first. A test is skipped if no engine is
// available (no npm, no network, no pin, no space). If CI is "true", the test fails instead.
package embeddedtest
