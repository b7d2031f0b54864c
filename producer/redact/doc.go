// Package redact keeps withheld values out of everything that is published
// (invariant 8: redacted stays redacted).
//
// A [Guard] holds the values in memory, each with the policy that withholds it
// and the reason. [Guard.Mask] and [Guard.MaskJSON] put [redacted:<policy ref>]
// in their place and say where they were found. A [Fingerprinter] turns values
// into keyed fingerprints, by which whoever holds the tenant key recognises a
// value that comes back from elsewhere.
//
// # What is found
//
//	verbatim   the bytes
//	folded     any case, by Unicode's simple folding
//	base64     standard and URL alphabet, in one line, wherever the value begins
//	           within the encoded bytes; from 6 characters on
//	hex        upper or lower case, no separators; from values of 3 bytes on
//	url        percent-encoded bytes, as many as may be; "+" for a space
//	escaped    backslash escapes, as in a JSON document inside of a string
//	number     in JSON: a number that is the value as it stands
//
// Percent encoding and escapes are taken off up to three layers deep, also on
// top of the other forms. Not found: a value that is split over two fields, put
// in other words, compressed, encrypted, wrapped over lines in base64, or base64
// or hex of another case of it. A value of any length is guarded; very short
// ones mask a lot. Detecting secrets that nobody named is not this package's job.
//
// # Where vectors differ
//
// shared/vectors/tinyagents.json T049 and T050 show [REDACTED]; here the policy
// is named, as the design asks. As there, masking twice changes nothing, also
// when a value is part of a placeholder.
//
// The package is pure: no I/O, no clock, no shared state. No error, hit or
// printed form holds any part of a value.
package redact
