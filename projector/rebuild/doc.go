// Package rebuild projects the streams again into a second set of tables, and puts that
// set in the place of the live one. See [Rebuild] for its steps.
//
// The package does not import the projector: [Rebuild] is given a constructor of the
// projectors that fill the tables. So tests of the projector can rebuild, too.
package rebuild
