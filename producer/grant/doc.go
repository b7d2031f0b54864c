// Package grant decides which namespaces a run may access. A child run holds the same
// grants as its parent or fewer, never more (seed 002).
//
// A grant is a path string such as app/user/u_123. A grant reaches its namespace and
// everything below this namespace. Trusted code mints grants from authenticated facts; a
// model never chooses one. Namespace paths are capabilities.
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
// White space is the union of the definitions of JavaScript (\s), Python (str.isspace) and
// Unicode (White_Space). Runtimes in all three mint grants, and a path must have one
// meaning in all of them. Nothing else is normalized: case, Unicode form (NFC, NFD) and %2f
// stay unchanged. Containment compares bytes by whole segments, so a/b does not reach a/bc.
//
// # Lists
//
// A list is accepted as a whole, or refused. Duplicates are removed, and the order of first
// occurrence is kept. A list may hold an ancestor and its descendant. Narrowing first
// checks the parent's list, the requested list, and both against the protected namespaces.
// Then each requested path must lie within the parent.
//
// # Nil and empty
//
// [Inherit] takes over the parent's grants. [Only] without a path grants nothing. Both are
// values of [Request] instead of a nil or empty slice. Therefore an empty list after a
// filter never means "all grants of the parent".
//
// # JSON
//
// Paths, sets, requests and policies are read from the JSON of the other implementations of
// seed 002. The errors for values other than strings and lists have the texts of these
// implementations.
//
// # Differences from the vectors
//
// shared/vectors/grants.json is the output of the TypeScript implementation. This package
// passes all its cases except G097, which accepts U+0085 in a segment. Python and Unicode
// define U+0085 as white space, and this package refuses it with Python's text.
//
// The vectors have no cases for these rules. U+001C to U+001F are refused, because Python
// defines them as white space. U+200B and U+180E are accepted, as in all three languages.
// Bytes that are not UTF-8 are refused: two such grants could become equal in JSON. A
// JavaScript string cannot hold such bytes.
//
// The package is pure: no I/O, no clock, no shared state. All values may be used by
// concurrent goroutines, and no returned slice shares memory with an argument.
package grant
