// Package grant decides which namespaces a run may touch, and lets a child run
// hold the same or less, never more (seed 002).
//
// A grant is a path string such as app/user/u_123. It reaches that namespace
// and everything below it. Trusted code mints grants from authenticated facts;
// a model never chooses one. Namespace paths are capabilities.
//
// # Grammar
//
// A path is checked in this order, and the first violation is the error:
//
//  1. not empty
//  2. no leading or trailing white space
//  3. no leading or trailing slash
//  4. no empty segment
//  5. segment by segment, left to right: not "." or "..", no "*", no white space
//
// White space is the union of what JavaScript (\s), Python (str.isspace) and
// Unicode (White_Space) call so, because runtimes in all three mint grants and a
// path must not mean one thing here and another there. Nothing else is
// normalised: case, Unicode form (NFC, NFD) and %2f stay as they are, and
// containment compares bytes by whole segments, so a/b does not reach a/bc.
//
// # Lists
//
// A list is accepted whole or not at all. Duplicates are removed and the order
// of first occurrence stays. An ancestor and its descendant may stand side by
// side. Narrowing checks, in this order: the parent's list, the requested list,
// the protected namespaces against both, and then whether each requested path
// lies within the parent.
//
// # Nil and empty
//
// [Inherit] takes over the parent's grants; [Only] with no path grants nothing.
// They are values of [Request] and not a nil or empty slice, so that a list
// that was filtered down to nothing can never turn into "everything the parent
// has".
//
// # JSON
//
// Paths, sets, requests and policies are read from the JSON that other implementations of
// seed 002 exchange, with their texts for what is no string and no list.
//
// # Where the vectors differ from the seed and the design
//
// shared/vectors/grants.json was made by running the TypeScript implementation.
// All its cases hold here but one, G097, which accepts U+0085 in a segment:
// Python and Unicode call it white space, and this package refuses it with
// Python's text. As a rule beyond the cases, U+001C to U+001F are refused, which
// Python alone calls white space; U+200B and U+180E are accepted by all three
// and here. Bytes that are not UTF-8, which a JavaScript string cannot hold, are
// refused: two such grants would become one in JSON.
//
// The package is pure: no I/O, no clock, no shared state. All values may be used
// from many goroutines, and no returned slice shares memory with an argument.
package grant
