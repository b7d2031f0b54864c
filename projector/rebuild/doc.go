// Package rebuild projects the streams again into a second set of tables, and replaces the live
// set by it. See [Rebuild] for its steps. A [Move] fills the second set on another shard of a cluster.
//
// The package does not import the projector. [Rebuild] receives a constructor of the projectors
// that fill the tables, so that tests of the projector can also rebuild.
package rebuild
